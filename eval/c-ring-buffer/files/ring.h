#ifndef RING_H
#define RING_H

#include <stddef.h>

#define RING_SIZE 8

struct ring {
    unsigned char bytes[RING_SIZE];
    size_t start; /* the oldest byte */
    size_t count; /* how many bytes are in it */
};

void ring_init(struct ring *ring);

/* Adds bytes as long as there is room. Returns how many were added. */
size_t ring_put(struct ring *ring, const unsigned char *from, size_t length);

/* Takes the oldest bytes. Returns how many were taken. */
size_t ring_take(struct ring *ring, unsigned char *to, size_t length);

#endif
