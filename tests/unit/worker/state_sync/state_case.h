/* tests/unit/worker/state_sync/state_case.h - a state of bytes for tests */

#ifndef TESTS_STATE_CASE_H
#define TESTS_STATE_CASE_H

#include "state_sync/tensor_manifest.h"

enum {
    CASE_BLOCK = 1024,
    CASE_TENSORS_MAX = 8,
};

/* Returns the state of tensors "a", "b" and so on with these sizes, in blocks
 * of CASE_BLOCK. The manifest is of this state until the next call. */
struct state_manifest *
state_case_of(const size_t *n_bytes, size_t n_tensors);

/* Returns a byte of a tensor, which the test may change. */
uint8_t *
state_case_at(size_t number, size_t offset);

#endif
