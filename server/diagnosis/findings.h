/*
 * diagnosis/findings.h - what may hold a job up: one predicate for each cause
 *
 * Each predicate says whether snapshot shows the cause and, if so, fills in the
 * finding. The table in diagnosis.c makes sentences of findings. Pure.
 */

#ifndef DIAGNOSIS_FINDINGS_H
#define DIAGNOSIS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "diagnosis/snapshot.h"

struct finding {
    const struct snapshot_rank *culprit; /* NULL: none is named */
    const struct snapshot_rank *other;   /* a second rank, or NULL */
    const struct snapshot_rank *waiter;  /* who waits for culprit, or NULL */
    uint32_t n_waiters;                  /* that wait for it, with that one */
    char detail[LIMIT_ERROR_TEXT];       /* what the rule alone has to say */
    char place[LIMIT_ERROR_TEXT / 2];    /* where the culprit's program is */
    size_t n_culprits;
    uint32_t culprits[LIMIT_WHY_CULPRITS];
};

typedef bool
finding_fn(const struct snapshot *snapshot, struct finding *finding);

finding_fn finding_missing_at_join;
finding_fn finding_forming;
finding_fn finding_ended_after_stop;
finding_fn finding_ended_after_loss;
finding_fn finding_ended_after_failure;
finding_fn finding_ended;
finding_fn finding_mismatch;
finding_fn finding_stopped;
finding_fn finding_process_ended;
finding_fn finding_uninterruptible;
finding_fn finding_link_one_way;
finding_fn finding_link_both_ways;
finding_fn finding_link_silent;
finding_fn finding_all_silent;
finding_fn finding_all_silent_after_loss;
finding_fn finding_silent;
finding_fn finding_half_joined;
finding_fn finding_deadlock_of_tags;
finding_fn finding_deadlock_of_communicators;
finding_fn finding_deadlock;
finding_fn finding_computes_at;
finding_fn finding_calls_alone;
finding_fn finding_computes;
finding_fn finding_never_calls_at;
finding_fn finding_never_calls;
finding_fn finding_slow_link;
finding_fn finding_waits;
finding_fn finding_waits_for_any;
finding_fn finding_lost_by_stop;
finding_fn finding_lost;
finding_fn finding_holds_up;
finding_fn finding_slow_link_lately;
finding_fn finding_moves;

/* Write "rank 2 (host:pid)" of rank. */
enum {
    FINDING_NAME_MAX = LIMIT_NAME + 48,
    FINDING_COMMUNICATOR_MAX = 80,
};
void
finding_rank_name(const struct snapshot_rank *rank,
                  char text[FINDING_NAME_MAX]);

/* Write " of 'world'", " of communicator @1" as hoopctl groups calls it, or
 * "". */
void
finding_communicator_name(const struct snapshot_call *call,
                          char text[FINDING_COMMUNICATOR_MAX]);

#endif
