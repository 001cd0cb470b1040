/*
 * core/forming.h - from workers that wait to a world with ranks, or to none
 *
 * A world forms when its largest size is there, or a smaller allowed one and
 * nobody new has come for the settle time, or somebody's join deadline is
 * there and the size will do. If it will not do, that join has failed, and the
 * others wait until their own deadlines; when nobody waits any more, the attempt
 * has failed, and the name is free.
 */

#ifndef CORE_FORMING_H
#define CORE_FORMING_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/action.h"

struct cluster;
struct job;
struct member;

/* Somebody has come: form if the world is complete. */
void
forming_try(struct cluster *cluster, struct job *job);

/* What those were told whose deadlines came before. */
void
forming_forget(struct job *job);

/* Somebody has come or gone: when would a smaller world form? */
void
forming_plan(struct cluster *cluster, struct job *job);

/* The settle time is over. */
void
forming_settle(struct cluster *cluster, struct job *job);

/* A join deadline is there: form, or fail those whose it is. */
void
forming_expire(struct cluster *cluster, struct job *job);

/* Answer its join with this failure; it is no member any more. */
void
forming_dismiss(struct cluster *cluster,
                struct member *member,
                enum hoop_status status,
                const char *text);

/* Tell a member of a world what it is. */
void
forming_welcome(struct cluster *cluster,
                const struct member *member,
                struct cluster_reply *reply);

#endif
