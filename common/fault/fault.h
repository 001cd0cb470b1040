/*
 * fault/fault.h - faults for tests: HOOP_DEBUG_FAULT, in builds with -Dfaults
 *
 * HOOP_DEBUG_FAULT holds rules (fault/fault_rule.h), separated by ';'. At the
 * beginning of an operation the rules that apply to it are found and kept as
 * bits in the operation. Most operations have none, and then nothing else is
 * checked. Without -Dfaults the bits are always 0 and the checks are compiled
 * out.
 *
 * Thread: any.
 */

#ifndef FAULT_FAULT_H
#define FAULT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "fault/fault_build.h"
#include "fault/fault_rule.h"

/* Whether this build supports faults. */
static const bool FAULT_IS_BUILT = FAULT_BUILD;

struct faults;

/*
 * Read the rules of this rank, or of FAULT_COORDINATOR, from text.
 *
 * If text is NULL or "", the environment is read instead. *out_faults is NULL
 * if there are none. knows_op says whether an operation name exists.
 *
 * Handle: HOOP_E_INVALID (the text says which rule, and why; or that this build
 * does not support faults).
 */
enum hoop_status
faults_create(const char *text,
              uint32_t rank,
              bool (*knows_op)(const char *name),
              struct faults **out_faults);
/* The same, from text only; NULL or "": none. */
enum hoop_status
faults_parse(const char *text,
             uint32_t rank,
             bool (*knows_op)(const char *name),
             struct faults **out_faults);
/* NULL is allowed. */
void
faults_destroy(struct faults *faults);

/* An operation begins: return the rules that apply to it, after applying what
 * is due to the process before it begins. */
uint32_t
faults_begin(struct faults *faults, const char *op);

/* Return whether one of these rules would apply now. */
bool
faults_are_due(struct faults *faults,
               uint32_t rules,
               const struct fault_event *event);

/* Written to a rule's note_fd when it applies. */
struct fault_note {
    uint64_t when_ns; /* clock_now_ns() */
    uint64_t peer;    /* peer of the frame; FAULT_ANY_RANK: there is no frame */
};

/* What the caller does with the frame, mostly FAULT_NOTHING. */
struct fault_effect {
    enum fault_action action;
    uint64_t amount;
};

/* Apply what is due to the process, jitter in addition to anything else. What
 * is due to a frame is returned and left to the caller. */
struct fault_effect
faults_trigger(struct faults *faults,
               uint32_t rules,
               const struct fault_event *event);

#endif
