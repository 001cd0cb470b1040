/*
 * tests/integration/collectives/collectives_vectors_test.c - worked examples
 *
 * random_calls_test.c tests calls in place and calls of all sizes, by comparing
 * them with definitions.
 */

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "integration/reference.h"
#include "integration/vectors.h"

/* A call of three ranks with root 1: what each rank has, and what it gets. */
static const struct {
    struct draw call;
    const char *given;
    const char *expected;
} examples[] = {
    {{.kind = DRAW_ALLREDUCE, .count = 6},
     "0 1 2 3 4 5 / 10 11 12 13 14 15 / 20 21 22 23 24 25",
     "30 33 36 39 42 45 / 30 33 36 39 42 45 / 30 33 36 39 42 45"},
    {{.kind = DRAW_REDUCE, .count = 6},
     "0 1 2 3 4 5 / 10 11 12 13 14 15 / 20 21 22 23 24 25",
     "/ 30 33 36 39 42 45 /"},
    {{.kind = DRAW_SCAN, .count = 6},
     "0 1 2 3 4 5 / 10 11 12 13 14 15 / 20 21 22 23 24 25",
     "0 1 2 3 4 5 / 10 12 14 16 18 20 / 30 33 36 39 42 45"},
    {{.kind = DRAW_EXSCAN, .count = 6},
     "0 1 2 3 4 5 / 10 11 12 13 14 15 / 20 21 22 23 24 25",
     "/ 0 1 2 3 4 5 / 10 12 14 16 18 20"},
    {{.kind = DRAW_BROADCAST, .count = 2}, "/ 7 8 /", "7 8 / 7 8 / 7 8"},
    {{.kind = DRAW_ALLGATHER, .count = 2, .is_even = true},
     "1 2 / 11 12 / 21 22",
     "1 2 11 12 21 22 / 1 2 11 12 21 22 / 1 2 11 12 21 22"},
    {{.kind = DRAW_GATHER, .count = 2, .is_even = true},
     "1 2 / 11 12 / 21 22",
     "/ 1 2 11 12 21 22 /"},
    {{.kind = DRAW_SCATTER, .count = 2, .is_even = true},
     "/ 0 1 2 3 4 5 /",
     "0 1 / 2 3 / 4 5"},
    {{.kind = DRAW_REDUCE_SCATTER, .count = 2, .is_even = true},
     "0 1 2 3 4 5 / 10 11 12 13 14 15 / 20 21 22 23 24 25",
     "30 33 / 36 39 / 42 45"},
    {{.kind = DRAW_ALLTOALL, .count = 2, .is_even = true},
     "0 1 2 3 4 5 / 10 11 12 13 14 15 / 20 21 22 23 24 25",
     "0 1 10 11 20 21 / 2 3 12 13 22 23 / 4 5 14 15 24 25"},
    {{.kind = DRAW_ALLGATHER, .counts = {0, 1, 2}},
     "/ 10 / 20 21",
     "10 20 21 / 10 20 21 / 10 20 21"},
    {{.kind = DRAW_GATHER, .counts = {0, 1, 2}},
     "/ 10 / 20 21",
     "/ 10 20 21 /"},
    {{.kind = DRAW_SCATTER, .counts = {1, 2, 0}}, "/ 7 8 9 /", "7 / 8 9 /"},
    {{.kind = DRAW_REDUCE_SCATTER, .counts = {0, 1, 2}},
     "0 1 2 / 10 11 12 / 20 21 22",
     "/ 30 / 33 36"},
    {{.kind = DRAW_ALLTOALL, .pairs = {{0, 2, 0}, {1, 3, 1}, {2, 0, 2}}},
     "10 11 / 100 110 111 112 120 / 200 201 220 221",
     "100 200 201 / 10 11 110 111 112 / 120 220 221"},
};

/* Reads the numbers of a rank, and fills the rest of the vector with -1.
 * Returns how many there are. */
static size_t
numbers_read(struct vector *vector, const char *text, uint32_t rank)
{
    size_t n = 0;

    for (; rank > 0; rank--)
        text = strchr(text, '/') + 1;
    *vector = vector_empty();
    for (char *end; *(text += strspn(text, " ")) && *text != '/'; text = end)
        vector->at[n++] = strtol(text, &end, 10);
    return n;
}

/* A rank that gives or gets nothing may pass NULL, and does so in the second
 * call. */
static int
example_check(struct rank *rank, size_t i)
{
    struct draw call = examples[i].call;
    struct vector given;
    struct vector expected;
    hoop_op_t *op = NULL;

    call.dtype = HOOP_INT64;
    call.op = HOOP_SUM;
    call.size = rank->size;
    call.root = 1;
    const size_t n_given = numbers_read(&given, examples[i].given, rank->rank);
    const size_t n_expected =
        numbers_read(&expected, examples[i].expected, rank->rank);
    const bool gets = n_expected > 0 || call.kind == DRAW_EXSCAN;
    for (int again = 0; again < 2; again++) {
        struct vector recv = vector_empty();
        const void *send = again && n_given == 0 ? NULL : given.at;
        enum hoop_status status =
            draw_call(&call, send, again && !gets ? NULL : recv.at, rank->comm,
                      again ? &op : NULL);

        if (again)
            status = vector_finish(status, &op);
        RANK_CHECK(status == HOOP_OK);
        RANK_CHECK(vector_equal(&recv, &expected));
    }
    return 0;
}

static int
examples_body(struct rank *rank)
{
    for (size_t i = 0; rank->size == 3 && i < COUNT_OF(examples); i++)
        RANK_CHECK(example_check(rank, i) == 0);
    return 0;
}

/* A buffer without elements may be NULL. */
static int
empty_body(struct rank *rank)
{
    for (int kind = 0; kind < DRAW_KINDS; kind++) {
        const struct draw call = {.kind = (enum draw_kind)kind,
                                  .dtype = HOOP_INT64,
                                  .op = HOOP_SUM,
                                  .size = rank->size,
                                  .is_even = true};

        RANK_CHECK(draw_call(&call, NULL, NULL, rank->comm, NULL) == HOOP_OK);
    }
    return 0;
}

/* These cases test the operators of hoop_allreduce(). */

/* Tests every operator on three ranks. */
static int
operators(struct rank *rank)
{
    static const int64_t given[3][3] = {{6, -7, 12}, {3, -2, 10}, {5, 0, 8}};
    static const struct {
        enum hoop_reduce_op op;
        int64_t expected[3];
    } rows[] = {
        {HOOP_SUM, {14, -9, 30}}, {HOOP_PRODUCT, {90, 0, 960}},
        {HOOP_MIN, {3, -7, 8}},   {HOOP_MAX, {6, 0, 12}},
        {HOOP_BAND, {0, 0, 8}},   {HOOP_BOR, {7, -1, 14}},
        {HOOP_BXOR, {0, 7, 14}},  {HOOP_AVG, {4, -3, 10}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t recv[3];

        RANK_CHECK(hoop_allreduce(given[rank->rank], recv, 3, HOOP_INT64,
                                  rows[i].op, rank->comm) == HOOP_OK);
        RANK_CHECK(memcmp(recv, rows[i].expected, sizeof(recv)) == 0);
    }
    return 0;
}

static int
averages(struct rank *rank)
{
    uint8_t byte = rank->rank == 0 ? 200 : rank->rank == 1 ? 100 : 0;
    uint8_t total = 0;
    float value = rank->rank == 2 ? 5 : 0;

    RANK_CHECK(hoop_allreduce(&byte, &total, 1, HOOP_UINT8, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(total == 44);
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &byte, 1, HOOP_UINT8, HOOP_AVG,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(byte == 14);
    /* The values are summed, and the sum is divided once. */
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_FLOAT32, HOOP_AVG,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(value == 5.0f / 3.0f);
    return 0;
}

/* These are Bagua's own examples, and averages that must not be rounded
 * down. */
static int
pairs(struct rank *rank)
{
    const bool is_first = rank->rank == 0;
    int64_t small[2] = {is_first ? 1 : 3, is_first ? 2 : 4};
    double complex numbers[2] = {is_first ? 1 + 1 * I : 3 + 3 * I,
                                 is_first ? 2 + 2 * I : 4 + 4 * I};
    int64_t signs[4] = {-3, 3, 5, -1};
    const int64_t halves[4] = {-1, 1, 2, 0};

    if (!is_first)
        memset(signs, 0, sizeof(signs));
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, small, 2, HOOP_INT64, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(small[0] == 4 && small[1] == 6);
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, numbers, 2, HOOP_COMPLEX128,
                              HOOP_SUM, rank->comm) == HOOP_OK);
    RANK_CHECK(numbers[0] == 4 + 4 * I && numbers[1] == 6 + 6 * I);
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, signs, 4, HOOP_INT64, HOOP_AVG,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(memcmp(signs, halves, sizeof(signs)) == 0);
    return 0;
}

static int
operators_body(struct rank *rank)
{
    RANK_CHECK(rank->size != 3 ||
               (operators(rank) == 0 && averages(rank) == 0));
    RANK_CHECK(rank->size != 2 || pairs(rank) == 0);
    return 0;
}

/* These cases test hoop_barrier(). */

/* No rank may leave the barrier before all have entered it. Each rank
 * increments a counter before. */
static int
barrier_body(struct rank *rank)
{
    hoop_op_t *op = NULL;

    for (uint32_t round = 0; round < 50; round++) {
        __atomic_add_fetch(&rank->room[round], 1, __ATOMIC_SEQ_CST);
        if (round % 2 == 0)
            RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
        else
            RANK_CHECK(vector_finish(hoop_barrier_start(rank->comm, &op),
                                     &op) == HOOP_OK);
        RANK_CHECK(__atomic_load_n(&rank->room[round], __ATOMIC_SEQ_CST) ==
                   rank->size);
    }
    return 0;
}

/* These cases test hoop_batch(): all pairs at once. */

static struct hoop_message
message(enum hoop_message_kind kind, int64_t *at, uint32_t peer)
{
    return (struct hoop_message){
        .kind = kind,
        .buffer = at,
        .count = 2,
        .dtype = HOOP_INT64,
        .peer = peer,
        .tag = 3,
    };
}

/* Sends two messages to each rank, including this one, as an alltoall would
 * do. */
static int
batch_body(struct rank *rank)
{
    const uint32_t n = rank->size;
    struct vector mine = vector_ramp(rank->rank, n);
    struct vector recv = vector_empty();
    struct vector expected = vector_empty();
    struct hoop_message messages[VECTOR_MAX];
    hoop_op_t *ops[VECTOR_MAX];

    for (uint32_t s = 0; s < n; s++) {
        messages[s] = message(HOOP_RECV, recv.at + 2 * s, s);
        messages[n + s] = message(HOOP_SEND, mine.at + 2 * s, s);
        expected.at[2 * s] = 10 * (int64_t)s + 2 * (int64_t)rank->rank;
        expected.at[2 * s + 1] = expected.at[2 * s] + 1;
    }
    RANK_CHECK(hoop_batch(messages, 2 * (size_t)n, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    recv = vector_empty();
    RANK_CHECK(hoop_batch_start(messages, 2 * (size_t)n, rank->comm, ops) ==
               HOOP_OK);
    RANK_CHECK(hoop_wait(ops[n - 1], HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(recv.at[2 * n - 1] == expected.at[2 * n - 1]);
    ops[n - 1] = NULL;
    RANK_CHECK(hoop_wait_all(ops, 2 * (size_t)n, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    return 0;
}

/* These cases test hoop_allreduce_coalesced(). */

enum {
    N_PIECES = 9
};

/* Piece p has p % 4 elements, and every second piece is in place. */
static int
coalesced_body(struct rank *rank)
{
    const int64_t size = rank->size;
    struct vector send = vector_ramp(rank->rank, VECTOR_MAX / 2);
    struct vector recv = vector_empty();
    struct hoop_piece pieces[N_PIECES];
    size_t total = 0;
    hoop_op_t *op = NULL;

    for (size_t p = 0; p < N_PIECES; p++) {
        pieces[p] = (struct hoop_piece){
            .send = p % 2 ? HOOP_IN_PLACE : send.at + total,
            .recv = (p % 2 ? send.at : recv.at) + total,
            .count = p % 4,
        };
        total += p % 4;
    }
    RANK_CHECK(hoop_allreduce_coalesced(pieces, N_PIECES, HOOP_INT64, HOOP_SUM,
                                        rank->comm) == HOOP_OK);
    for (size_t p = 0, i = 0; p < N_PIECES; p++) {
        for (size_t k = 0; k < pieces[p].count; k++, i++) {
            const int64_t *at = (p % 2 ? send.at : recv.at) + i;

            RANK_CHECK(*at == size * (int64_t)i + 5 * size * (size - 1));
            RANK_CHECK(p % 2 == 0 || recv.at[i] == SENTINEL);
        }
    }
    RANK_CHECK(
        vector_finish(hoop_allreduce_coalesced_start(pieces, 1, HOOP_INT64,
                                                     HOOP_MAX, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(hoop_allreduce_coalesced(NULL, 0, HOOP_INT64, HOOP_SUM,
                                        rank->comm) == HOOP_OK);
    return 0;
}

/* These cases test hoop_sendrecv(), and send, recv. */

/* Sends to the next rank so much that no send can end before its receive
 * begins. A single rank sends to itself. */
static int
rotate(struct rank *rank, size_t count)
{
    const uint32_t next = (rank->rank + 1) % rank->size;
    const uint32_t prev = (rank->rank + rank->size - 1) % rank->size;
    int32_t *mine = malloc(count * sizeof(*mine) + 1);
    int32_t *theirs = malloc(count * sizeof(*theirs) + 1);
    const struct hoop_message out = {.kind = HOOP_SEND,
                                     .buffer = mine,
                                     .count = count,
                                     .dtype = HOOP_INT32,
                                     .peer = next,
                                     .tag = 7};
    const struct hoop_message in = {.kind = HOOP_RECV,
                                    .buffer = theirs,
                                    .count = count,
                                    .dtype = HOOP_INT32,
                                    .peer = count % 2 ? prev : HOOP_ANY_SOURCE,
                                    .tag = 7};
    struct hoop_received received = {99, 99};
    hoop_op_t *op = NULL;

    for (size_t i = 0; i < count; i++)
        mine[i] = (int32_t)(rank->rank * 1000 + i % 997);
    RANK_CHECK(hoop_sendrecv(&out, &in, rank->comm, &received) == HOOP_OK);
    RANK_CHECK(received.source == prev && received.count == count);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(theirs[i] == (int32_t)(prev * 1000 + i % 997));
    RANK_CHECK(
        vector_finish(hoop_sendrecv_start(&out, &in, rank->comm, NULL, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(count == 0 ||
               theirs[count - 1] == (int32_t)(prev * 1000 + (count - 1) % 997));
    free(mine);
    free(theirs);
    return 0;
}

static int
sendrecv_body(struct rank *rank)
{
    static const size_t counts[] = {0, 1, 2, 16383, 65536, 1000001};

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        RANK_CHECK(rotate(rank, counts[i]) == 0);
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {
        {"examples", examples_body},   {"empty", empty_body},
        {"operators", operators_body}, {"barrier", barrier_body},
        {"batch", batch_body},         {"coalesced", coalesced_body},
        {"sendrecv", sendrecv_body},
    };

    return vectors_run(cases, COUNT_OF(cases));
}
