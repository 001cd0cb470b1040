/*
 * plan/expectation.h - what each buffer holds before and after a collective
 *
 * A byte is a 64-bit number. own(rank, byte) is what a rank contributes; junk
 * is what nobody may see. Numbers are added where the engine combines, and
 * multiplied by FINAL where it would divide for AVG. The numbers being random,
 * a sum equals another one only if both hold the same contributions.
 */

#ifndef PLAN_EXPECTATION_H
#define PLAN_EXPECTATION_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"

/* How the last combination of a block is marked. */
uint64_t
expectation_final(uint64_t sum);

/* The shape as this rank sees it. */
struct plan_shape
expectation_shape(const struct checker_case *scenario, uint32_t rank);

/* Bytes of a buffer; what a rank does not have has none. */
size_t
expectation_size(const struct checker_case *scenario,
                 uint32_t rank,
                 enum plan_buffer buffer);

/* Fill buffer, of its size, with what it holds at the start. */
void
expectation_fill(const struct checker_case *scenario,
                 uint32_t rank,
                 enum plan_buffer buffer,
                 uint64_t *bytes);

/*
 * Check what buffer holds at the end.
 * Handle: HOOP_E_INTERNAL (the text names the first wrong byte).
 */
enum hoop_status
expectation_check(const struct checker_case *scenario,
                  uint32_t rank,
                  enum plan_buffer buffer,
                  const uint64_t *bytes);

#endif
