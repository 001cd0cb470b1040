/* core/admission.h - which workers may join a job, and why others are
 * refused */

#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct member;

/* Remove a member that waits for the world. Its waiter must be gone already. */
void
admission_withdraw_join(struct cluster *cluster, struct member *member);

/* Count a refused join or request and log it with the reason in text. job is
 * not NULL if the worker will try again; then its later refusals are not
 * logged. */
void
admission_log_refusal(struct cluster *cluster,
                      struct job *job,
                      const struct cluster_event *event,
                      const char *text);

#endif
