/*
 * fault/fault.h - faults on demand: HOOP_DEBUG_FAULT, in builds that are tested
 *
 * HOOP_DEBUG_FAULT holds rules (fault/fault_rule.h), with ';' between them. An
 * operation learns with its beginning which rules are about it, as bits that
 * it carries; most have none, and whoever touches an operation looks no
 * further then. Without -Dfaults the bits are 0 and the looking is left out.
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

/* Whether this build has them. */
static const bool FAULT_IS_BUILT = FAULT_BUILD;

struct faults;

/*
 * Those of this rank, or of FAULT_COORDINATOR, in text, or, where text is NULL or
 * "", in the environment; *out_faults is NULL when there are none. knows_op says
 * whether there is an operation of that name.
 * Handle: HOOP_E_INVALID (the text says which rule, and why; or that this build
 * has no faults).
 */
enum hoop_status
faults_create(const char *text,
              uint32_t rank,
              bool (*knows_op)(const char *name),
              struct faults **out_faults);
/* The same of a text; NULL or "": none. */
enum hoop_status
faults_parse(const char *text,
             uint32_t rank,
             bool (*knows_op)(const char *name),
             struct faults **out_faults);
/* NULL is fine. */
void
faults_destroy(struct faults *faults);

/* An operation begins: the rules that are about it. What is to happen to the
 * process before it begins, does. */
uint32_t
faults_begin(struct faults *faults, const char *op);

/* Whether one of these rules would strike. */
bool
faults_are_due(struct faults *faults,
               uint32_t rules,
               const struct fault_event *event);

/* What is written to a rule's note_fd when it strikes. */
struct fault_note {
    uint64_t when_ns; /* clock_now_ns() */
    uint64_t peer;    /* of the frame; FAULT_ANY_RANK: of none */
};

/* What is to happen to a frame, FAULT_NOTHING mostly. */
struct fault_effect {
    enum fault_action action;
    uint64_t amount;
};

/* What is to happen to the process, does, jitter beside all else; a frame is the
 * caller's. */
struct fault_effect
faults_trigger(struct faults *faults,
               uint32_t rules,
               const struct fault_event *event);

#endif
