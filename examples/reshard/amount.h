/* reshard/amount.h - numbers as people write them: 256M, 8192x8192 */

#ifndef RESHARD_AMOUNT_H
#define RESHARD_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    AMOUNT_LIST_MAX = 8,
};

/* Bytes, with K, M or G (times 1024 each) behind them or not; at least 1. */
bool
amount_bytes_parse(const char *text, uint64_t *out_n_bytes);

struct amount_list {
    uint32_t n_numbers;
    uint64_t numbers[AMOUNT_LIST_MAX];
};

/*
 * Whole numbers from 1 to 2^40 with an x between them. *out_rest is where they
 * end, in text; false: text does not begin so, or there are too many.
 */
bool
amount_list_parse(const char *text,
                  struct amount_list *out_list,
                  const char **out_rest);

struct amount_text {
    char text[16];
};

/* "17 B", "85.3 MiB". */
struct amount_text
amount_describe(uint64_t n_bytes);

#endif
