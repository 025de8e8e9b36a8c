#ifndef SIZE_H
#define SIZE_H

#include <stdint.h>

/*
 * Reads a size: decimal digits, then at most one of the units k, M, G and T,
 * which stand for powers of 1024. Nothing else may be in the text.
 * Returns 0 and sets *size, or returns -1 and leaves *size alone if the text
 * is no size or the size is larger than UINT64_MAX.
 */
int parse_size(const char *text, uint64_t *size);

#endif
