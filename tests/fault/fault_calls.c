/* tests/fault/fault_calls.c - what the ranks of the fault matrix call */

#include "fault_calls.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    OBJECT_BYTES = 100000,
    TAG = 5,
};

char fault_call_text[1024];

/* To the next rank, and from the one before. */
static enum hoop_status
run_exchange(const struct matrix_args *args)
{
    const uint32_t size = hoop_comm_size(args->comm);
    const uint32_t rank = hoop_comm_rank(args->comm);
    hoop_op_t *op = NULL;

    enum hoop_status status =
        hoop_send_start(args->send, args->count, args->dtype, (rank + 1) % size,
                        TAG, args->comm, &op);
    if (status != HOOP_OK)
        return status;
    status = hoop_recv(args->recv, args->count, args->dtype,
                       (rank + size - 1) % size, TAG, args->comm, NULL);
    if (status == HOOP_OK)
        return hoop_wait(op, -1);
    /* Which clears the text: it is given back. */
    snprintf(fault_call_text, sizeof(fault_call_text), "%s", hoop_error_text());
    (void)!hoop_wait(op, -1);
    return status;
}

static enum hoop_status
run_sendrecv(const struct matrix_args *args)
{
    const uint32_t size = hoop_comm_size(args->comm);
    const uint32_t rank = hoop_comm_rank(args->comm);
    const struct hoop_message send = {
        .kind = HOOP_SEND,
        .buffer = (void *)(uintptr_t)args->send,
        .count = args->count,
        .dtype = args->dtype,
        .peer = (rank + 1) % size,
        .tag = TAG,
    };
    const struct hoop_message receive = {
        .kind = HOOP_RECV,
        .buffer = args->recv,
        .count = args->count,
        .dtype = args->dtype,
        .peer = (rank + size - 1) % size,
        .tag = TAG,
    };

    return hoop_sendrecv(&send, &receive, args->comm, NULL);
}

static enum hoop_status
run_broadcast_object(const struct matrix_args *args)
{
    void *bytes = NULL;
    size_t n_bytes = 0;
    const enum hoop_status status = hoop_broadcast_object(
        args->send, OBJECT_BYTES, &bytes, &n_bytes, args->root, args->comm);

    if (status == HOOP_OK && bytes)
        memcpy(args->recv, bytes, n_bytes);
    hoop_object_free(bytes);
    return status;
}

/* One behind the other. */
static void
objects_keep(const struct hoop_objects *objects, uint8_t *to)
{
    for (size_t i = 0; i < objects->n_objects; i++) {
        memcpy(to, objects->objects[i].bytes, objects->objects[i].n_bytes);
        to += objects->objects[i].n_bytes;
    }
}

static enum hoop_status
run_gather_object(const struct matrix_args *args)
{
    struct hoop_objects objects = {0};
    const enum hoop_status status = hoop_gather_object(
        args->send, OBJECT_BYTES, &objects, args->root, args->comm);

    if (status == HOOP_OK)
        objects_keep(&objects, args->recv);
    hoop_objects_free(&objects);
    return status;
}

static enum hoop_status
run_allgather_object(const struct matrix_args *args)
{
    struct hoop_objects objects = {0};
    const enum hoop_status status =
        hoop_allgather_object(args->send, OBJECT_BYTES, &objects, args->comm);

    if (status == HOOP_OK)
        objects_keep(&objects, args->recv);
    hoop_objects_free(&objects);
    return status;
}

static enum hoop_status
run_scatter_object(const struct matrix_args *args)
{
    struct hoop_object objects[8];
    void *bytes = NULL;
    size_t n_bytes = 0;

    for (uint32_t rank = 0; rank < hoop_comm_size(args->comm); rank++)
        objects[rank] = (struct hoop_object){args->send, OBJECT_BYTES};
    const enum hoop_status status =
        hoop_scatter_object(objects, &bytes, &n_bytes, args->root, args->comm);

    if (status == HOOP_OK)
        memcpy(args->recv, bytes, n_bytes);
    hoop_object_free(bytes);
    return status;
}

enum {
    N_INSTEAD = 4, /* of own: instead of calls of the other table */
};

static const struct fault_call own[] = {
    {"broadcast_object", "broadcast_object", FAULT_CALL_FROM_ROOT,
     run_broadcast_object},
    {"gather_object", "gather_object", 0, run_gather_object},
    {"allgather_object", "allgather_object", 0, run_allgather_object},
    {"scatter_object", "scatter_object", FAULT_CALL_FROM_ROOT,
     run_scatter_object},
    {"send", "send", MATRIX_HAS_COUNT | FAULT_CALL_MESSAGES, run_exchange},
    {"recv", "recv", MATRIX_HAS_COUNT | FAULT_CALL_MESSAGES, run_exchange},
    {"sendrecv", "send", MATRIX_HAS_COUNT | FAULT_CALL_MESSAGES, run_sendrecv},
};

static unsigned
parts_of(const char *name)
{
    static const char *const from_root[] = {"broadcast", "scatter", "scatterv",
                                            "broadcast_object",
                                            "scatter_object"};

    for (size_t i = 0; i < COUNT_OF(from_root); i++) {
        if (strcmp(name, from_root[i]) == 0)
            return FAULT_CALL_FROM_ROOT;
    }
    return strstr(name, "scan") ? FAULT_CALL_UPWARD : 0;
}

uint32_t
fault_n_calls(void)
{
    return (uint32_t)(n_matrix_calls + COUNT_OF(own) - N_INSTEAD);
}

struct fault_call
fault_call_at(uint32_t i)
{
    if (i >= n_matrix_calls)
        return own[i - n_matrix_calls + N_INSTEAD];

    const struct matrix_call *call = &matrix_calls[i];
    for (size_t j = 0; j < N_INSTEAD; j++) {
        if (strcmp(own[j].name, call->name) == 0)
            return own[j];
    }
    return (struct fault_call){call->name, call->name,
                               call->parts | parts_of(call->name), call->run};
}
