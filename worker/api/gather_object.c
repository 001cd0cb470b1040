/*
 * api/gather_object.c - gather bytes of varying length from all ranks
 *
 * A chain of two collectives: all ranks exchange the lengths, then the bytes
 * are gathered, on all ranks or on the root. The result is one block of memory:
 * the table of objects and behind it their bytes.
 */

#include <stdint.h>
#include <stdlib.h>

#include "hoop/object.h"

#include "api/collective.h"
#include "api/comm_call.h"
#include "api/object_lengths.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/comm.h"

struct gather_object {
    enum call_name name;
    const void *send;
    size_t n_send;
    struct hoop_objects *out_objects;
    uint32_t root; /* of CALL_GATHER_OBJECT, else 0 */
    /* may have been freed when a completed operation is waited for */
    hoop_comm_t *comm;
    /* Set by the chain. */
    uint32_t size;
    bool is_receiver;
    size_t *counts;              /* [rank] */
    struct hoop_object *objects; /* the result's block, on ranks that receive */
    int64_t lengths[];           /* [rank] */
};

/* Whether this rank receives the objects. */
static bool
gather_object_receives_here(const struct gather_object *asked)
{
    return asked->name == CALL_ALLGATHER_OBJECT ||
           context_rank(asked->comm->context) == asked->root;
}

static enum hoop_status
gather_object_next_stage(void *owner,
                         uint32_t stage,
                         struct engine_collective *out_next)
{
    struct gather_object *gather = owner;
    const uint32_t size = gather->size;
    size_t total = 0;

    if (stage > 1)
        return HOOP_OK;
    const enum hoop_status status =
        object_lengths_to_counts(gather->lengths, size, gather->counts, &total);
    if (status != HOOP_OK)
        return error_pass(status);
    if (gather->is_receiver) {
        gather->objects = malloc(size * sizeof(*gather->objects) + total);
        if (!gather->objects)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for objects of %zu bytes", total);
    }
    const struct collective collective = {
        .name = gather->name,
        .parts = COLL_RECV_ALL | COLL_HAS_COUNTS |
                 (gather->name == CALL_GATHER_OBJECT
                      ? COLL_HAS_ROOT | COLL_RECV_AT_ROOT
                      : 0),
        .send = gather->send,
        .recv = gather->objects ? gather->objects + size : NULL,
        .counts = gather->counts,
        .dtype = HOOP_UINT8,
        .root = gather->root,
    };
    *out_next = collective_to_engine_request(&collective, gather->comm);
    return HOOP_OK;
}

static enum hoop_status
gather_object_finish(void *owner)
{
    struct gather_object *gather = owner;
    const uint32_t size = gather->size;

    if (!gather->is_receiver)
        return HOOP_OK;
    const uint8_t *bytes = (const uint8_t *)(gather->objects + size);
    for (uint32_t rank = 0; rank < size; rank++) {
        gather->objects[rank] = (struct hoop_object){
            .bytes = bytes,
            .n_bytes = gather->counts[rank],
        };
        bytes += gather->counts[rank];
    }
    *gather->out_objects = (struct hoop_objects){
        .n_objects = size,
        .objects = gather->objects,
    };
    gather->objects = NULL;
    return HOOP_OK;
}

static void
gather_object_destroy(void *owner)
{
    struct gather_object *gather = owner;

    free(gather->objects);
    free(gather->counts);
    free(gather);
}

static enum hoop_status
gather_object_check(const struct gather_object *asked)
{
    const uint32_t rank = context_rank(asked->comm->context);
    const uint32_t size = context_size(asked->comm->context);

    if (asked->root >= size)
        return error_raise(HOOP_E_INVALID,
                           "root %u is not below the communicator's size, %u",
                           asked->root, size);
    if (!asked->send && asked->n_send > 0)
        return error_raise(HOOP_E_INVALID, "send is NULL on rank %u", rank);
    if (asked->n_send > (size_t)LIMIT_OBJECT)
        return error_raise(HOOP_E_INVALID,
                           "an object of %zu bytes is too large",
                           asked->n_send);
    if (!asked->out_objects && gather_object_receives_here(asked))
        return error_raise(HOOP_E_INVALID, "out_objects is NULL on rank %u",
                           rank);
    return HOOP_OK;
}

static struct gather_object *
gather_object_create(const struct gather_object *asked)
{
    const uint32_t size = context_size(asked->comm->context);
    struct gather_object *gather =
        calloc(1, sizeof(*gather) + size * sizeof(gather->lengths[0]));
    size_t *counts = calloc(size, sizeof(*counts));

    if (!gather || !counts) {
        free(gather);
        free(counts);
        return NULL;
    }
    *gather = *asked;
    gather->size = size;
    gather->is_receiver = gather_object_receives_here(asked);
    gather->counts = counts;
    gather->lengths[context_rank(asked->comm->context)] =
        (int64_t)asked->n_send;
    return gather;
}

/* Describe the first collective; an empty description if this process is not a
 * member. */
static enum hoop_status
gather_object_prepare(struct gather_object *asked,
                      struct collective *out_lengths)
{
    bool is_member;
    enum hoop_status status =
        comm_call_begin_or_default(&asked->comm, &is_member);

    *out_lengths = (struct collective){.name = asked->name};
    if (status == HOOP_OK && is_member)
        status = gather_object_check(asked);
    if (status != HOOP_OK || !is_member)
        return status;
    struct gather_object *gather = gather_object_create(asked);
    if (!gather)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an operation");
    *out_lengths = (struct collective){
        .name = gather->name,
        .parts = COLL_RECV_ALL,
        .send = HOOP_IN_PLACE,
        .recv = gather->lengths,
        .count = 1,
        .dtype = HOOP_INT64,
        .root = gather->root,
        .like = CALL_ALLGATHER,
        .chain = {.next = gather_object_next_stage,
                  .finish = gather_object_finish,
                  .destroy = gather_object_destroy,
                  .owner = gather},
    };
    return HOOP_OK;
}

static enum hoop_status
gather_object_run(struct gather_object *asked)
{
    struct collective lengths;
    const enum hoop_status status = gather_object_prepare(asked, &lengths);

    if (status != HOOP_OK)
        return error_pass(status);
    return collective_run(&lengths, asked->comm);
}

static enum hoop_status
gather_object_start(struct gather_object *asked, hoop_op_t **out_op)
{
    struct collective lengths;
    const enum hoop_status status = gather_object_prepare(asked, &lengths);

    if (status != HOOP_OK)
        return error_pass(status);
    return collective_start(&lengths, asked->comm, out_op);
}

enum hoop_status
hoop_allgather_object(const void *send,
                      size_t n_send,
                      struct hoop_objects *out_objects,
                      hoop_comm_t *comm)
{
    struct gather_object gather = {
        .name = CALL_ALLGATHER_OBJECT,
        .send = send,
        .n_send = n_send,
        .out_objects = out_objects,
        .comm = comm,
    };

    return gather_object_run(&gather);
}

enum hoop_status
hoop_allgather_object_start(const void *send,
                            size_t n_send,
                            struct hoop_objects *out_objects,
                            hoop_comm_t *comm,
                            hoop_op_t **out_op)
{
    struct gather_object gather = {
        .name = CALL_ALLGATHER_OBJECT,
        .send = send,
        .n_send = n_send,
        .out_objects = out_objects,
        .comm = comm,
    };

    return gather_object_start(&gather, out_op);
}

enum hoop_status
hoop_gather_object(const void *send,
                   size_t n_send,
                   struct hoop_objects *out_objects,
                   uint32_t root,
                   hoop_comm_t *comm)
{
    struct gather_object gather = {
        .name = CALL_GATHER_OBJECT,
        .send = send,
        .n_send = n_send,
        .out_objects = out_objects,
        .root = root,
        .comm = comm,
    };

    return gather_object_run(&gather);
}

enum hoop_status
hoop_gather_object_start(const void *send,
                         size_t n_send,
                         struct hoop_objects *out_objects,
                         uint32_t root,
                         hoop_comm_t *comm,
                         hoop_op_t **out_op)
{
    struct gather_object gather = {
        .name = CALL_GATHER_OBJECT,
        .send = send,
        .n_send = n_send,
        .out_objects = out_objects,
        .root = root,
        .comm = comm,
    };

    return gather_object_start(&gather, out_op);
}

void
hoop_objects_free(struct hoop_objects *objects)
{
    if (!objects)
        return;
    free((void *)(uintptr_t)objects->objects);
    *objects = (struct hoop_objects){.n_objects = 0};
}
