/*
 * core/suspicion.h - who complains of whom, and asking all ranks of a world
 *
 * A rank that does not hear another one any more complains. So all ranks are
 * asked, by the watches that they keep parked, whom they hear; they answer with
 * a renewal. As soon as no answer that is missing could change it, at the latest
 * EVIDENCE_DECIDE_MS after the first complaint, the one goes that
 * core/suspicion_rule.h names, and the next one, until no complaint is left. A
 * rank that hears the other one again takes its complaint back with its answer.
 * A lease that has expired is a question as well: the member stays while somebody
 * hears it. Nothing of this is kept: after a restart ranks complain again.
 */

#ifndef CORE_SUSPICION_H
#define CORE_SUSPICION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "core/timer_heap.h"

struct cluster;
struct job;
struct member;
struct suspicion_rank;

/* Of a job. Zeroed: nobody is asked. */
struct suspicion {
    struct timer_entry entry;
    uint64_t number;    /* of the question that is open; 0: none is */
    uint64_t asked_ns;  /* when it was opened */
    uint64_t decide_ns; /* UINT64_MAX: nobody complains */
    uint64_t close_ns;
    uint8_t *views; /* [rank * size + of whom]: enum evidence_view */
    struct suspicion_rank *ranks;
};

/* reporter, who lives, does not hear accused any more; call->evidence is
 * EVIDENCE_BROKEN or EVIDENCE_SILENT. False: the job has too many ranks to ask
 * them all, and nothing has been done. */
bool
suspicion_complain(struct cluster *cluster,
                   const struct member *reporter,
                   const struct member *accused,
                   const struct cluster_report *call);

/* member says whom it hears. What answers no open question is passed over. */
void
suspicion_answer(struct cluster *cluster,
                 const struct member *member,
                 const struct cluster_renewal *call);

/* Ask who hears member, whose lease has expired; membership_heard() tells of the
 * answers, also of one that a question which is still open has had. False: there
 * is nobody to ask. */
bool
suspicion_ask(struct cluster *cluster, const struct member *member);

/* The entry is due. */
void
suspicion_look(struct cluster *cluster, struct job *job);

/* Close what is open. */
void
suspicion_deinit(struct cluster *cluster, struct job *job);

#endif
