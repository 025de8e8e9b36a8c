#include "ring.h"

#include <stdio.h>
#include <string.h>

/* Puts and takes in many sizes, and compares with the bytes that went in. */
int main(void)
{
    struct ring ring;
    unsigned char next_in = 0, next_out = 0;
    ring_init(&ring);
    for (size_t step = 0; step < 1000; step++) {
        unsigned char some[16];
        size_t held = ring.count, length = step % 11;
        for (size_t at = 0; at < length; at++)
            some[at] = (unsigned char)(next_in + at);
        size_t put = ring_put(&ring, some, length);
        size_t room = RING_SIZE - held;
        if (put != (length < room ? length : room)) {
            fprintf(stderr, "step %zu: put %zu of %zu with room for %zu\n", step, put, length, room);
            return 1;
        }
        next_in = (unsigned char)(next_in + put);
        held = ring.count;
        length = (step * 7) % 9;
        memset(some, 0, sizeof some);
        size_t taken = ring_take(&ring, some, length);
        if (taken != (length < held ? length : held)) {
            fprintf(stderr, "step %zu: took %zu of %zu with %zu there\n", step, taken, length, held);
            return 1;
        }
        for (size_t at = 0; at < taken; at++) {
            if (some[at] != next_out) {
                fprintf(stderr, "step %zu: byte %u came out, expected %u\n", step, some[at], next_out);
                return 1;
            }
            next_out++;
        }
    }
    return 0;
}
