/*
 * api/coalesced.c - reduce many small tensors in one allreduce
 *
 * The tensors are packed into one buffer, which is reduced in place. The thread
 * that waits for the operation unpacks them.
 */

#include "hoop/coalesced.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/collective.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/dtype.h"

/* The tensors of an operation that is running. */
struct coalesced_tensors {
    uint8_t *packed;
    size_t element_size;
    size_t n_pieces;
    struct hoop_piece pieces[];
};

struct coalesced_call {
    const struct hoop_piece *pieces;
    size_t n_pieces;
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
};

static enum hoop_status
coalesced_check_piece(const struct hoop_piece *piece, size_t i)
{
    if (piece->send == HOOP_IN_PLACE && piece->recv == HOOP_IN_PLACE)
        return error_raise(HOOP_E_INVALID,
                           "piece %zu: send and recv cannot both be "
                           "HOOP_IN_PLACE",
                           i);
    if (piece->count > 0 && (!piece->send || !piece->recv))
        return error_raise(HOOP_E_INVALID, "piece %zu: %s is NULL", i,
                           piece->send ? "recv" : "send");
    return HOOP_OK;
}

static enum hoop_status
coalesced_check(const struct coalesced_call *call, size_t *out_total)
{
    size_t total = 0;
    size_t n_bytes;

    if (!call->pieces && call->n_pieces > 0)
        return error_raise(HOOP_E_INVALID, "pieces is NULL");
    if (call->n_pieces > UINT32_MAX)
        return error_raise(HOOP_E_INVALID, "%zu pieces are too many",
                           call->n_pieces);
    for (size_t i = 0; i < call->n_pieces; i++) {
        const enum hoop_status status =
            coalesced_check_piece(&call->pieces[i], i);

        if (status != HOOP_OK)
            return error_pass(status);
        if (__builtin_add_overflow(total, call->pieces[i].count, &total))
            return error_raise(HOOP_E_INVALID,
                               "the pieces add up to more than 2^64");
    }
    if (__builtin_mul_overflow(total, dtype_size(call->dtype), &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID, "%zu elements of %s are too many",
                           total, dtype_name(call->dtype));
    *out_total = total;
    return HOOP_OK;
}

static void
coalesced_pack(const struct coalesced_tensors *coalesced)
{
    uint8_t *to = coalesced->packed;

    for (size_t i = 0; i < coalesced->n_pieces; i++) {
        const struct hoop_piece *piece = &coalesced->pieces[i];
        const size_t n_bytes = piece->count * coalesced->element_size;

        if (n_bytes > 0)
            memcpy(to, piece->send == HOOP_IN_PLACE ? piece->recv : piece->send,
                   n_bytes);
        to += n_bytes;
    }
}

static enum hoop_status
coalesced_unpack(void *owner)
{
    const struct coalesced_tensors *coalesced = owner;
    const uint8_t *from = coalesced->packed;

    for (size_t i = 0; i < coalesced->n_pieces; i++) {
        const struct hoop_piece *piece = &coalesced->pieces[i];
        const size_t n_bytes = piece->count * coalesced->element_size;

        if (n_bytes > 0)
            memcpy(piece->recv == HOOP_IN_PLACE ? (void *)(uintptr_t)piece->send
                                                : piece->recv,
                   from, n_bytes);
        from += n_bytes;
    }
    return HOOP_OK;
}

static void
coalesced_destroy(void *owner)
{
    struct coalesced_tensors *coalesced = owner;

    free(coalesced->packed);
    free(coalesced);
}

static struct coalesced_tensors *
coalesced_create(const struct coalesced_call *call, size_t total)
{
    const size_t element_size = dtype_size(call->dtype);
    struct coalesced_tensors *coalesced = malloc(
        sizeof(*coalesced) + call->n_pieces * sizeof(coalesced->pieces[0]));
    uint8_t *packed = malloc(total * element_size + 1);

    if (!coalesced || !packed) {
        free(coalesced);
        free(packed);
        return NULL;
    }
    coalesced->packed = packed;
    coalesced->element_size = element_size;
    coalesced->n_pieces = call->n_pieces;
    if (call->n_pieces > 0)
        memcpy(coalesced->pieces, call->pieces,
               call->n_pieces * sizeof(coalesced->pieces[0]));
    return coalesced;
}

/* The address that identifies the tensors to error feedback: the packed buffer
 * differs from call to call, the first tensor does not. */
static const void *
coalesced_feedback_key(const struct coalesced_call *call)
{
    if (call->n_pieces == 0)
        return NULL;
    return call->pieces[0].send == HOOP_IN_PLACE ? call->pieces[0].recv
                                                 : call->pieces[0].send;
}

/* Describe the packed reduction; an empty description if this process is not a
 * member. counts has space for the count of each piece and must live until the
 * operation has been started. */
static enum hoop_status
coalesced_prepare(const struct coalesced_call *call,
                  size_t total,
                  size_t *counts,
                  struct collective *out_collective)
{
    struct coalesced_tensors *coalesced = coalesced_create(call, total);

    if (!coalesced)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to pack %zu elements of %s", total,
                           dtype_name(call->dtype));
    coalesced_pack(coalesced);
    for (size_t i = 0; i < call->n_pieces; i++)
        counts[i] = call->pieces[i].count;
    *out_collective = (struct collective){
        .name = CALL_ALLREDUCE_COALESCED,
        .parts = COLL_REDUCES,
        .send = HOOP_IN_PLACE,
        .recv = coalesced->packed,
        .place = coalesced_feedback_key(call),
        .count = total,
        .agreed = counts,
        .n_agreed = (uint32_t)call->n_pieces,
        .dtype = call->dtype,
        .op = call->op,
        .chain = {.finish = coalesced_unpack,
                  .destroy = coalesced_destroy,
                  .owner = coalesced},
    };
    return HOOP_OK;
}

/* out_op is NULL in the blocking form. */
static enum hoop_status
coalesced_start(const struct coalesced_call *call,
                hoop_comm_t *comm,
                hoop_op_t **out_op)
{
    struct collective collective = {.name = CALL_ALLREDUCE_COALESCED};
    CLEANUP(free) size_t *counts = NULL;
    size_t total = 0;
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status == HOOP_OK && is_member)
        status = coalesced_check(call, &total);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_member) {
        counts = calloc(call->n_pieces + 1, sizeof(*counts));
        status = counts
                     ? coalesced_prepare(call, total, counts, &collective)
                     : error_raise(HOOP_E_EXHAUSTED, "no memory for %zu counts",
                                   call->n_pieces);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    return out_op ? collective_start(&collective, comm, out_op)
                  : collective_run(&collective, comm);
}

enum hoop_status
hoop_allreduce_coalesced(const struct hoop_piece *pieces,
                         size_t n_pieces,
                         enum hoop_dtype dtype,
                         enum hoop_reduce_op op,
                         hoop_comm_t *comm)
{
    const struct coalesced_call call = {pieces, n_pieces, dtype, op};

    return coalesced_start(&call, comm, NULL);
}

enum hoop_status
hoop_allreduce_coalesced_start(const struct hoop_piece *pieces,
                               size_t n_pieces,
                               enum hoop_dtype dtype,
                               enum hoop_reduce_op op,
                               hoop_comm_t *comm,
                               hoop_op_t **out_op)
{
    const struct coalesced_call call = {pieces, n_pieces, dtype, op};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return coalesced_start(&call, comm, out_op);
}
