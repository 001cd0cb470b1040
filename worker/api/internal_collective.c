/*
 * api/internal_collective.c - collectives for the library's own use, never
 * retried
 */

#include "api/internal_collective.h"

#include <stdio.h>
#include <string.h>

#include "api/collective.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "session/comm.h"

/* All ranks agree on one outcome. */

enum {
    AGREE_STATUS_REPORT_WORDS =
        sizeof(struct agree_status_report) / sizeof(uint64_t)
};

enum hoop_status
agree_status_create(hoop_comm_t *comm, struct agree_status **out_agree_status)
{
    struct agree_status *agree_status = calloc(
        1, sizeof(*agree_status) +
               hoop_comm_size(comm) * sizeof(struct agree_status_report));

    if (!agree_status) {
        context_fail_next_call(comm->context, HOOP_E_EXHAUSTED,
                               "it has no memory to agree");
        return error_raise(HOOP_E_EXHAUSTED, "no memory to agree with %u ranks",
                           hoop_comm_size(comm));
    }
    agree_status->comm = comm;
    *out_agree_status = agree_status;
    return HOOP_OK;
}

void
agree_status_destroy(struct agree_status *agree_status)
{
    free(agree_status);
}

/* Programs often end after a failure. If one ended before the others knew of
 * the failure, they would report its end in place of the cause. So no rank
 * returns before all know. */
static void
barrier_after_failure(hoop_comm_t *comm)
{
    if (internal_barrier(comm) != HOOP_OK)
        log_debug("coll", "some may not know of a failure: %s", error_text());
}

/* Broadcast the text of the rank that failed. */
static enum hoop_status
failure_text_broadcast(struct agree_status *agree_status,
                       uint32_t rank,
                       const char *mine)
{
    const enum hoop_status failure =
        status_from_peer(agree_status->reports[rank].status);
    char text[LIMIT_ERROR_TEXT] = "";

    snprintf(text, sizeof(text), "%s", mine);
    const enum hoop_status status =
        internal_broadcast(text, sizeof(text), rank, agree_status->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    text[sizeof(text) - 1] = '\0';
    agree_status->is_agreed = true;
    barrier_after_failure(agree_status->comm);
    return error_raise(failure, "rank %u: %s",
                       hoop_comm_world_rank(agree_status->comm, rank), text);
}

enum hoop_status
agree_status_exchange(struct agree_status *agree_status,
                      enum hoop_status mine,
                      const uint64_t numbers[AGREE_STATUS_N_VALUES])
{
    const uint32_t size = hoop_comm_size(agree_status->comm);
    struct agree_status_report report = {.status = mine};
    char text[LIMIT_ERROR_TEXT] = "";

    if (mine != HOOP_OK)
        snprintf(text, sizeof(text), "%s", error_text());
    if (numbers)
        memcpy(report.numbers, numbers, sizeof(report.numbers));
    agree_status->is_agreed = false;
    const enum hoop_status status = internal_allgather(
        &report, agree_status->reports, AGREE_STATUS_REPORT_WORDS, HOOP_UINT64,
        agree_status->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t rank = 0; rank < size; rank++) {
        if (agree_status->reports[rank].status != HOOP_OK)
            return failure_text_broadcast(agree_status, rank, text);
    }
    agree_status->is_agreed = true;
    return HOOP_OK;
}

enum hoop_status
agree_status_check_equal(const struct agree_status *agree_status,
                         unsigned at,
                         const char *doing)
{
    const uint32_t size = hoop_comm_size(agree_status->comm);

    for (uint32_t rank = 1; rank < size; rank++) {
        if (agree_status->reports[rank].numbers[at] ==
            agree_status->reports[0].numbers[at])
            continue;
        barrier_after_failure(agree_status->comm);
        return error_raise(HOOP_E_MISMATCH,
                           "rank %u %s other tensors than rank %u, or lays "
                           "them out in another way",
                           hoop_comm_world_rank(agree_status->comm, rank),
                           doing, hoop_comm_world_rank(agree_status->comm, 0));
    }
    return HOOP_OK;
}

/* The collectives. */

enum hoop_status
internal_barrier(hoop_comm_t *comm)
{
    const struct collective barrier = {
        .name = CALL_BARRIER,
        .parts = COLL_NO_BUFFERS,
    };

    return collective_run(&barrier, comm);
}

enum hoop_status
internal_broadcast(void *bytes,
                   size_t n_bytes,
                   uint32_t root,
                   hoop_comm_t *comm)
{
    struct collective broadcast = collective_describe(
        CALL_BROADCAST, HOOP_IN_PLACE, bytes, n_bytes, HOOP_UINT8);

    broadcast.root = root;
    return collective_run(&broadcast, comm);
}

enum hoop_status
internal_allgather(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm)
{
    const struct collective allgather =
        collective_describe(CALL_ALLGATHER, send, recv, count, dtype);

    return collective_run(&allgather, comm);
}

enum hoop_status
internal_allgatherv(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype,
                    hoop_comm_t *comm)
{
    struct collective allgatherv =
        collective_describe(CALL_ALLGATHERV, send, recv, 0, dtype);

    allgatherv.counts = counts;
    return collective_run(&allgatherv, comm);
}

enum hoop_status
internal_allreduce_max(uint64_t *number, hoop_comm_t *comm)
{
    struct collective greatest = collective_describe(
        CALL_ALLREDUCE, HOOP_IN_PLACE, number, 1, HOOP_UINT64);

    greatest.op = HOOP_MAX;
    return collective_run(&greatest, comm);
}
