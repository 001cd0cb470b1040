/*
 * core/suspicion.h - collect which ranks hear each other, and decide which is
 * lost
 *
 * A rank that no longer hears another one complains to the coordinator. The
 * coordinator then asks all ranks, through the watches they keep parked, which
 * ranks they hear; they answer with a renewal. As soon as no missing answer
 * could change the result, and at the latest EVIDENCE_DECIDE_MS after the first
 * complaint, the rank that core/suspicion_rule.h chooses is declared lost, then
 * the next one, until no complaint is left. A rank that hears the other one
 * again withdraws its complaint with its answer.
 *
 * When a lease expires, the ranks are asked too: the member stays while any
 * rank hears it. None of this is recorded; after a restart the ranks complain
 * again.
 */

#ifndef CORE_SUSPICION_H
#define CORE_SUSPICION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "core/member.h"

struct cluster;
struct job;
struct member;
struct suspicion_rank_state;

/* The open question of a job. Zeroed: no question is open. */
struct suspicion {
    struct timer_entry entry;
    uint64_t number;          /* number of the open question; 0: none */
    uint64_t announced;       /* number of the last question that parked
                                 watches were told */
    uint64_t query_opened_ns; /* when it was opened */
    uint64_t
        decision_deadline_ns; /* when to decide at the latest; UINT64_MAX: no
                           complaint is open */
    uint64_t query_close_ns;
    uint8_t *views; /* [rank that answers * size + rank it is about]: enum
                       evidence_view */
    struct suspicion_rank_state *ranks;
};

/* Take the complaint of an active member that it no longer hears accused;
 * call->evidence is of a kind that the coordinator decides: a silence if the
 * kind is waited for, else a broken connection. Returns false, and does
 * nothing, if the job has too many ranks to ask. */
bool
suspicion_add_complaint(struct cluster *cluster,
                        const struct member *reporter,
                        const struct member *accused,
                        const struct cluster_failure_report *call);

/* Take a member's answer: which ranks it hears. An answer to a question that is
 * not open is ignored. */
void
suspicion_add_answer(struct cluster *cluster,
                     const struct member *member,
                     const struct cluster_member_renewal *call);

/* Ask which ranks hear member, whose lease has expired.
 * membership_on_vouched() is called if one does, at once if an answer to the
 * open question already says so. Returns false if no rank can be asked. */
bool
suspicion_query_ranks(struct cluster *cluster, const struct member *member);

/* Called when the question's timer expires. */
void
suspicion_on_timer(struct cluster *cluster, struct job *job);

/* Close the open question. */
void
suspicion_close_query(struct cluster *cluster, struct job *job);

#endif
