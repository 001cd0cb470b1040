/*
 * api/objects.c - broadcast, gather and scatter bytes of varying length
 *
 * Each call is a chain of two collectives: first the ranks learn the lengths,
 * then the bytes are moved.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/object.h"

#include "api/collective.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/comm.h"

/*
 * Broadcast bytes whose length only the root knows.
 *
 * The first collective broadcasts an int64 with the length, the second that
 * many bytes.
 * The root broadcasts in place from the user's buffer, so no copy is made.
 */

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

/* Check the lengths that were received, one from each rank, and convert them to
 * counts. */
static enum hoop_status
object_lengths_to_counts(const int64_t *lengths,
                         uint32_t n_ranks,
                         size_t *counts,
                         size_t *out_total)
{
    int64_t total = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const int64_t length = lengths[rank];

        if (length < 0 || length > LIMIT_OBJECT - total)
            return error_raise(HOOP_E_EXHAUSTED,
                               "with the %lld bytes of rank %u the objects "
                               "are too large",
                               (long long)length, rank);
        total += length;
        counts[rank] = (size_t)length;
    }
    *out_total = (size_t)total;
    return HOOP_OK;
}

/*
 * Gather bytes of varying length from all ranks.
 *
 * All ranks exchange the lengths, then the bytes are gathered, on all ranks or
 * on the root. The result is one block of memory: the table of objects and
 * behind it their bytes.
 */

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

/*
 * Scatter bytes whose lengths only the root knows.
 *
 * The root broadcasts the lengths of all objects, then scatters the objects,
 * which it has packed one behind the other.
 */

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
