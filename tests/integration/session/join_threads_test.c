/*
 * tests/integration/session/join_threads_test.c - calls of several threads
 *
 * Threads of one process join, reduce and leave at the same time, each with its
 * own session, while others fail to join. All of them use what a process has
 * only once: its log, its default session, and its fork handlers.
 * ThreadSanitizer checks this. Each line of the log must be whole, and name an
 * existing speaker.
 */

#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    N_THREADS = 6,
#if defined(__SANITIZE_THREAD__)
    N_ROUNDS = 3,
#else
    N_ROUNDS = 10,
#endif
    N_ELEMENTS = 5000,
};

struct member {
    pthread_t thread;
    pthread_barrier_t *start;
    char job[32];
    uint32_t rank;
    uint32_t size;
    const char *coordinator;
    const char *codec;
    enum hoop_status expected; /* of the join */
    int result;                /* 0 if all is well */
};

static int
member_reduce(struct member *member, hoop_comm_t *world)
{
    int32_t *values = calloc(N_ELEMENTS, sizeof(*values));
    int n_wrong = 0;

    for (size_t i = 0; i < N_ELEMENTS; i++)
        values[i] = (int32_t)(member->rank + i);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, values, N_ELEMENTS, HOOP_INT32, HOOP_SUM, world);
    for (size_t i = 0; i < N_ELEMENTS; i++)
        n_wrong +=
            values[i] !=
            (int32_t)(member->size * (member->size - 1) / 2 + member->size * i);
    free(values);
    WORKER_CHECK(status == HOOP_OK && n_wrong == 0);
    return 0;
}

static int
member_live(struct member *member)
{
    const struct hoop_join_options options = {
        .coordinator = member->coordinator,
        .job = member->job,
        .token = "secret",
        .rank = &member->rank,
        .world_size = member->size,
        .codec = member->codec,
        .join_timeout_ms = member->expected == HOOP_OK ? 60000 : 500,
        .op_timeout_ms = 60000,
    };
    hoop_session_t *session = NULL;

    pthread_barrier_wait(member->start);
    const enum hoop_status status = hoop_join(&options, &session);
    WORKER_CHECK((status == HOOP_OK) == (member->expected == HOOP_OK));
    WORKER_CHECK(status == HOOP_OK || *hoop_error_text() != '\0');
    if (status != HOOP_OK)
        return 0;
    if (member_reduce(member, hoop_world(session)) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void *
member_run(void *owner)
{
    struct member *member = owner;

    member->result = member_live(member);
    return NULL;
}

/* Returns how many members failed. */
static int
members_run(struct member *members, unsigned n_members)
{
    pthread_barrier_t start;
    int n_wrong = 0;

    pthread_barrier_init(&start, NULL, n_members);
    for (unsigned i = 0; i < n_members; i++) {
        members[i].start = &start;
        if (pthread_create(&members[i].thread, NULL, member_run, &members[i]))
            abort();
    }
    for (unsigned i = 0; i < n_members; i++) {
        pthread_join(members[i].thread, NULL);
        n_wrong += members[i].result;
    }
    pthread_barrier_destroy(&start);
    return n_wrong;
}

/* The test creates the file, so that it can read what a worker wrote that has
 * ended. */
static FILE *log_file;

/* Writes the log of debug level to the file. */
static void
log_begin(void)
{
    if (setenv("HOOP_LOG", "debug", 1) != 0 ||
        setenv("HOOP_FAILURE_TIMEOUT", "30", 0) != 0 ||
        dup2(fileno(log_file), STDERR_FILENO) < 0)
        abort();
}

static int
log_check(FILE *file, unsigned n_least)
{
    char line[4096];
    regex_t pattern;
    unsigned n_named = 0;

    if (regcomp(&pattern,
                "^[0-9-]+T[0-9:.]+Z (hoop|rank [0-5]) [a-z]+ [a-z_-]+: .*\n$",
                REG_EXTENDED) != 0)
        return 1;
    rewind(file);
    while (fgets(line, sizeof(line), file)) {
        if (regexec(&pattern, line, 0, NULL, 0) != 0) {
            printf("a line of the log: %s", line);
            return 1;
        }
        n_named += strstr(line, "Z rank ") != NULL;
    }
    regfree(&pattern);
    if (n_named < n_least)
        printf("%u lines of ranks\n", n_named);
    return n_named < n_least;
}

/* All threads form one world. */
static int
one_world_body(const struct worker *worker)
{
    int n_wrong = 0;

    log_begin();
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        struct member members[N_THREADS] = {0};

        for (uint32_t i = 0; i < N_THREADS; i++) {
            members[i].rank = i;
            members[i].size = N_THREADS;
            members[i].coordinator = worker->coordinator;
            snprintf(members[i].job, sizeof(members[i].job), "one-world-%u",
                     round);
        }
        n_wrong += members_run(members, N_THREADS);
    }
    return n_wrong + log_check(log_file, N_ROUNDS);
}

/* There are two worlds of two threads each, and two threads that cannot
 * join. */
static int
several_worlds_body(const struct worker *worker)
{
    int n_wrong = 0;

    log_begin();
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        struct member members[N_THREADS] = {0};

        for (uint32_t i = 0; i < N_THREADS; i++) {
            members[i].rank = i % 2;
            members[i].size = 2;
            members[i].coordinator = worker->coordinator;
            snprintf(members[i].job, sizeof(members[i].job), "world-%u-%u",
                     round, i / 2);
        }
        members[4].coordinator = "127.0.0.1:1";
        members[4].expected = HOOP_E_UNAVAILABLE;
        members[5].codec = "nonsense";
        members[5].expected = HOOP_E_INVALID;
        n_wrong += members_run(members, N_THREADS);
    }
    return n_wrong + log_check(log_file, N_ROUNDS);
}

static pthread_barrier_t initiation;

static void *
initiate(void *owner)
{
    const struct worker *worker = owner;
    const struct hoop_join_options options = worker_options(worker);
    enum hoop_status status;

    pthread_barrier_wait(&initiation);
    status = hoop_init(&options);
    (void)hoop_default_session();
    (void)hoop_default_group();
    (void)hoop_is_initialized();
    return (void *)(uintptr_t)status;
}

/* Only one of the threads initializes. */
static int
one_thread_of_many_initializes(const struct worker *worker)
{
    pthread_t threads[N_THREADS];
    unsigned n_joined = 0;

    for (unsigned round = 0; round < N_ROUNDS; round++) {
        n_joined = 0;
        pthread_barrier_init(&initiation, NULL, N_THREADS);
        for (unsigned i = 0; i < N_THREADS; i++)
            WORKER_CHECK(pthread_create(&threads[i], NULL, initiate,
                                        (void *)(uintptr_t)worker) == 0);
        for (unsigned i = 0; i < N_THREADS; i++) {
            void *status = NULL;

            pthread_join(threads[i], &status);
            WORKER_CHECK((uintptr_t)status == HOOP_OK ||
                         (uintptr_t)status == HOOP_E_EXISTS);
            n_joined += (uintptr_t)status == HOOP_OK;
        }
        pthread_barrier_destroy(&initiation);
        WORKER_CHECK(n_joined == 1 && hoop_is_initialized());
        WORKER_CHECK(hoop_barrier(NULL) == HOOP_OK);
        hoop_shutdown();
        WORKER_CHECK(!hoop_default_session() && !hoop_default_group());
    }
    return 0;
}

static void
logged_run(worker_fn *body)
{
    char line[4096];

    log_file = tmpfile();
    assert_non_null(log_file);
    const uint32_t n_wrong = workers_run(hoopd.address, 1, body, NULL);
    rewind(log_file);
    while (n_wrong > 0 && fgets(line, sizeof(line), log_file))
        fputs(line, stderr);
    fclose(log_file);
    assert_int_equal(n_wrong, 0);
}

static void
threads_are_ranks_of_one_world(void **state)
{
    logged_run(one_world_body);
}

static void
threads_join_several_worlds_and_fail_beside(void **state)
{
    logged_run(several_worlds_body);
}

/*
 * The cases below make calls from threads with small stacks.
 *
 * Below the limit in hoop/hoop.h a call fails with a text that says how much
 * stack there is, and how much the call needs. At the limit all kinds of calls
 * must work. Each thread is checked separately.
 */

enum {
    SMALL_STACK_N_ELEMENTS = 200000,
/* Sanitizers make frames several times as large. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    SANITIZED = 1,
#else
    SANITIZED = 0,
#endif
};

struct caller {
    const struct worker *worker;
    hoop_session_t *session;
    size_t n_stack;
    const char *job; /* job that the work joins */
    int result;
};

static void *
small_run(void *owner)
{
    struct caller *caller = owner;
    hoop_comm_t *world = hoop_world(caller->session);
    hoop_comm_t *comm = NULL;
    const uint32_t both[] = {0, 1};
    int32_t x = 1;

    const enum hoop_status statuses[] = {
        hoop_barrier(world),
        hoop_allreduce(&x, &x, 1, HOOP_INT32, HOOP_SUM, world),
        hoop_send(&x, 1, HOOP_INT32, 1, 0, world),
        hoop_comm_create(caller->session, both, 2, &comm),
    };
    caller->result = strstr(hoop_error_text(), "bytes of stack left") == NULL;
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        caller->result += statuses[i] != HOOP_E_EXHAUSTED;
    return NULL;
}

/* Does what needs most stack: joining, planning, logging, combining. */
static int
work(struct caller *caller)
{
    struct hoop_join_options options = worker_options(caller->worker);
    const struct hoop_mesh_axis axes[] = {{"a", 2}, {"b", 1}};
    static float values[SMALL_STACK_N_ELEMENTS];
    static float sums[SMALL_STACK_N_ELEMENTS];
    const struct hoop_tensor whole = {
        values, HOOP_FLOAT32, {2, {500, 400}}, NULL};
    struct hoop_tensor_spec rows = {.sharding = {.dims = {{1, {0}}}}};
    struct hoop_tensor_spec columns = {
        .sharding = {.dims = {{0, {0}}, {1, {0}}}}};
    hoop_session_t *session = NULL;
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *moved = NULL;
    hoop_mesh_t *mesh = NULL;

    options.job = caller->job;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (size_t n = 1; n <= SMALL_STACK_N_ELEMENTS; n *= 7)
        WORKER_CHECK(hoop_allreduce(values, sums, n, HOOP_FLOAT32, HOOP_SUM,
                                    hoop_world(session)) == HOOP_OK);
    WORKER_CHECK(
        hoop_mesh_create(session,
                         &(struct hoop_mesh_options){.axes = axes, .n_axes = 2},
                         &mesh) == HOOP_OK);
    rows.mesh = mesh;
    columns.mesh = mesh;
    WORKER_CHECK(hoop_dtensor_from_global(&whole, &rows, &dtensor) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &columns, &moved) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_send(values, 1, HOOP_FLOAT32, 5, 0,
                           hoop_world(session)) == HOOP_E_INVALID);
    hoop_dtensor_free(dtensor);
    hoop_dtensor_free(moved);
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

static void *
work_run(void *owner)
{
    struct caller *caller = owner;

    caller->result = work(caller);
    return NULL;
}

enum {
    MARK = 0xa5,
    ROOMY = 1 << 20,
};

/* Returns how much of a stack the calls have used, by the bytes that have
 * changed. The stack grows downwards. */
static size_t
used_at_most(const uint8_t *stack)
{
    size_t n_unused = 0;

    while (n_unused < ROOMY && stack[n_unused] == MARK)
        n_unused++;
    return ROOMY - n_unused;
}

static int
work_in_bounds(struct caller *caller)
{
    pthread_attr_t attributes;
    pthread_t thread;
    uint8_t *stack = aligned_alloc(4096, ROOMY);

    WORKER_CHECK(stack);
    memset(stack, MARK, ROOMY);
    pthread_attr_init(&attributes);
    WORKER_CHECK(pthread_attr_setstack(&attributes, stack, ROOMY) == 0);
    WORKER_CHECK(pthread_create(&thread, &attributes, work_run, caller) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    const size_t n_used = used_at_most(stack);
    free(stack);
    WORKER_CHECK(caller->result == 0);
    if (n_used > LIMIT_STACK || getenv("SMALL_STACK_TELL"))
        fprintf(stderr, "calls used %zu bytes of stack\n", n_used);
    WORKER_CHECK(SANITIZED || n_used <= LIMIT_STACK);
    return 0;
}

static int
thread_run(void *(*run)(void *), struct caller *caller)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    WORKER_CHECK(pthread_attr_setstacksize(&attributes, caller->n_stack) == 0);
    WORKER_CHECK(pthread_create(&thread, &attributes, run, caller) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return caller->result;
}

static int
body(const struct worker *worker)
{
    static const size_t too_small[] = {32 << 10, 64 << 10, 128 << 10};
    const struct hoop_join_options options = worker_options(worker);
    struct caller caller = {.worker = worker, .job = "small-stacks"};

    WORKER_CHECK(hoop_join(&options, &caller.session) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(too_small); i++) {
        caller.n_stack = too_small[i];
        WORKER_CHECK(thread_run(small_run, &caller) == 0);
    }
    /* The refused calls do not count as made, so the ranks are in step. */
    WORKER_CHECK(hoop_barrier(hoop_world(caller.session)) == HOOP_OK);
    /* A thread uses some stack before its first call, which is added. */
    caller.n_stack = LIMIT_STACK + (64 << 10);
    WORKER_CHECK(SANITIZED || thread_run(work_run, &caller) == 0);
    caller.job = "marked-stacks";
    WORKER_CHECK(work_in_bounds(&caller) == 0);
    WORKER_CHECK(hoop_barrier(hoop_world(caller.session)) == HOOP_OK);
    hoop_leave(caller.session);
    return 0;
}

static void
thread_with_a_small_stack_is_told_so(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 2, body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_ranks_of_one_world),
        cmocka_unit_test(threads_join_several_worlds_and_fail_beside),
        WORKERS_TEST(one_thread_of_many_initializes, 1),
        cmocka_unit_test(thread_with_a_small_stack_is_told_so),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
