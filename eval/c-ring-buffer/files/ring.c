#include "ring.h"

void ring_init(struct ring *ring)
{
    ring->start = 0;
    ring->count = 0;
}

size_t ring_put(struct ring *ring, const unsigned char *from, size_t length)
{
    size_t put = 0;
    while (put < length && ring->count < RING_SIZE) {
        ring->bytes[(ring->start + ring->count) % (RING_SIZE - 1)] = from[put];
        ring->count++;
        put++;
    }
    return put;
}

size_t ring_take(struct ring *ring, unsigned char *to, size_t length)
{
    size_t taken = 0;
    while (taken < length && ring->count > 0) {
        to[taken] = ring->bytes[ring->start];
        ring->start = (ring->start + 1) % RING_SIZE;
        ring->count--;
        taken++;
    }
    return taken;
}
