/* tests/integration/p2p/tensor_messages_test.c - tensors between processes */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "dtype/dtype.h"
#include "ranks.h"

enum {
    N_DTYPES = HOOP_BOOL + 1,
    N_SHAPES = HOOP_MAX_DIMS + 3,
    N_CASES = N_DTYPES * N_SHAPES,
    LARGE = 64 << 20,
    N_THREADS = 4,
    N_ROUNDS = 60,
};

static const struct hoop_tensor anything = {
    .shape = {.n_dims = HOOP_ANY_SHAPE}};

/* Shapes have 0 to 8 dimensions, and two of them are empty. */
static struct hoop_shape
shape_of_case(unsigned i)
{
    const unsigned k = i % N_SHAPES;
    struct hoop_shape shape = {.n_dims = k};

    if (k > HOOP_MAX_DIMS)
        return (struct hoop_shape){2, {k - HOOP_MAX_DIMS - 1, 0}};
    for (uint32_t dim = 0; dim < k; dim++)
        shape.dims[dim] = 1 + (i + dim) % 3;
    return shape;
}

static size_t
bytes_of(const struct hoop_tensor *tensor)
{
    size_t count = 0;

    if (hoop_shape_count(&tensor->shape, &count) != HOOP_OK)
        abort();
    return count * dtype_size(tensor->dtype);
}

static uint8_t
byte_of(uint32_t rank, unsigned i, size_t at)
{
    return (uint8_t)(rank * 101 + i * 7 + at * 13);
}

static struct hoop_tensor
filled(uint32_t rank, unsigned i)
{
    const struct hoop_shape shape = shape_of_case(i);
    struct hoop_tensor tensor;

    if (hoop_tensor_create((enum hoop_dtype)(i / N_SHAPES), &shape, &tensor) !=
        HOOP_OK)
        abort();
    for (size_t at = 0; at < bytes_of(&tensor); at++)
        ((uint8_t *)tensor.data)[at] = byte_of(rank, i, at);
    return tensor;
}

static bool
is_right(const struct hoop_tensor *tensor, uint32_t rank, unsigned i)
{
    const struct hoop_shape shape = shape_of_case(i);

    if (tensor->dtype != (enum hoop_dtype)(i / N_SHAPES) ||
        !hoop_shape_equal(&tensor->shape, &shape))
        return false;
    for (size_t at = 0; at < bytes_of(tensor); at++) {
        if (((uint8_t *)tensor->data)[at] != byte_of(rank, i, at))
            return false;
    }
    return true;
}

/* Returns a tensor that says what it expects, or one that accepts anything. */
static struct hoop_tensor
wanted(unsigned i, bool is_any)
{
    struct hoop_tensor tensor = anything;

    if (is_any)
        return tensor;
    tensor.dtype = (enum hoop_dtype)(i / N_SHAPES);
    tensor.shape = shape_of_case(i);
    return tensor;
}

/* Sends to the next rank, and receives from the previous one. Odd cases are
 * received late. */
static int
every_dtype_and_rank_arrives_early_and_late(struct rank *rank)
{
    const uint32_t next = (rank->rank + 1) % rank->size;
    const uint32_t prev = (rank->rank + rank->size - 1) % rank->size;
    struct hoop_tensor sent[N_CASES];
    struct hoop_tensor received[N_CASES];
    struct hoop_tensor_message early[2 * N_CASES];
    size_t n_early = 0;
    hoop_op_t *ops[2 * N_CASES];

    for (unsigned i = 0; i < N_CASES; i++) {
        sent[i] = filled(rank->rank, i);
        received[i] = wanted(i, i % 3 != 0);
        if (i % 2 == 0)
            early[n_early++] = (struct hoop_tensor_message){
                HOOP_RECV, &received[i], prev, i, &received[i]};
    }
    for (unsigned i = 0; i < N_CASES; i++)
        early[n_early++] =
            (struct hoop_tensor_message){HOOP_SEND, &sent[i], next, i, NULL};
    RANK_CHECK(hoop_batch_tensors_start(early, n_early, rank->comm, ops) ==
               HOOP_OK);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (unsigned i = 1; i < N_CASES; i += 2)
        RANK_CHECK(hoop_recv_tensor(&received[i], prev, i, rank->comm,
                                    &received[i]) == HOOP_OK);
    RANK_CHECK(hoop_wait_all(ops, n_early, HOOP_FOREVER) == HOOP_OK);
    for (unsigned i = 0; i < N_CASES; i++) {
        RANK_CHECK(is_right(&received[i], prev, i));
        hoop_tensor_free(&sent[i]);
        hoop_tensor_free(&received[i]);
    }
    return 0;
}

/* 64 MiB go in both directions, one into memory of hoop, and one into that of
 * the caller. */
static int
large_body(struct rank *rank)
{
    const struct hoop_shape shape = {3, {4, LARGE / 4096, 128}};
    const uint32_t peer = 1 - rank->rank;
    struct hoop_tensor sent;
    struct hoop_tensor received = anything;
    hoop_op_t *ops[2];

    RANK_CHECK(hoop_tensor_create(HOOP_FLOAT64, &shape, &sent) == HOOP_OK);
    if (rank->rank == 0)
        RANK_CHECK(hoop_tensor_create(HOOP_FLOAT64, &shape, &received) ==
                   HOOP_OK);
    for (size_t i = 0; i < LARGE / 8; i++)
        ((double *)sent.data)[i] = (double)i + rank->rank;
    RANK_CHECK(hoop_send_tensor_start(&sent, peer, 1, rank->comm, &ops[0]) ==
               HOOP_OK);
    RANK_CHECK(hoop_recv_tensor_start(&received, peer, 1, rank->comm, &received,
                                      &ops[1]) == HOOP_OK);
    RANK_CHECK(hoop_wait_all(ops, 2, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&received.shape, &shape));
    for (size_t i = 0; i < LARGE / 8; i++)
        RANK_CHECK(((double *)received.data)[i] == (double)i + peer);
    hoop_tensor_free(&sent);
    hoop_tensor_free(&received);
    return 0;
}

static void
large_tensors_cross(void **state)
{
    assert_int_equal(ranks_run_all(2, large_body), 0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 2, .body = large_body, .codec = "zstd"}),
                     0);
}

/* Rank 0 receives tensors of any shape from any source. */
static int
any_shape_comes_from_any_source(struct rank *rank)
{
    struct hoop_tensor tensor = anything;
    unsigned seen = 0;

    if (rank->rank > 0) {
        tensor = filled(rank->rank, 4 * N_SHAPES + rank->rank);
        RANK_CHECK(hoop_send_tensor(&tensor, 0, 3, rank->comm) == HOOP_OK);
        hoop_tensor_free(&tensor);
        return 0;
    }
    for (uint32_t i = 1; i < rank->size; i++) {
        tensor = anything;
        RANK_CHECK(hoop_recv_tensor(&tensor, HOOP_ANY_SOURCE, 3, rank->comm,
                                    &tensor) == HOOP_OK);
        const uint32_t source = tensor.shape.n_dims;
        RANK_CHECK(is_right(&tensor, source, 4 * N_SHAPES + source));
        seen |= 1U << source;
        hoop_tensor_free(&tensor);
    }
    RANK_CHECK(seen == (1U << rank->size) - 2);
    return 0;
}

/* Both ranks send at the same time, small and large tensors, and both learn
 * both shapes. A small send may have returned already; then the next call
 * reports the failure. */
static int
wrong_shapes_are_told_to_both(struct rank *rank)
{
    static float values[60000];
    const uint32_t peer = 1 - rank->rank;

    for (unsigned i = 0; i < 2; i++) {
        const size_t n = i == 0 ? 4 : 30000;
        struct hoop_tensor sent = {values, HOOP_FLOAT32, {2, {n, 2}}, NULL};
        struct hoop_tensor other = {NULL, HOOP_FLOAT32, {2, {2, n}}, NULL};
        char text[32];
        hoop_op_t *op = NULL;

        snprintf(text, sizeof(text), "(float32 [%zu, 2])", n);
        RANK_CHECK(hoop_send_tensor_start(&sent, peer, i, rank->comm, &op) ==
                   HOOP_OK);
        RANK_CHECK(hoop_recv_tensor(&other, peer, i, rank->comm, &other) ==
                   HOOP_E_MISMATCH);
        RANK_CHECK(strstr(hoop_error_text(), text));
        RANK_CHECK(!other.data);
        const bool is_told = strstr(hoop_error_text(), "an earlier call");
        const enum hoop_status sent_status = hoop_wait(op, HOOP_FOREVER);
        RANK_CHECK(sent_status == HOOP_OK || strstr(hoop_error_text(), text));
        /* The verdict arrives before the peer's part of this barrier. */
        const enum hoop_status next_status = hoop_barrier(rank->comm);
        RANK_CHECK(next_status == HOOP_OK || strstr(hoop_error_text(), text));
        RANK_CHECK(sent_status + next_status ==
                   (is_told ? HOOP_OK : HOOP_E_MISMATCH));
    }
    return 0;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
/* Sanitizers map terabytes themselves, and end a program that gets no
 * memory. */
static void
memory_limit(void)
{
}
static const size_t too_large = ((size_t)1 << 40) + 1;
#else
static void
memory_limit(void)
{
    const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};

    setrlimit(RLIMIT_AS, &limit);
}
static const size_t too_large = (size_t)1 << 33;
#endif

/* The sender has begun to send when the receiver finds no memory. The remaining
 * bytes are never read, and the pair remains usable. */
static int
lack_of_memory_is_told_to_both(struct rank *rank)
{
    static uint8_t begin[LIMIT_EAGER_MESSAGE];
    struct hoop_tensor tensor = {begin, HOOP_UINT8, {1, {too_large}}, NULL};
    int32_t value = 1;

    if (rank->rank == 1) {
        RANK_CHECK(hoop_send_tensor(&tensor, 0, 0, rank->comm) ==
                   HOOP_E_EXHAUSTED);
    } else {
        memory_limit();
        tensor = anything;
        RANK_CHECK(hoop_recv_tensor(&tensor, 1, 0, rank->comm, &tensor) ==
                   HOOP_E_EXHAUSTED);
        RANK_CHECK(!tensor.data && tensor.shape.n_dims == HOOP_ANY_SHAPE);
    }
    RANK_CHECK(strstr(hoop_error_text(), "has no room"));
    RANK_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT32, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(value == 2);
    return 0;
}

/* Rank 1 dies before it sends, and in a second run while it sends. */
static int
killed_body(struct rank *rank)
{
    const size_t n_bytes = (size_t)256 << 20;
    struct hoop_tensor tensor = anything;
    hoop_op_t *op = NULL;

    /* The ranks are connected now. Without a coordinator, a death is only
     * noticed on a connection. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 0) {
        RANK_CHECK(hoop_recv_tensor_start(&tensor, 1, 0, rank->comm, &tensor,
                                          &op) == HOOP_OK);
        room_add(rank, 0);
        RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_E_PEER_LOST);
        RANK_CHECK(strstr(hoop_error_text(), "rank 1"));
        RANK_CHECK(!tensor.data);
        return 0;
    }
    room_await(rank, 0, 1);
    if (rank->input) {
        tensor.dtype = HOOP_UINT8;
        tensor.shape = (struct hoop_shape){1, {n_bytes}};
        tensor.data = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        RANK_CHECK(tensor.data != MAP_FAILED);
        RANK_CHECK(hoop_send_tensor_start(&tensor, 0, 0, rank->comm, &op) ==
                   HOOP_OK);
        RANK_CHECK(hoop_wait(op, 3) == HOOP_E_PENDING);
    }
    kill(getpid(), SIGKILL);
    return 1;
}

static void
death_of_the_sender_hands_out_nothing(void **state)
{
    assert_int_equal(ranks_run_all(2, killed_body), 0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 2, .body = killed_body, .input = ""}),
                     0);
}

/* The tags differ, so both calls time out. Afterwards a message with the same
 * tag arrives. */
static int
deadline_hands_out_nothing(struct rank *rank)
{
    static double values[1 << 16];
    struct hoop_tensor sent = {values, HOOP_FLOAT64, {1, {1 << 16}}, NULL};
    struct hoop_tensor received = anything;

    hoop_comm_set_timeout(rank->comm, 30);
    if (rank->rank == 0)
        RANK_CHECK(hoop_recv_tensor(&received, 1, 1, rank->comm, &received) ==
                   HOOP_E_TIMEOUT);
    else
        RANK_CHECK(hoop_send_tensor(&sent, 0, 2, rank->comm) == HOOP_E_TIMEOUT);
    RANK_CHECK(!received.data);
    RANK_CHECK(strstr(hoop_error_text(), "_tensor"));
    hoop_comm_set_timeout(rank->comm, 20000);
    values[7] = 3;
    if (rank->rank == 1) {
        RANK_CHECK(hoop_send_tensor(&sent, 0, 3, rank->comm) == HOOP_OK);
        return 0;
    }
    RANK_CHECK(hoop_recv_tensor(&received, 1, 3, rank->comm, &received) ==
               HOOP_OK);
    RANK_CHECK(((double *)received.data)[7] == 3);
    hoop_tensor_free(&received);
    return 0;
}

struct worker {
    pthread_t thread;
    struct rank *rank;
    int64_t tag;
    int outcome;
};

static int
exchange(const struct worker *worker, unsigned i)
{
    struct rank *rank = worker->rank;
    const uint32_t peer = 1 - rank->rank;
    struct hoop_tensor sent = filled(rank->rank, i);
    struct hoop_tensor received = anything;
    struct hoop_tensor_message messages[2] = {
        {HOOP_SEND, &sent, peer, worker->tag, NULL},
        {HOOP_RECV, &received, peer, worker->tag, &received},
    };

    RANK_CHECK(hoop_batch_tensors(messages, 2, rank->comm) == HOOP_OK);
    RANK_CHECK(is_right(&received, peer, i));
    hoop_tensor_free(&sent);
    hoop_tensor_free(&received);
    return 0;
}

static void *
worker_main(void *owner)
{
    struct worker *worker = owner;

    for (unsigned i = 0; i < N_ROUNDS && worker->outcome == 0; i++)
        worker->outcome =
            exchange(worker, (unsigned)(i * 37 + worker->tag) % N_CASES);
    return NULL;
}

static int
threads_exchange_any_shapes_at_once(struct rank *rank)
{
    struct worker workers[N_THREADS];

    for (unsigned i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.rank = rank, .tag = i};
        RANK_CHECK(pthread_create(&workers[i].thread, NULL, worker_main,
                                  &workers[i]) == 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        RANK_CHECK(workers[i].outcome == 0);
    }
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(every_dtype_and_rank_arrives_early_and_late, 1, 4),
        cmocka_unit_test(large_tensors_cross),
        RANKS_TEST(any_shape_comes_from_any_source, 4, 4),
        RANKS_TEST(wrong_shapes_are_told_to_both, 2, 2),
        RANKS_TEST(lack_of_memory_is_told_to_both, 2, 2),
        cmocka_unit_test(death_of_the_sender_hands_out_nothing),
        RANKS_TEST(deadline_hands_out_nothing, 2, 2),
        RANKS_TEST(threads_exchange_any_shapes_at_once, 2, 2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
