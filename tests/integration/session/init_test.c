/* tests/integration/session/init_test.c - the default session and group */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    CHILD_SECONDS_MAX = 30,
    N_THREADS = 2, /* that certainly run at the same time */
    N_ROUNDS = 32,
};

static int
nothing_is_there(void)
{
    WORKER_CHECK(!hoop_is_initialized());
    WORKER_CHECK(!hoop_default_session());
    WORKER_CHECK(!hoop_default_group());
    hoop_shutdown();
    return 0;
}

static int
default_group_works(const struct worker *worker)
{
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(hoop_is_initialized());
    WORKER_CHECK(hoop_group_size(hoop_default_group()) == worker->n_workers);
    WORKER_CHECK(hoop_group_global_comm(hoop_default_group(), &comm) ==
                 HOOP_OK);
    WORKER_CHECK(worker_allreduce(comm, 1000) == 0);
    WORKER_CHECK(worker_allreduce(hoop_world(hoop_default_session()), 10) == 0);
    return 0;
}

static int
life_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);

    WORKER_CHECK(nothing_is_there() == 0);
    for (int i = 0; i < 2; i++) {
        WORKER_CHECK(hoop_init(&options) == HOOP_OK);
        WORKER_CHECK(hoop_init(&options) == HOOP_E_EXISTS);
        WORKER_CHECK(strstr(hoop_error_text(), "once per process"));
        WORKER_CHECK(default_group_works(worker) == 0);
        hoop_shutdown();
        WORKER_CHECK(nothing_is_there() == 0);
    }
    return 0;
}

static void
init_is_once_until_shutdown(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 2, life_body, NULL), 0);
}

static int
init_that_failed_may_be_tried_again(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);

    options.coordinator = "127.0.0.1:1";
    options.join_timeout_ms = 100;
    WORKER_CHECK(hoop_init(&options) != HOOP_OK);
    WORKER_CHECK(nothing_is_there() == 0);
    options = worker_options(worker);
    WORKER_CHECK(hoop_init(&options) == HOOP_OK);
    hoop_shutdown();
    return 0;
}

/* What several threads share. */
struct coordinator_clients {
    const struct worker *worker;
    atomic_uint n_waiting;
    atomic_uint n_wrong;
    atomic_uint n_joined;
};

/* The threads spin, so that they continue at the same moment. */
static void
coordinator_clients_meet(struct coordinator_clients *coordinator_clients)
{
    atomic_fetch_sub(&coordinator_clients->n_waiting, 1);
    while (atomic_load(&coordinator_clients->n_waiting) > 0)
        continue;
}

static void *
shutdown_at_once(void *owner)
{
    struct coordinator_clients *coordinator_clients = owner;

    coordinator_clients_meet(coordinator_clients);
    hoop_shutdown();
    /* Another thread may be initializing at the moment. */
    coordinator_clients->n_wrong += hoop_is_initialized();
    return NULL;
}

static void *
init_and_shutdown(void *owner)
{
    struct coordinator_clients *coordinator_clients = owner;
    const struct hoop_join_options options =
        worker_options(coordinator_clients->worker);

    coordinator_clients_meet(coordinator_clients);
    for (int i = 0; i < N_ROUNDS; i++) {
        const enum hoop_status status = hoop_init(&options);

        coordinator_clients->n_joined += status == HOOP_OK;
        coordinator_clients->n_wrong +=
            status != HOOP_OK && status != HOOP_E_EXISTS;
        hoop_shutdown();
    }
    return NULL;
}

static int
crowd_run(struct coordinator_clients *coordinator_clients, void *(*run)(void *))
{
    pthread_t threads[N_THREADS];

    atomic_store(&coordinator_clients->n_waiting, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        WORKER_CHECK(
            pthread_create(&threads[i], NULL, run, coordinator_clients) == 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    WORKER_CHECK(coordinator_clients->n_wrong == 0);
    WORKER_CHECK(nothing_is_there() == 0);
    return 0;
}

static int
shutdown_by_many_threads_leaves_once(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    struct coordinator_clients coordinator_clients = {.worker = worker};

    alarm(CHILD_SECONDS_MAX);
    for (int i = 0; i < N_ROUNDS; i++) {
        WORKER_CHECK(hoop_init(&options) == HOOP_OK);
        WORKER_CHECK(crowd_run(&coordinator_clients, shutdown_at_once) == 0);
    }
    return 0;
}

static int
shutdown_beside_init_leaves_each_session_once(const struct worker *worker)
{
    struct coordinator_clients coordinator_clients = {.worker = worker};

    alarm(CHILD_SECONDS_MAX);
    WORKER_CHECK(crowd_run(&coordinator_clients, init_and_shutdown) == 0);
    WORKER_CHECK(coordinator_clients.n_joined > 0);
    return life_body(worker);
}

/* A child cannot use the parent's session, but can have its own. */
static int
fork_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    int how = -1;

    WORKER_CHECK(hoop_init(&options) == HOOP_OK);
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS_MAX);
        hoop_shutdown();
        options.job = "child";
        const enum hoop_status status = hoop_init(&options);
        hoop_shutdown();
        _exit(status == HOOP_OK ? 0 : 1);
    }
    WORKER_CHECK(waitpid(child, &how, 0) == child && how == 0);
    WORKER_CHECK(default_group_works(worker) == 0);
    hoop_shutdown();
    return 0;
}

static void
child_shuts_down_and_begins_anew(void **state)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    /* TSan does not allow new threads in the child of a process with threads.
     * The allocator of ASan may be locked forever in the child. */
    skip();
#endif
    assert_int_equal(workers_run(hoopd.address, 1, fork_body, NULL), 0);
}

/*
 * The cases below make calls without a communicator.
 *
 * There are 1, 2, 3 and 4 processes that call hoop_init(). Each collective and
 * message with NULL must give the result of the worked examples. NULL stands
 * for the communicator of the default group. Without a default group NULL is
 * refused at once.
 */

enum {
    LARGEST = 4,
    PAIR = 2,
    ALL = PAIR * LARGEST,
};

/* Each rank has the two numbers 1 + 2 rank and 2 + 2 rank. */
static int64_t
value_of(uint32_t rank, size_t i)
{
    return 1 + 2 * (int64_t)rank + (int64_t)i;
}

static int64_t
sum_of(uint32_t size, size_t i)
{
    int64_t sum = 0;

    for (uint32_t rank = 0; rank < size; rank++)
        sum += value_of(rank, i);
    return sum;
}

/* Row r of a rank's table is for rank r. */
static int64_t
cell_of(uint32_t rank, uint32_t row, size_t i)
{
    return 100 * (int64_t)rank + 10 * (int64_t)row + (int64_t)i;
}

struct values {
    int64_t own[PAIR];
    int64_t table[ALL];
    int64_t got[ALL];
};

static void
values_fill(struct values *values, uint32_t rank, uint32_t size)
{
    memset(values, 0xff, sizeof(*values));
    for (size_t i = 0; i < PAIR; i++) {
        values->own[i] = value_of(rank, i);
        for (uint32_t row = 0; row < size; row++)
            values->table[row * PAIR + i] = cell_of(rank, row, i);
    }
}

static int
reductions(uint32_t rank, uint32_t size)
{
    struct values v;

    values_fill(&v, rank, size);
    WORKER_CHECK(hoop_allreduce(v.own, v.got, PAIR, HOOP_INT64, HOOP_SUM,
                                NULL) == HOOP_OK);
    WORKER_CHECK(v.got[0] == sum_of(size, 0) && v.got[1] == sum_of(size, 1));
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, v.own, PAIR, HOOP_INT64,
                                HOOP_MAX, NULL) == HOOP_OK);
    WORKER_CHECK(v.own[0] == value_of(size - 1, 0));
    values_fill(&v, rank, size);
    WORKER_CHECK(hoop_reduce(v.own, v.got, PAIR, HOOP_INT64, HOOP_SUM, size - 1,
                             NULL) == HOOP_OK);
    WORKER_CHECK(v.got[1] == (rank == size - 1 ? sum_of(size, 1) : -1));
    WORKER_CHECK(hoop_reduce(HOOP_IN_PLACE, v.own, PAIR, HOOP_INT64, HOOP_SUM,
                             0, NULL) == HOOP_OK);
    WORKER_CHECK(v.own[0] == (rank == 0 ? sum_of(size, 0) : value_of(rank, 0)));
    WORKER_CHECK(hoop_reduce_scatter(v.table, v.got, PAIR, HOOP_INT64, HOOP_MAX,
                                     NULL) == HOOP_OK);
    WORKER_CHECK(v.got[1] == cell_of(size - 1, rank, 1));
    WORKER_CHECK(hoop_reduce_scatter(HOOP_IN_PLACE, v.table, PAIR, HOOP_INT64,
                                     HOOP_MIN, NULL) == HOOP_OK);
    WORKER_CHECK(v.table[0] == cell_of(0, rank, 0));
    WORKER_CHECK(hoop_scan(v.own, v.got, 1, HOOP_INT64, HOOP_MIN, NULL) ==
                 HOOP_OK);
    return 0;
}

static int
movements(uint32_t rank, uint32_t size)
{
    struct values v;

    values_fill(&v, rank, size);
    WORKER_CHECK(hoop_broadcast(v.own, v.got, PAIR, HOOP_INT64, size - 1,
                                NULL) == HOOP_OK);
    WORKER_CHECK(v.got[0] == value_of(size - 1, 0));
    WORKER_CHECK(hoop_allgather(v.own, v.got, PAIR, HOOP_INT64, NULL) ==
                 HOOP_OK);
    for (uint32_t s = 0; s < size; s++)
        WORKER_CHECK(v.got[s * PAIR + 1] == value_of(s, 1));
    values_fill(&v, rank, size);
    WORKER_CHECK(hoop_gather(v.own, v.got, PAIR, HOOP_INT64, 0, NULL) ==
                 HOOP_OK);
    for (uint32_t s = 0; s < size; s++)
        WORKER_CHECK(v.got[s * PAIR] == (rank == 0 ? value_of(s, 0) : -1));
    WORKER_CHECK(hoop_scatter(v.table, v.got, PAIR, HOOP_INT64, size - 1,
                              NULL) == HOOP_OK);
    WORKER_CHECK(v.got[0] == cell_of(size - 1, rank, 0));
    WORKER_CHECK(hoop_alltoall(v.table, v.got, PAIR, HOOP_INT64, NULL) ==
                 HOOP_OK);
    for (uint32_t s = 0; s < size; s++)
        WORKER_CHECK(v.got[s * PAIR + 1] == cell_of(s, rank, 1));
    WORKER_CHECK(hoop_alltoall(HOOP_IN_PLACE, v.table, PAIR, HOOP_INT64,
                               NULL) == HOOP_OK);
    WORKER_CHECK(memcmp(v.table, v.got, size * PAIR * sizeof(v.got[0])) == 0);
    WORKER_CHECK(hoop_barrier(NULL) == HOOP_OK);
    return 0;
}

/* Each rank sends to the next one, and receives from the previous one. */
static int
messages(uint32_t rank, uint32_t size)
{
    const uint32_t next = (rank + 1) % size;
    const uint32_t prev = (rank + size - 1) % size;
    struct hoop_received received = {.source = size};
    struct values v;
    hoop_op_t *op = NULL;

    values_fill(&v, rank, size);
    WORKER_CHECK(hoop_send_start(v.own, PAIR, HOOP_INT64, next, 7, NULL, &op) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_recv(v.got, PAIR, HOOP_INT64, prev, 7, NULL, &received) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(received.source == prev && v.got[1] == value_of(prev, 1));

    const struct hoop_message pair[] = {
        {HOOP_SEND, v.own, PAIR, HOOP_INT64, next, 8, NULL},
        {HOOP_RECV, v.got, PAIR, HOOP_INT64, prev, 8, NULL}};
    WORKER_CHECK(hoop_sendrecv(&pair[0], &pair[1], NULL, &received) == HOOP_OK);
    WORKER_CHECK(hoop_batch(pair, 2, NULL) == HOOP_OK);
    WORKER_CHECK(v.got[0] == value_of(prev, 0));

    struct hoop_tensor mine = {v.own, HOOP_INT64, {1, {PAIR}}, NULL};
    struct hoop_tensor theirs = {v.got, HOOP_INT64, {1, {PAIR}}, NULL};
    const struct hoop_tensor_message tensors[] = {
        {HOOP_SEND, &mine, next, 9, NULL}, {HOOP_RECV, &theirs, prev, 9, NULL}};
    WORKER_CHECK(hoop_batch_tensors(tensors, 2, NULL) == HOOP_OK);
    WORKER_CHECK(hoop_send_tensor_start(&mine, next, 9, NULL, &op) == HOOP_OK);
    WORKER_CHECK(hoop_recv_tensor(&theirs, prev, 9, NULL, NULL) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(v.got[1] == value_of(prev, 1));
    return 0;
}

static int
others(uint32_t rank, uint32_t size)
{
    const struct hoop_shape shape = {2, {1, PAIR}};
    struct hoop_piece piece = {.count = PAIR};
    struct hoop_objects objects;
    struct values v;
    void *bytes = NULL;
    size_t n_bytes = 0;

    values_fill(&v, rank, size);
    WORKER_CHECK(hoop_broadcast_object(rank == 0 ? "state" : NULL,
                                       rank == 0 ? 5 : 0, &bytes, &n_bytes, 0,
                                       NULL) == HOOP_OK);
    WORKER_CHECK(n_bytes == 5 && (rank == 0 || memcmp(bytes, "state", 5) == 0));
    hoop_object_free(bytes);
    WORKER_CHECK(hoop_allgather_object(v.own, rank, &objects, NULL) == HOOP_OK);
    WORKER_CHECK(objects.n_objects == size &&
                 objects.objects[size - 1].n_bytes == size - 1);
    hoop_objects_free(&objects);
    piece.send = v.own;
    piece.recv = v.got;
    WORKER_CHECK(hoop_allreduce_coalesced(&piece, 1, HOOP_INT64, HOOP_SUM,
                                          NULL) == HOOP_OK);
    WORKER_CHECK(v.got[1] == sum_of(size, 1));
    WORKER_CHECK(hoop_allgather_dim(v.own, v.got, &shape, 1, HOOP_INT64,
                                    NULL) == HOOP_OK);
    WORKER_CHECK(v.got[PAIR * (size - 1)] == value_of(size - 1, 0));
    return 0;
}

/* Calls are in one order, whether they name the communicator or pass NULL. */
static int
is_the_groups_own(uint32_t rank, uint32_t size)
{
    hoop_comm_t *comm = NULL;
    hoop_op_t *ops[3];
    int64_t sums[3];
    const int64_t mine = value_of(rank, 0);

    WORKER_CHECK(hoop_group_global_comm(hoop_default_group(), &comm) ==
                 HOOP_OK);
    for (size_t i = 0; i < 3; i++) {
        hoop_comm_t *either = (i + rank) % 2 == 0 ? comm : NULL;

        WORKER_CHECK(hoop_allreduce_start(&mine, &sums[i], 1, HOOP_INT64,
                                          i == 1 ? HOOP_MAX : HOOP_SUM, either,
                                          &ops[i]) == HOOP_OK);
    }
    WORKER_CHECK(hoop_wait_all(ops, 3, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(sums[0] == sum_of(size, 0) && sums[2] == sums[0]);
    WORKER_CHECK(sums[1] == value_of(size - 1, 0));
    return 0;
}

static int
body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const uint32_t rank = worker->index;
    const uint32_t size = worker->n_workers;

    WORKER_CHECK(hoop_init(&options) == HOOP_OK);
    if (reductions(rank, size) || movements(rank, size) ||
        messages(rank, size) || others(rank, size) ||
        is_the_groups_own(rank, size))
        return 1;
    hoop_shutdown();
    WORKER_CHECK(hoop_barrier(NULL) == HOOP_E_INVALID);
    return 0;
}

static void
null_is_the_default_groups_global_communicator(void **state)
{
    for (uint32_t size = 1; size <= LARGEST; size++)
        assert_int_equal(workers_run(hoopd.address, size, body, NULL), 0);
}

/* The first call of each rank forms the group: a started call, a message, or a
 * retried call. */
static int
a_retried_call_takes_the_default_group_too(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const int64_t mine = value_of(worker->index, 0);
    int64_t sum = 0;

    WORKER_CHECK(setenv("HOOP_ON_FAILURE", "retry", 1) == 0);
    WORKER_CHECK(hoop_init(&options) == HOOP_OK);
    WORKER_CHECK(hoop_allreduce(&mine, &sum, 1, HOOP_INT64, HOOP_SUM, NULL) ==
                 HOOP_OK);
    WORKER_CHECK(sum == sum_of(worker->n_workers, 0));
    hoop_op_t *op = NULL;
    WORKER_CHECK(hoop_barrier_start(NULL, &op) == HOOP_E_UNIMPLEMENTED);
    hoop_shutdown();
    return 0;
}

static void
null_without_a_default_group_is_refused(void **state)
{
    int64_t x = 1;
    hoop_op_t *op = NULL;

    assert_int_equal(hoop_allreduce(&x, &x, 1, HOOP_INT64, HOOP_SUM, NULL),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "hoop_init()"));
    assert_int_equal(hoop_barrier_start(NULL, &op), HOOP_E_INVALID);
    assert_int_equal(hoop_send(&x, 1, HOOP_INT64, 0, 0, NULL), HOOP_E_INVALID);
    assert_null(op);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_is_once_until_shutdown),
        WORKERS_TEST(init_that_failed_may_be_tried_again, 1),
        WORKERS_TEST(shutdown_by_many_threads_leaves_once, 1),
        WORKERS_TEST(shutdown_beside_init_leaves_each_session_once, 1),
        cmocka_unit_test(child_shuts_down_and_begins_anew),
        cmocka_unit_test(null_is_the_default_groups_global_communicator),
        WORKERS_TEST(a_retried_call_takes_the_default_group_too, 2),
        cmocka_unit_test(null_without_a_default_group_is_refused),
    };
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
