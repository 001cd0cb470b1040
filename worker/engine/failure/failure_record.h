/*
 * engine/failure/failure_record.h - what a context knows of its failures
 *
 * Private to engine/.
 *
 * Some failures belong to a call that this rank has not begun yet: a collective
 * that has failed elsewhere, or a receive whose send has failed. They are
 * pending until that call begins and ends with them.
 *
 * Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_FAILURE_RECORD_H
#define ENGINE_FAILURE_FAILURE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/limits.h"

struct comm_context;
struct op;

/* How an operation fails: with which status, because of which rank, and why. */
struct failure_notice {
    enum hoop_status status;
    uint32_t rank; /* world rank at fault, or HOOP_NO_RANK */
    char why[LIMIT_ERROR_TEXT];
};

struct pending_failure {
    TAILQ_ENTRY(pending_failure) link;
    uint64_t number; /* the collective's; 0: it is a receive */
    /* Of a receive: */
    uint32_t source; /* the sender's world rank */
    uint64_t tag;
    uint64_t n_alike; /* sends that have failed alike */
    struct failure_notice notice;
};

TAILQ_HEAD(pending_failure_list, pending_failure);

struct failure_record {
    /* The first collective that failed here; 0: none. */
    uint64_t first_number;
    /* The last collective that is known to have failed (0: none), and why. Kept
     * for ranks that ask. */
    uint64_t number;
    struct failure_notice notice;
    bool is_revoked;                  /* by a member: revocation.c */
    struct failure_notice revocation; /* why it is revoked */
    /* An operation that returned success here failed elsewhere: the next call
     * to end reports it. It may report a revocation as well, so the reason is
     * kept apart. */
    bool has_deferred;
    struct failure_notice deferred;
    struct pending_failure_list pending;
    /* Of collectives, and of receives; each at most LIMIT_EARLY_FAILURES. */
    unsigned n_pending_collectives;
    unsigned n_pending_receives;
};

/* Collective number has failed, as notice says. */
void
failure_record_set(struct comm_context *context,
                   uint64_t number,
                   const struct failure_notice *notice);

/* Keep content, unless it is pending already. Sends that have failed alike are
 * counted. */
enum pending_failure_result {
    PENDING_FAILURE_NEW,
    PENDING_FAILURE_KNOWN,
    PENDING_FAILURE_NO_ROOM, /* LIMIT_EARLY_FAILURES */
    PENDING_FAILURE_NO_MEMORY,
};

enum pending_failure_result
pending_failure_add(struct comm_context *context,
                    const struct pending_failure *content);
/* Forget the failure of collective number, if one is pending. */
void
pending_failure_drop(struct comm_context *context, uint64_t number);
/* Forget all failures of a context that ends. */
void
pending_failures_clear(struct comm_context *context);
/* op is beginning. Returns whether its failure is pending, which then no longer
 * is: the caller ends op with *out_notice. */
bool
op_take_pending_failure(const struct op *op, struct failure_notice *out_notice);

#endif
