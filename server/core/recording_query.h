/*
 * core/recording_query.h - what a rank called last, asked of one member
 *
 * An operator asks for the recording of a rank's flight recorder and names the
 * member that is asked: the rank itself or another one of its host, which reads
 * the same memory, so a rank that is stopped or dead is told of, too. The
 * question goes out through the watch that this member keeps parked, and through
 * no other. Its answer goes to the operator and is not kept. A member is asked
 * one question at a time, in the order in which they came.
 */

#ifndef CORE_RECORDING_QUERY_H
#define CORE_RECORDING_QUERY_H

#include <stdint.h>
#include <sys/queue.h>

struct cluster;
struct job;
struct member;
struct waiter;

struct recording_query {
    struct waiter *waiter; /* the operator's; NULL: it has been answered, or has
                              gone */
    struct member *via;
    uint32_t rank;
    uint64_t number; /* never given twice */
    TAILQ_ENTRY(recording_query) link;
};

TAILQ_HEAD(recording_queries, recording_query);

/* Return the question that the member whose connection is client is to answer
 * next, or NULL. */
const struct recording_query *
recording_query_find(const struct job *job, uint64_t client);

/* Fail the request of an operator whose time is over. */
void
recording_query_on_deadline(struct cluster *cluster, struct waiter *waiter);

/* Called at the end of a step. Fails the questions to members that have ended,
 * and forgets those that are over. */
void
recording_queries_settle(struct cluster *cluster, struct job *job);

/* Forget all. */
void
recording_queries_deinit(struct job *job);

#endif
