/* tests/fault/matrix/fault_rank.c - a rank of a cell and what it reports */

#include "fault/matrix/fault_rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fault/matrix/fault_table.h"

/* The survivors of a cell shrink their communicator and go on. */

enum {
    N_SUMMED = 5000,
};

/* Returns a value that every rank can compute for every other one. */
static int32_t
fault_element(uint32_t rank, size_t at)
{
    return (int32_t)(at * 7 + rank * 1000003);
}

static int32_t
expected_at(const hoop_comm_t *comm, size_t at)
{
    uint32_t sum = 0;

    for (uint32_t rank = 0; rank < hoop_comm_size(comm); rank++)
        sum += (uint32_t)fault_element(hoop_comm_world_rank(comm, rank), at);
    return (int32_t)sum;
}

static enum hoop_status
sum_up(hoop_comm_t *comm, uint32_t world_rank, bool *out_is_wrong)
{
    static int32_t values[N_SUMMED];

    for (size_t i = 0; i < N_SUMMED; i++)
        values[i] = fault_element(world_rank, i);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, values, N_SUMMED, HOOP_INT32, HOOP_SUM, comm);
    for (size_t i = 0; i < N_SUMMED && status == HOOP_OK; i++)
        *out_is_wrong |= values[i] != expected_at(comm, i);
    return status;
}

void
fault_shrink(hoop_comm_t *world, struct fault_rest *out_rest)
{
    hoop_comm_t *comm = NULL;

    out_rest->has_tried = true;
    out_rest->status = hoop_comm_shrink(world, &comm);
    if (out_rest->status == HOOP_OK) {
        out_rest->size = hoop_comm_size(comm);
        out_rest->status =
            sum_up(comm, hoop_comm_rank(world), &out_rest->is_wrong);
    }
    if (out_rest->status != HOOP_OK)
        snprintf(out_rest->text, sizeof(out_rest->text), "%s",
                 hoop_error_text());
    hoop_comm_free(comm);
}

/* These calls are not in mismatch_calls.h, or differ from the ones there. */

enum {
    OBJECT_BYTES = 100000,
    TAG = 5,
};

char fault_call_text[1024];

/* Sends to the next rank and receives from the one before. */
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
    /* Keep the error text, which hoop_wait() clears. */
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

/* Copies the objects one after the other. */
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
    N_INSTEAD = 4, /* so many of own[] replace calls of the other table */
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

enum {
    /* One rank has so many elements. They fill several frames, even as eight
     * blocks. */
    N_ELEMENTS = 384 << 10,
    /* If all blocks are equal, each is a part of it. Objects are smaller. */
    N_BYTES = N_ELEMENTS * sizeof(int32_t),
    JOIN_MS = 30000,
    LOOK_US = 100,
    /* This is longer than the judge of the cell waits, so that no rank
     * stays. */
    ROOM_MS = 120000,
    /* This is the number of the call that has the fault. */
    SEQ = 2,
};

struct actor {
    const struct fault_rank_options *options;
    struct fault_report *report;
    hoop_session_t *session;
    hoop_comm_t *world;
    int32_t *send;
    int32_t *recv;
    int32_t *expected;
};

static void
environment_set(const struct fault_rank_options *options)
{
    const struct fault_cell_rule rule =
        fault_cell_rule(options->cell, SEQ, options->note_fd);
    char timeout[32];

    snprintf(timeout, sizeof(timeout), "%ums", options->failure_timeout_ms);
    setenv("HOOP_DEBUG_FAULT", rule.text, 1);
    if (options->failure_timeout_ms > 0)
        setenv("HOOP_FAILURE_TIMEOUT", timeout, 1);
    else
        unsetenv("HOOP_FAILURE_TIMEOUT");
    setenv("HOOP_TRANSPORT", options->cell->transport, 1);
    /* With a given link model the ranks do not measure the link. */
    setenv("HOOP_DEBUG_LINK", "latency=20us,bandwidth=2GB/s", 1);
}

static enum hoop_status
actor_join(struct actor *actor)
{
    const struct fault_rank_options *options = actor->options;
    char job[64];
    const struct hoop_join_options join = {
        .coordinator = options->coordinator,
        .job = job,
        .token = "secret",
        .rank = &options->rank,
        .world_size = options->cell->size,
        .join_timeout_ms = JOIN_MS,
        .op_timeout_ms = options->op_ms,
    };

    snprintf(job, sizeof(job), "cell-%u-%d-%u", options->number, (int)getppid(),
             options->turn);
    environment_set(options);
    const enum hoop_status status = hoop_join(&join, &actor->session);
    if (status == HOOP_OK)
        actor->world = hoop_world(actor->session);
    return status;
}

/* Waits, without hoop, until all ranks are here. Returns false if one does not
 * come. */
static bool
meet(const struct fault_rank_options *options)
{
    const uint64_t deadline_ns = clock_deadline_ns(ROOM_MS);

    atomic_fetch_add(&options->room->n_ready, 1);
    while (atomic_load(&options->room->n_ready) < options->cell->size) {
        if (clock_is_past(deadline_ns))
            return false;
        usleep(LOOK_US);
    }
    return true;
}

/* Waits until the cell has been judged. */
static void
await_judge(const struct fault_room *room)
{
    const uint64_t deadline_ns = clock_deadline_ns(ROOM_MS);

    while (!atomic_load(&room->may_leave) && !clock_is_past(deadline_ns))
        usleep(LOOK_US);
}

static enum hoop_status
actor_call(const struct actor *actor)
{
    const struct fault_cell *cell = actor->options->cell;
    const bool in_blocks = cell->call.parts & MATRIX_IN_BLOCKS;
    const size_t count = in_blocks ? N_ELEMENTS / FAULT_RANKS : N_ELEMENTS;
    size_t counts[FAULT_RANKS];
    const struct matrix_args args = {
        .send = actor->send,
        .recv = actor->recv,
        .count = count,
        .counts = counts,
        .dtype = HOOP_INT32,
        .op = HOOP_SUM,
        .root = fault_cell_root(cell),
        .comm = actor->world,
    };

    for (uint32_t i = 0; i < FAULT_RANKS; i++)
        counts[i] = count;
    memset(actor->recv, 0xee, N_BYTES);
    return cell->call.run(&args);
}

/* Stores the first failure of the rank. */
static void
take_down(struct fault_report *report, enum hoop_status status)
{
    if (status == HOOP_OK || report->status != HOOP_OK)
        return;
    report->when_ns = clock_now_ns();
    report->status = status;
    snprintf(report->text, sizeof(report->text), "%s",
             fault_call_text[0] ? fault_call_text : hoop_error_text());
}

static bool
is_culprit(const struct actor *actor)
{
    return actor->options->rank == fault_cell_culprit(actor->options->cell);
}

/* Makes a call that no other rank makes. */
static enum hoop_status
call_differently(const struct actor *actor)
{
    if (strcmp(actor->options->cell->call.name, "barrier") != 0)
        return hoop_barrier(actor->world);
    return hoop_allreduce(actor->send, actor->recv, 1, HOOP_INT32, HOOP_SUM,
                          actor->world);
}

static void
play(struct actor *actor)
{
    const enum fault_kind kind = actor->options->cell->fault->kind;
    const bool is_odd = is_culprit(actor) && kind == FAULT_KIND_DIFFER;

    if (is_culprit(actor))
        atomic_store(&actor->options->room->began_ns, clock_now_ns());
    const enum hoop_status status =
        is_odd ? call_differently(actor) : actor_call(actor);
    take_down(actor->report, status);
    if (status == HOOP_OK && !is_odd)
        actor->report->is_wrong =
            memcmp(actor->recv, actor->expected, N_BYTES) != 0;
    for (int i = 0; i < 2; i++)
        take_down(actor->report, hoop_barrier(actor->world));
}

static int
actor_main(struct actor *actor)
{
    const struct fault_rank_options *options = actor->options;

    for (size_t i = 0; i < N_ELEMENTS; i++)
        actor->send[i] = fault_element(options->rank, i);
    if (actor_join(actor) != HOOP_OK || actor_call(actor) != HOOP_OK) {
        fprintf(stderr, "cell %u, rank %u: before the fault: %s\n",
                options->number, options->rank, hoop_error_text());
        return 1;
    }
    memcpy(actor->expected, actor->recv, N_BYTES);
    if (!meet(options))
        return 1;
    if (is_culprit(actor) && options->cell->fault->kind == FAULT_KIND_LEAVE) {
        atomic_store(&options->room->began_ns, clock_now_ns());
        hoop_leave(actor->session);
        return 0;
    }
    play(actor);
    if (actor->report->status != HOOP_OK)
        fault_shrink(actor->world, &actor->report->rest);
    atomic_store(&actor->report->is_done, true);
    await_judge(options->room);
    hoop_leave(actor->session);
    return 0;
}

int
fault_rank_main(const struct fault_rank_options *options)
{
    struct actor actor = {
        .options = options,
        .report = &options->room->ranks[options->rank],
        .send = malloc(N_BYTES),
        .recv = malloc(N_BYTES),
        .expected = malloc(N_BYTES),
    };

    const int result = actor_main(&actor);
    free(actor.send);
    free(actor.recv);
    free(actor.expected);
    return result;
}
