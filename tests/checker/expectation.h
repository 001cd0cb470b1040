/*
 * tests/checker/expectation.h - what each buffer holds before and after a
 * collective
 *
 * A byte is a 64-bit number. contribution_value(rank, byte) is what a rank
 * contributes; junk_value is a value that must not appear in any result. Where
 * the engine combines, numbers are combined by the case's arithmetic; where it
 * would divide for AVG, the result is multiplied by a constant. Because the
 * numbers are random, two sums are equal only if they hold the same
 * contributions.
 */

#ifndef CHECKER_EXPECTATION_H
#define CHECKER_EXPECTATION_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "checker/checker.h"

/* Marks the result of the last combination of a block. */
uint64_t
expectation_mark_final(uint64_t sum);

/* The shape as this rank sees it. */
struct plan_shape
expectation_shape_of_rank(const struct checker_case *scenario, uint32_t rank);

/* The size of a buffer in bytes: 0 if the rank does not have it. */
size_t
expectation_buffer_bytes(const struct checker_case *scenario,
                         uint32_t rank,
                         enum plan_buffer buffer);

/* Fill bytes, which has the size of the buffer, with the contents before the
 * call. */
void
expectation_fill_buffer(const struct checker_case *scenario,
                        uint32_t rank,
                        enum plan_buffer buffer,
                        uint64_t *bytes);

/*
 * Check what the buffer holds after the call.
 * Handle: HOOP_E_INTERNAL (the text names the first wrong byte).
 */
enum hoop_status
expectation_check_content(const struct checker_case *scenario,
                          uint32_t rank,
                          enum plan_buffer buffer,
                          const uint64_t *bytes);

#endif
