/*
 * api/broadcast_object.c - broadcast bytes whose length only the root knows
 *
 * A chain of two collectives: an int64 with the length, and that many bytes.
 * The root broadcasts in place from the user's buffer, so no copy is made.
 */

#include <stdint.h>
#include <stdlib.h>

#include "hoop/object.h"

#include "api/collective.h"
#include "api/comm_call.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/comm.h"

struct broadcast_object {
    const void *send;
    size_t n_send;
    void **out_bytes;
    size_t *out_n_bytes;
    uint32_t root;
    hoop_comm_t *comm; /* NULL: the default group's */
    /* Set by the chain. */
    int64_t n_bytes;
    void *bytes; /* NULL on the root */
};

static bool
broadcast_object_is_root(const struct broadcast_object *object)
{
    return context_rank(object->comm->context) == object->root;
}

static enum hoop_status
broadcast_object_next_stage(void *owner,
                            uint32_t stage,
                            struct engine_collective *out_next)
{
    struct broadcast_object *object = owner;

    if (stage > 1)
        return HOOP_OK;
    if (object->n_bytes < 0 || object->n_bytes > LIMIT_OBJECT)
        return error_raise(HOOP_E_EXHAUSTED,
                           "rank %u announces an object of %lld bytes",
                           object->root, (long long)object->n_bytes);
    const size_t n_bytes = (size_t)object->n_bytes;
    if (!broadcast_object_is_root(object) && n_bytes > 0) {
        object->bytes = malloc(n_bytes);
        if (!object->bytes)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for an object of %zu bytes", n_bytes);
    }
    const struct collective collective = {
        .name = CALL_BROADCAST_OBJECT,
        .parts = COLL_HAS_ROOT,
        .send = HOOP_IN_PLACE,
        /* The root's buffer is not written. */
        .recv = broadcast_object_is_root(object)
                    ? (void *)(uintptr_t)object->send
                    : object->bytes,
        .count = n_bytes,
        .dtype = HOOP_UINT8,
        .root = object->root,
    };
    *out_next = collective_to_engine_request(&collective, object->comm);
    return HOOP_OK;
}

static enum hoop_status
broadcast_object_finish(void *owner)
{
    struct broadcast_object *object = owner;

    if (object->out_bytes)
        *object->out_bytes = object->bytes;
    if (object->out_n_bytes)
        *object->out_n_bytes = (size_t)object->n_bytes;
    object->bytes = NULL;
    return HOOP_OK;
}

static void
broadcast_object_destroy(void *owner)
{
    struct broadcast_object *object = owner;

    free(object->bytes);
    free(object);
}

static enum hoop_status
broadcast_object_check(const struct broadcast_object *asked)
{
    const uint32_t rank = context_rank(asked->comm->context);

    if (!broadcast_object_is_root(asked)) {
        if (!asked->out_bytes || !asked->out_n_bytes)
            return error_raise(HOOP_E_INVALID,
                               "out_bytes or out_n_bytes is NULL on rank %u, "
                               "which is not the root",
                               rank);
        return HOOP_OK;
    }
    if (!asked->send && asked->n_send > 0)
        return error_raise(HOOP_E_INVALID, "send is NULL on rank %u", rank);
    if (asked->n_send > (size_t)LIMIT_OBJECT)
        return error_raise(HOOP_E_INVALID,
                           "an object of %zu bytes is too large",
                           asked->n_send);
    return HOOP_OK;
}

/* Describe the first collective; an empty description if this process is not a
 * member. */
static enum hoop_status
broadcast_object_prepare(struct broadcast_object *asked,
                         struct collective *out_lengths)
{
    bool is_member;
    enum hoop_status status =
        comm_call_begin_or_default(&asked->comm, &is_member);

    *out_lengths = (struct collective){.name = CALL_BROADCAST_OBJECT};
    if (status == HOOP_OK && is_member)
        status = broadcast_object_check(asked);
    if (status != HOOP_OK || !is_member)
        return status;
    struct broadcast_object *object = malloc(sizeof(*object));
    if (!object)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an operation");
    *object = *asked;
    object->n_bytes = (int64_t)asked->n_send;
    *out_lengths = (struct collective){
        .name = CALL_BROADCAST_OBJECT,
        .parts = COLL_HAS_ROOT,
        .send = HOOP_IN_PLACE,
        .recv = &object->n_bytes,
        .count = 1,
        .dtype = HOOP_INT64,
        .root = object->root,
        .chain = {.next = broadcast_object_next_stage,
                  .finish = broadcast_object_finish,
                  .destroy = broadcast_object_destroy,
                  .owner = object},
    };
    return HOOP_OK;
}

enum hoop_status
hoop_broadcast_object(const void *send,
                      size_t n_send,
                      void **out_bytes,
                      size_t *out_n_bytes,
                      uint32_t root,
                      hoop_comm_t *comm)
{
    struct broadcast_object object = {send, n_send, out_bytes, out_n_bytes,
                                      root, comm,   0,         NULL};
    struct collective lengths;

    const enum hoop_status status = broadcast_object_prepare(&object, &lengths);
    if (status != HOOP_OK)
        return error_pass(status);
    return collective_run(&lengths, object.comm);
}

enum hoop_status
hoop_broadcast_object_start(const void *send,
                            size_t n_send,
                            void **out_bytes,
                            size_t *out_n_bytes,
                            uint32_t root,
                            hoop_comm_t *comm,
                            hoop_op_t **out_op)
{
    struct broadcast_object object = {send, n_send, out_bytes, out_n_bytes,
                                      root, comm,   0,         NULL};
    struct collective lengths;

    const enum hoop_status status = broadcast_object_prepare(&object, &lengths);
    if (status != HOOP_OK)
        return error_pass(status);
    return collective_start(&lengths, object.comm, out_op);
}

void
hoop_object_free(void *bytes)
{
    free(bytes);
}
