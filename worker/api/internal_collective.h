/*
 * api/internal_collective.h - collectives for the library's own use, never
 * retried
 *
 * Only the program can decide whether to go on with fewer ranks. A library call
 * of several steps fails when one of its collectives fails.
 */

#ifndef API_INTERNAL_COLLECTIVE_H
#define API_INTERNAL_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/coll.h"
#include "hoop/comm.h"
#include "hoop/status.h"

#include "base/cleanup.h"

/* Blocking, with the semantics of the public functions. */
enum hoop_status
internal_barrier(hoop_comm_t *comm);
enum hoop_status
internal_broadcast(void *bytes,
                   size_t n_bytes,
                   uint32_t root,
                   hoop_comm_t *comm);
enum hoop_status
internal_allgather(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm);
enum hoop_status
internal_allgatherv(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype,
                    hoop_comm_t *comm);
/* Replace *number by the maximum over all ranks. */
enum hoop_status
internal_allreduce_max(uint64_t *number, hoop_comm_t *comm);

/*
 * Each rank contributes the status of its own work and a few numbers, and
 * receives those of all ranks. If a rank failed, its status and text become
 * the outcome on every rank; if several failed, those of the lowest rank.
 */

enum {
    AGREE_STATUS_N_VALUES = 4
};

/* What one rank contributes. */
struct agree_status_report {
    uint64_t status;
    uint64_t numbers[AGREE_STATUS_N_VALUES];
};

struct agree_status {
    hoop_comm_t *comm;
    /* Whether every rank knows the outcome: it was exchanged, and no rank was
     * lost meanwhile. */
    bool is_agreed;
    /* by rank, valid after agree_status_exchange() */
    struct agree_status_report reports[];
};

/* Prepare an agreement among the members of comm. comm is borrowed; the caller
 * is a member, and all members call this. A rank without memory for it makes
 * agree_status_exchange() fail on the others.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
agree_status_create(hoop_comm_t *comm, struct agree_status **out_agree_status);

/* NULL is fine. */
void
agree_status_destroy(struct agree_status *agree_status);

DEFINE_CLEANUP(struct agree_status *, agree_status_destroy)

/*
 * Exchange the outcomes of all ranks; a collective. mine is this rank's
 * outcome, whose text is the thread's last error; numbers may be NULL.
 * Handle: what any rank contributed, and as a collective.
 */
enum hoop_status
agree_status_exchange(struct agree_status *agree_status,
                      enum hoop_status mine,
                      const uint64_t numbers[AGREE_STATUS_N_VALUES]);

/* Check that all ranks contributed the same number at index at. doing is a verb
 * for the error text.
 * Handle: HOOP_E_MISMATCH, on all ranks. */
enum hoop_status
agree_status_check_equal(const struct agree_status *agree_status,
                         unsigned at,
                         const char *doing);

#endif
