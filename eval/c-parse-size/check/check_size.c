#include "size.h"

#include <stdio.h>

static int faults;

static void is(const char *text, uint64_t expected)
{
    uint64_t size = 7;
    int result = parse_size(text, &size);
    if (result != 0 || size != expected) {
        fprintf(stderr, "\"%s\": result %d, size %llu\n", text, result, (unsigned long long)size);
        faults++;
    }
}

static void is_refused(const char *text)
{
    uint64_t size = 7;
    int result = parse_size(text, &size);
    if (result != -1 || size != 7) {
        fprintf(stderr, "\"%s\" is not refused: result %d, size %llu\n", text, result,
                (unsigned long long)size);
        faults++;
    }
}

int main(void)
{
    is("0", 0);
    is("512", 512);
    is("0010k", 10240);
    is("3M", 3145728);
    is("2G", 2147483648u);
    is("1T", 1099511627776u);
    is("18446744073709551615", UINT64_MAX);
    is("18014398509481983k", UINT64_MAX - 1023);
    const char *wrong[] = {"", "k", "-1", "+1", " 1", "1 ", "1 k", "1kb", "1K", "1kk", "0x10", "1.5k", "ten",
                           "18446744073709551616", "18014398509481984k", "16777216T", "99999999999999999999999"};
    for (unsigned at = 0; at < sizeof wrong / sizeof *wrong; at++)
        is_refused(wrong[at]);
    return faults != 0;
}
