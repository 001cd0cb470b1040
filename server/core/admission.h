/* core/admission.h - who may join a job, and who is told why not */

#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct member;

/*
 * Answer or park a CLUSTER_JOIN whose token fits. job is NULL if there is
 * none of the name yet. Handle: none of the failures, they are the reply's.
 */
enum hoop_status
admission_join(struct cluster *cluster,
               struct job *job,
               const struct cluster_event *event);

/* A member that waits for the world goes; its waiter is gone already. */
void
admission_withdraw(struct cluster *cluster, struct member *member);

/* A join, or a token, is refused: count and log it. text says why. job: for which
 * the worker is to try again, and of whose next refusal there is nothing to say then;
 * or NULL. */
void
admission_announce_refusal(struct cluster *cluster,
                           struct job *job,
                           const struct cluster_event *event,
                           const char *text);

#endif
