#include "size.h"

#include <stdlib.h>

int parse_size(const char *text, uint64_t *size)
{
    char *unit;
    *size = strtoull(text, &unit, 10);
    switch (*unit) {
    case 'T':
        *size *= 1024;
        /* fall through */
    case 'G':
        *size *= 1024;
        /* fall through */
    case 'M':
        *size *= 1024;
        /* fall through */
    case 'k':
        *size *= 1024;
    }
    return 0;
}
