/* hoop-sim/number_list.h - lists and ranges of numbers: 2,8..1K,8..64M:8 */

#ifndef HOOP_SIM_NUMBER_LIST_H
#define HOOP_SIM_NUMBER_LIST_H

#include <stddef.h>

#include "hoop/status.h"

enum {
    NUMBER_LIST_MAX = 64,
};

struct number_list {
    size_t n_numbers;
    size_t numbers[NUMBER_LIST_MAX];
};

/*
 * Read numbers from 1 on with an optional K, M or G (times 1024 each),
 * separated by commas. "8..1K" doubles from 8 up to and including 1K;
 * "8..64M:8" multiplies by 8. Handle: HOOP_E_INVALID, HOOP_E_RANGE (too many).
 */
HOOP_NODISCARD enum hoop_status
number_list_parse(const char *text, struct number_list *out_list);

#endif
