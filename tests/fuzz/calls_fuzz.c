/*
 * tests/fuzz/calls_fuzz.c - two ranks call anything, alike or not
 *
 * Two ranks of one process, each a thread, over a socket pair. The first byte
 * says whether calls are checked first; then each three bytes are a call of
 * both, and how rank 1's differs. Both return from all of it. What both called
 * alike and both say went well has the right result; calls that differ are told
 * to both ranks, no more often than there were any, and by the third barrier
 * behind them all is well again: the rules of hoop/coll.h. The corpus has calls
 * of each kind, alike, large, and differing in each way; with FUZZ_SHOW in the
 * environment it is told what each rank called and got.
 */

#include <stdbool.h>
#include <string.h>

#include "hoop/coll.h"
#include "hoop/p2p.h"

#include "base/error.h"
#include "engine_pair.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"

enum {
    RANKS = 2,
    STEPS_MAX = 12,
    FLUSHES = 3,
    TOLD_AFTER = 2,     /* calls that wait for all ranks: a mismatch is told */
    COUNT_LARGE = 6000, /* 24 KB */
    ROOM = RANKS * (COUNT_LARGE + 1),
    DEADLINE_MS = 8000, /* nothing here has to wait */
    SHORT_MS = 2,       /* but for what nobody sends */
};

enum kind {
    KIND_ALLREDUCE,
    KIND_BROADCAST,
    KIND_REDUCE,
    KIND_ALLGATHER,
    KIND_REDUCE_SCATTER,
    KIND_ALLTOALL,
    KIND_GATHER,
    KIND_SCATTER,
    KIND_SCAN,
    KIND_BARRIER,
    KINDS, /* of collectives */
    KIND_MESSAGE = KINDS,
    KIND_LONELY, /* a receive of what nobody sends */
    KINDS_ALL,
};

struct call_made {
    enum kind kind;
    uint32_t root;
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    size_t count;
};

/* One call as the ranks made it. */
struct step {
    struct call_made calls[RANKS];
    bool is_alike;
    enum hoop_status statuses[RANKS];
    int32_t *output[RANKS];
};

static struct step steps[STEPS_MAX + FLUSHES];
static unsigned n_steps;
static struct engine_pair engine_pair;
static int32_t inputs[RANKS][ROOM];

/* The element of rank in any call. */
static int32_t
value_of(uint32_t rank, size_t at)
{
    return (int32_t)(at * 3 + rank * 1000 + 1);
}

static struct call_made
call_read(uint8_t what, uint8_t more)
{
    return (struct call_made){
        .kind = (enum kind)(what % KINDS_ALL),
        .root = more & 1,
        .dtype = HOOP_INT32,
        .op = more & 2 ? HOOP_MAX : HOOP_SUM,
        .count = what / KINDS_ALL == 3 ? COUNT_LARGE : more >> 4,
    };
}

/* Rank 1's: mostly the same. */
static void
call_alter(struct call_made *call, uint8_t how)
{
    switch (how & 15) {
    case 1:
        call->count++;
        return;
    case 2:
        call->root ^= 1;
        return;
    case 3:
        call->dtype = HOOP_FLOAT32;
        return;
    case 4:
        call->op = call->op == HOOP_SUM ? HOOP_MAX : HOOP_SUM;
        return;
    case 5:
        /* Of collectives: a message may cross one. */
        if (call->kind < KINDS)
            call->kind = (enum kind)((call->kind + (how >> 4)) % KINDS);
        return;
    case 6:
        call->count = 1;
        return;
    default:
        return;
    }
}

/* By what the ranks must agree on: a barrier has nothing but its name. */
static bool
is_alike(const struct call_made *a, const struct call_made *b)
{
    const bool has_root = a->kind == KIND_BROADCAST || a->kind == KIND_REDUCE ||
                          a->kind == KIND_GATHER || a->kind == KIND_SCATTER ||
                          a->kind == KIND_MESSAGE;
    const bool has_op = a->kind == KIND_ALLREDUCE || a->kind == KIND_REDUCE ||
                        a->kind == KIND_REDUCE_SCATTER || a->kind == KIND_SCAN;

    if (a->kind != b->kind)
        return false;
    if (a->kind == KIND_BARRIER || a->kind == KIND_LONELY)
        return true;
    return a->count == b->count && a->dtype == b->dtype &&
           (!has_root || a->root == b->root) && (!has_op || a->op == b->op);
}

/* Rank root sends, the other receives. What is longer than its receive is told
 * to that, a shorter one is fine. */
static enum hoop_status
message_make(struct side *side, const struct call_made *call, void *output)
{
    struct hoop_comm *comm = &side->comms[0];
    struct hoop_received received = {0};

    return side->rank == call->root
               ? hoop_send(inputs[side->rank], call->count, call->dtype,
                           1 - side->rank, 5, comm)
               : hoop_recv(output, call->count, call->dtype, 1 - side->rank, 5,
                           comm, &received);
}

static enum hoop_status
lonely_make(struct side *side, int32_t *output)
{
    struct hoop_comm *comm = &side->comms[0];
    struct hoop_received received = {0};

    hoop_comm_set_timeout(comm, SHORT_MS);
    const enum hoop_status status = hoop_recv(
        output, 1, HOOP_INT32, 1 - side->rank, 6 + side->rank, comm, &received);
    hoop_comm_set_timeout(comm, DEADLINE_MS);
    return status;
}

static enum hoop_status
call_make(struct side *side, const struct call_made *call, int32_t *output)
{
    struct hoop_comm *comm = &side->comms[0];
    const int32_t *input = inputs[side->rank];
    const size_t n = call->count;

    switch (call->kind) {
    case KIND_ALLREDUCE:
        return hoop_allreduce(input, output, n, call->dtype, call->op, comm);
    case KIND_BROADCAST:
        return hoop_broadcast(input, output, n, call->dtype, call->root, comm);
    case KIND_REDUCE:
        return hoop_reduce(input, output, n, call->dtype, call->op, call->root,
                           comm);
    case KIND_ALLGATHER:
        return hoop_allgather(input, output, n, call->dtype, comm);
    case KIND_REDUCE_SCATTER:
        return hoop_reduce_scatter(input, output, n, call->dtype, call->op,
                                   comm);
    case KIND_ALLTOALL:
        return hoop_alltoall(input, output, n, call->dtype, comm);
    case KIND_GATHER:
        return hoop_gather(input, output, n, call->dtype, call->root, comm);
    case KIND_SCATTER:
        return hoop_scatter(input, output, n, call->dtype, call->root, comm);
    case KIND_SCAN:
        return hoop_scan(input, output, n, call->dtype, call->op, comm);
    case KIND_BARRIER:
        return hoop_barrier(comm);
    case KIND_MESSAGE:
        return message_make(side, call, output);
    case KIND_LONELY:
        return lonely_make(side, output);
    case KINDS_ALL:
        break;
    }
    return HOOP_E_INTERNAL;
}

static void *
side_play(void *owner)
{
    struct side *side = owner;

    for (unsigned i = 0; i < n_steps; i++) {
        steps[i].statuses[side->rank] = call_make(
            side, &steps[i].calls[side->rank], steps[i].output[side->rank]);
        fuzz_require(steps[i].statuses[side->rank] == HOOP_OK ||
                     error_text()[0] != '\0');
    }
    return NULL;
}

static int32_t
combined(const struct call_made *call, uint32_t n_ranks, size_t at)
{
    const int32_t first = value_of(0, at);
    const int32_t second = value_of(1, at);

    if (n_ranks == 1)
        return first;
    if (call->op == HOOP_SUM)
        return first + second;
    return second > first ? second : first;
}

/* Element at of the result on rank, by the definitions of hoop/coll.h. False:
 * there is none. */
static bool
result_of(const struct call_made *call, uint32_t rank, size_t at, int32_t *out)
{
    const size_t n = call->count;
    const uint32_t block = (uint32_t)(at / n);
    const bool is_here = rank == call->root;

    switch (call->kind) {
    case KIND_ALLREDUCE:
    case KIND_REDUCE:
        *out = combined(call, RANKS, at);
        return at < n && (call->kind == KIND_ALLREDUCE || is_here);
    case KIND_SCAN:
        *out = combined(call, rank + 1, at);
        return at < n;
    case KIND_BROADCAST:
    case KIND_MESSAGE:
        *out = value_of(call->root, at);
        return at < n && !is_here;
    case KIND_ALLGATHER:
    case KIND_GATHER:
        *out = value_of(block, at % n);
        return block < RANKS && (call->kind == KIND_ALLGATHER || is_here);
    case KIND_ALLTOALL:
        *out = value_of(block, rank * n + at % n);
        return block < RANKS;
    case KIND_SCATTER:
        *out = value_of(call->root, rank * n + at);
        return at < n;
    case KIND_REDUCE_SCATTER:
        *out = combined(call, RANKS, rank * n + at);
        return at < n;
    case KIND_BARRIER:
    case KIND_LONELY:
    case KINDS_ALL:
        break;
    }
    return false;
}

static void
result_check(const struct step *step, uint32_t rank)
{
    const struct call_made *call = &step->calls[rank];

    if (call->dtype != HOOP_INT32)
        return;
    for (size_t at = 0; at < RANKS * call->count; at++) {
        int32_t expected = 0;

        if (result_of(call, rank, at, &expected))
            fuzz_require(step->output[rank][at] == expected);
    }
}

struct tally {
    unsigned n_differing;
    unsigned n_groups; /* each told before the next: at least so often */
    unsigned n_since;  /* calls that have waited for all ranks */
    bool has_message;  /* that differs: its sender need not learn it */
};

/* One of no elements does not. */
static bool
waits_for_all(const struct call_made *call)
{
    const enum kind kind = call->kind;

    if (kind == KIND_BARRIER)
        return true;
    return call->count > 0 &&
           (kind == KIND_ALLREDUCE || kind == KIND_ALLGATHER ||
            kind == KIND_REDUCE_SCATTER || kind == KIND_ALLTOALL);
}

static void
tally_add(struct tally *tally, const struct step *step)
{
    if (step->is_alike) {
        tally->n_since += waits_for_all(&step->calls[0]);
        return;
    }
    tally->n_groups += tally->n_differing == 0 || tally->n_since >= TOLD_AFTER;
    tally->n_differing++;
    tally->n_since = 0;
    tally->has_message |= step->calls[0].kind == KIND_MESSAGE;
}

/* For whoever plays an input that failed. */
static void
steps_show(void)
{
    for (unsigned i = 0; i < n_steps; i++) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const struct call_made *call = &steps[i].calls[rank];

            fprintf(stderr,
                    "step %u rank %u: kind %d root %u dtype %d op %d count %zu "
                    "%s: status %d\n",
                    i, rank, (int)call->kind, call->root, (int)call->dtype,
                    (int)call->op, call->count,
                    steps[i].is_alike ? "alike" : "differs",
                    (int)steps[i].statuses[rank]);
        }
    }
}

static void
rank_check(uint32_t rank, bool is_checked_first)
{
    struct tally tally = {0};
    unsigned n_told = 0;

    for (unsigned i = 0; i < n_steps; i++) {
        const struct step *step = &steps[i];
        const enum hoop_status status = step->statuses[rank];

        tally_add(&tally, step);
        n_told += status == HOOP_E_MISMATCH;
        fuzz_require(n_told <= tally.n_differing);
        if (step->calls[rank].kind == KIND_LONELY)
            fuzz_require(status == HOOP_E_TIMEOUT || status == HOOP_E_MISMATCH);
        else
            fuzz_require(status == HOOP_OK || status == HOOP_E_MISMATCH);
        if (is_checked_first && step->calls[rank].kind < KINDS &&
            !tally.has_message)
            fuzz_require((status == HOOP_OK) == step->is_alike);
        if (step->is_alike && step->statuses[0] == HOOP_OK &&
            step->statuses[1] == HOOP_OK)
            result_check(step, rank);
    }
    fuzz_require(tally.has_message || n_told >= tally.n_groups);
    fuzz_require(steps[n_steps - 1].statuses[rank] == HOOP_OK);
}

/* Who has no elements sends none, and is not compared, unless that comes
 * first. */
static bool
moves_nothing(const struct call_made *a, const struct call_made *b)
{
    return a->count + b->count == 0 && a->kind < KIND_BARRIER &&
           b->kind < KIND_BARRIER;
}

static void
steps_read(struct input *input, bool is_checked_first)
{
    for (n_steps = 0; n_steps < STEPS_MAX && input->n_bytes > 1; n_steps++) {
        struct step *step = &steps[n_steps];
        const uint8_t what = input_byte(input);
        const uint8_t how = input_byte(input);

        step->calls[0] = step->calls[1] = call_read(what, how);
        call_alter(&step->calls[1], input_byte(input));
        /* Who sends is not what may differ: both would, or neither. */
        if (step->calls[0].kind == KIND_MESSAGE)
            step->calls[1].root = step->calls[0].root;
    }
    for (unsigned i = 0; i < FLUSHES; i++) {
        steps[n_steps].calls[0] = (struct call_made){.kind = KIND_BARRIER};
        steps[n_steps].calls[1] = steps[n_steps].calls[0];
        n_steps++;
    }
    for (unsigned i = 0; i < n_steps; i++) {
        struct step *step = &steps[i];

        step->is_alike = is_alike(&step->calls[0], &step->calls[1]) ||
                         (!is_checked_first &&
                          moves_nothing(&step->calls[0], &step->calls[1]));
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            step->output[rank] =
                malloc(RANKS * (step->calls[rank].count + 1) * sizeof(int32_t));
            fuzz_require(step->output[rank]);
        }
    }
}

static void
steps_free(void)
{
    for (unsigned i = 0; i < n_steps; i++) {
        for (uint32_t rank = 0; rank < RANKS; rank++)
            free(steps[i].output[rank]);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    const bool is_checked_first = input_byte(&input) & 1;
    pthread_t threads[RANKS];

    for (uint32_t rank = 0; rank < RANKS && inputs[rank][0] == 0; rank++) {
        for (size_t at = 0; at < ROOM; at++)
            inputs[rank][at] = value_of(rank, at);
    }
    steps_read(&input, is_checked_first);
    engine_pair_open_checking(&engine_pair, is_checked_first
                                                ? ENGINE_CHECK_BEFORE_DATA
                                                : ENGINE_CHECK_FRAMES);
    engine_pair_connect(&engine_pair);
    engine_pair_start_backgrounds(&engine_pair);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        hoop_comm_set_timeout(&engine_pair.sides[rank].comms[0], DEADLINE_MS);
        fuzz_require(pthread_create(&threads[rank], NULL, side_play,
                                    &engine_pair.sides[rank]) == 0);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        pthread_join(threads[rank], NULL);
    if (getenv("FUZZ_SHOW"))
        steps_show();
    for (uint32_t rank = 0; rank < RANKS; rank++)
        rank_check(rank, is_checked_first);
    engine_pair_close(&engine_pair);
    steps_free();
    return 0;
}
