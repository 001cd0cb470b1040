/* tests/fault/fault_shrink.h - those that are left shrink, and go on */

#ifndef TESTS_FAULT_SHRINK_H
#define TESTS_FAULT_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/hoop.h"

/* What came of it for one rank. */
struct fault_rest {
    bool has_tried;
    bool is_wrong; /* the sum of those that are left */
    enum hoop_status status;
    uint32_t size; /* how many are left */
    char text[512];
};

/* A value that every rank can compute for every other. */
int32_t
fault_element(uint32_t rank, size_t at);

/* By each that is left, after a failure on world. */
void
fault_shrink(hoop_comm_t *world, struct fault_rest *out_rest);

#endif
