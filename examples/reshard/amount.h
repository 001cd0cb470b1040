/* reshard/amount.h - numbers as people write them: 256M, 8192x8192 */

#ifndef RESHARD_AMOUNT_H
#define RESHARD_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    AMOUNT_LIST_MAX = 8,
};

/* Reads a number of bytes, at least 1, with an optional K, M or G (times 1024
 * each). */
bool
amount_bytes_parse(const char *text, uint64_t *out_n_bytes);

struct amount_list {
    uint32_t n_numbers;
    uint64_t numbers[AMOUNT_LIST_MAX];
};

/*
 * Reads whole numbers from 1 to 2^40, separated by x. *out_rest is set to where
 * they end in text. Returns false if text does not begin with such a list, or
 * the list is too long.
 */
bool
amount_list_parse(const char *text,
                  struct amount_list *out_list,
                  const char **out_rest);

struct amount_text {
    char text[16];
};

/* Returns a text such as "17 B" or "85.3 MiB". */
struct amount_text
amount_describe(uint64_t n_bytes);

#endif
