/*
 * api/scatter_object.c - scatter bytes whose lengths only the root knows
 *
 * A chain of two collectives: the root broadcasts the lengths of all objects,
 * then scatters the objects, which it has packed one behind the other.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/object.h"

#include "api/collective.h"
#include "api/comm_call.h"
#include "api/object_lengths.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/comm.h"

struct scatter_object {
    const struct hoop_object *send; /* on the root: one for each rank */
    void **out_bytes;
    size_t *out_n_bytes;
    uint32_t root;
    hoop_comm_t *comm; /* NULL: the default group's */
    /* Set by the chain. */
    uint32_t rank;
    uint32_t size;
    uint8_t *packed; /* on the root */
    size_t *counts;  /* [rank] */
    void *bytes;     /* this rank's object; NULL: it is empty */
    int64_t lengths[];
};

static enum hoop_status
scatter_object_next_stage(void *owner,
                          uint32_t stage,
                          struct engine_collective *out_next)
{
    struct scatter_object *scatter = owner;
    size_t total = 0;

    if (stage > 1)
        return HOOP_OK;
    const enum hoop_status status = object_lengths_to_counts(
        scatter->lengths, scatter->size, scatter->counts, &total);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t n_bytes = scatter->counts[scatter->rank];
    if (n_bytes > 0) {
        scatter->bytes = malloc(n_bytes);
        if (!scatter->bytes)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for an object of %zu bytes", n_bytes);
    }
    const struct collective collective = {
        .name = CALL_SCATTER_OBJECT,
        .parts =
            COLL_HAS_ROOT | COLL_SEND_AT_ROOT | COLL_SEND_ALL | COLL_HAS_COUNTS,
        .send = scatter->packed,
        /* Nothing is written to an empty receive buffer, but its address must
         * differ from that of every other buffer. */
        .recv = scatter->bytes ? scatter->bytes : scatter,
        .counts = scatter->counts,
        .dtype = HOOP_UINT8,
        .root = scatter->root,
    };
    *out_next = collective_to_engine_request(&collective, scatter->comm);
    return HOOP_OK;
}

static enum hoop_status
scatter_object_finish(void *owner)
{
    struct scatter_object *scatter = owner;

    *scatter->out_bytes = scatter->bytes;
    *scatter->out_n_bytes = scatter->counts[scatter->rank];
    scatter->bytes = NULL;
    return HOOP_OK;
}

static void
scatter_object_destroy(void *owner)
{
    struct scatter_object *scatter = owner;

    free(scatter->packed);
    free(scatter->counts);
    free(scatter->bytes);
    free(scatter);
}

static bool
scatter_object_is_root(const struct scatter_object *asked)
{
    return context_rank(asked->comm->context) == asked->root;
}

/* Check the objects that the root passes. */
static enum hoop_status
scatter_object_check_send(const struct scatter_object *asked)
{
    const uint32_t size = context_size(asked->comm->context);
    size_t total = 0;

    if (!asked->send)
        return error_raise(HOOP_E_INVALID, "send is NULL on rank %u, the root",
                           asked->root);
    for (uint32_t rank = 0; rank < size; rank++) {
        const struct hoop_object *object = &asked->send[rank];

        if (!object->bytes && object->n_bytes > 0)
            return error_raise(HOOP_E_INVALID,
                               "the object for rank %u is NULL, and has %zu "
                               "bytes",
                               rank, object->n_bytes);
        if (object->n_bytes > (size_t)LIMIT_OBJECT - total)
            return error_raise(HOOP_E_INVALID,
                               "with the %zu bytes for rank %u the objects are "
                               "too large",
                               object->n_bytes, rank);
        total += object->n_bytes;
    }
    return HOOP_OK;
}

static enum hoop_status
scatter_object_check(const struct scatter_object *asked)
{
    const uint32_t size = context_size(asked->comm->context);

    if (asked->root >= size)
        return error_raise(HOOP_E_INVALID,
                           "root %u is not below the communicator's size, %u",
                           asked->root, size);
    if (!asked->out_bytes || !asked->out_n_bytes)
        return error_raise(HOOP_E_INVALID,
                           "out_bytes or out_n_bytes is NULL on rank %u",
                           context_rank(asked->comm->context));
    return scatter_object_is_root(asked) ? scatter_object_check_send(asked)
                                         : HOOP_OK;
}

/* On the root, pack all objects one behind the other, and note their
 * lengths. */
static enum hoop_status
scatter_object_pack(struct scatter_object *scatter)
{
    size_t total = 0;

    for (uint32_t rank = 0; rank < scatter->size; rank++) {
        scatter->lengths[rank] = (int64_t)scatter->send[rank].n_bytes;
        total += scatter->send[rank].n_bytes;
    }
    uint8_t *to = malloc(total + 1);
    scatter->packed = to;
    if (!to)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to pack objects of %zu bytes", total);
    for (uint32_t rank = 0; rank < scatter->size; rank++) {
        const struct hoop_object *object = &scatter->send[rank];

        if (object->n_bytes > 0)
            memcpy(to, object->bytes, object->n_bytes);
        to += object->n_bytes;
    }
    return HOOP_OK;
}

static enum hoop_status
scatter_object_create(const struct scatter_object *asked,
                      struct scatter_object **out_scatter)
{
    const uint32_t size = context_size(asked->comm->context);
    struct scatter_object *scatter =
        calloc(1, sizeof(*scatter) + size * sizeof(scatter->lengths[0]));

    if (!scatter)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an operation");
    *scatter = *asked;
    scatter->rank = context_rank(asked->comm->context);
    scatter->size = size;
    scatter->counts = calloc(size, sizeof(*scatter->counts));
    enum hoop_status status =
        scatter->counts
            ? HOOP_OK
            : error_raise(HOOP_E_EXHAUSTED, "no memory for %u counts", size);
    if (status == HOOP_OK && scatter_object_is_root(asked))
        status = scatter_object_pack(scatter);
    if (status != HOOP_OK) {
        scatter_object_destroy(scatter);
        return error_pass(status);
    }
    *out_scatter = scatter;
    return HOOP_OK;
}

/* Describe the first collective; an empty description if this process is not a
 * member. */
static enum hoop_status
scatter_object_prepare(struct scatter_object *asked,
                       struct collective *out_lengths)
{
    struct scatter_object *scatter = NULL;
    bool is_member;
    enum hoop_status status =
        comm_call_begin_or_default(&asked->comm, &is_member);

    *out_lengths = (struct collective){.name = CALL_SCATTER_OBJECT};
    if (status == HOOP_OK && is_member)
        status = scatter_object_check(asked);
    if (status == HOOP_OK && is_member)
        status = scatter_object_create(asked, &scatter);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    *out_lengths = (struct collective){
        .name = CALL_SCATTER_OBJECT,
        .parts = COLL_HAS_ROOT,
        .send = HOOP_IN_PLACE,
        .recv = scatter->lengths,
        .count = scatter->size,
        .dtype = HOOP_INT64,
        .root = scatter->root,
        .like = CALL_BROADCAST,
        .chain = {.next = scatter_object_next_stage,
                  .finish = scatter_object_finish,
                  .destroy = scatter_object_destroy,
                  .owner = scatter},
    };
    return HOOP_OK;
}

enum hoop_status
hoop_scatter_object(const struct hoop_object *send,
                    void **out_bytes,
                    size_t *out_n_bytes,
                    uint32_t root,
                    hoop_comm_t *comm)
{
    struct scatter_object scatter = {.send = send,
                                     .out_bytes = out_bytes,
                                     .out_n_bytes = out_n_bytes,
                                     .root = root,
                                     .comm = comm};
    struct collective lengths;
    const enum hoop_status status = scatter_object_prepare(&scatter, &lengths);

    if (status != HOOP_OK)
        return error_pass(status);
    return collective_run(&lengths, scatter.comm);
}

enum hoop_status
hoop_scatter_object_start(const struct hoop_object *send,
                          void **out_bytes,
                          size_t *out_n_bytes,
                          uint32_t root,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op)
{
    struct scatter_object scatter = {.send = send,
                                     .out_bytes = out_bytes,
                                     .out_n_bytes = out_n_bytes,
                                     .root = root,
                                     .comm = comm};
    struct collective lengths;
    const enum hoop_status status = scatter_object_prepare(&scatter, &lengths);

    if (status != HOOP_OK)
        return error_pass(status);
    return collective_start(&lengths, scatter.comm, out_op);
}
