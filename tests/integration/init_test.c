/* tests/integration/init_test.c - the process's default session and group */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "daemon.h"
#include "workers.h"

enum {
    CHILD_SECONDS_MAX = 30,
    N_THREADS = 2, /* which are sure to run at once */
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
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 2, life_body, NULL), 0);
}

static int
failure_body(const struct worker *worker)
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

static void
init_that_failed_may_be_tried_again(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 1, failure_body, NULL), 0);
}

/* What several threads do at once. */
struct crowd {
    const struct worker *worker;
    atomic_uint n_waiting;
    atomic_uint n_wrong;
    atomic_uint n_joined;
};

/* Awake, so that they go on at the same moment. */
static void
crowd_meet(struct crowd *crowd)
{
    atomic_fetch_sub(&crowd->n_waiting, 1);
    while (atomic_load(&crowd->n_waiting) > 0)
        continue;
}

static void *
shutdown_at_once(void *owner)
{
    struct crowd *crowd = owner;

    crowd_meet(crowd);
    hoop_shutdown();
    /* It may be under way in another thread. */
    crowd->n_wrong += hoop_is_initialized();
    return NULL;
}

static void *
init_and_shutdown(void *owner)
{
    struct crowd *crowd = owner;
    const struct hoop_join_options options = worker_options(crowd->worker);

    crowd_meet(crowd);
    for (int i = 0; i < N_ROUNDS; i++) {
        const enum hoop_status status = hoop_init(&options);

        crowd->n_joined += status == HOOP_OK;
        crowd->n_wrong += status != HOOP_OK && status != HOOP_E_EXISTS;
        hoop_shutdown();
    }
    return NULL;
}

static int
crowd_run(struct crowd *crowd, void *(*run)(void *))
{
    pthread_t threads[N_THREADS];

    atomic_store(&crowd->n_waiting, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        WORKER_CHECK(pthread_create(&threads[i], NULL, run, crowd) == 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    WORKER_CHECK(crowd->n_wrong == 0);
    WORKER_CHECK(nothing_is_there() == 0);
    return 0;
}

static int
shutdown_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    struct crowd crowd = {.worker = worker};

    alarm(CHILD_SECONDS_MAX);
    for (int i = 0; i < N_ROUNDS; i++) {
        WORKER_CHECK(hoop_init(&options) == HOOP_OK);
        WORKER_CHECK(crowd_run(&crowd, shutdown_at_once) == 0);
    }
    return 0;
}

static void
shutdown_by_many_threads_leaves_once(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 1, shutdown_body, NULL), 0);
}

static int
mixed_body(const struct worker *worker)
{
    struct crowd crowd = {.worker = worker};

    alarm(CHILD_SECONDS_MAX);
    WORKER_CHECK(crowd_run(&crowd, init_and_shutdown) == 0);
    WORKER_CHECK(crowd.n_joined > 0);
    return life_body(worker);
}

static void
shutdown_beside_init_leaves_each_session_once(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 1, mixed_body, NULL), 0);
}

/* In the child the parent's session is no use, but it may have its own. */
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
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    /* The one does not let the child of a process with threads start any; the
     * other's allocator may be locked for ever in it. */
    skip();
#endif
    assert_int_equal(workers_run(hoopd.address, 1, fork_body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_is_once_until_shutdown),
        cmocka_unit_test(init_that_failed_may_be_tried_again),
        cmocka_unit_test(shutdown_by_many_threads_leaves_once),
        cmocka_unit_test(shutdown_beside_init_leaves_each_session_once),
        cmocka_unit_test(child_shuts_down_and_begins_anew),
    };
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
