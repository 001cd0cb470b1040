/*
 * tests/integration/join_threads_test.c - sessions of several threads at once
 *
 * Threads of one process join, reduce and leave at the same time, each with a
 * session of its own, while others fail to join. What a process has once (its
 * log, its default session, what a fork must know) is used by all of them:
 * ThreadSanitizer watches. Each line of the log is whole, and its speaker is one
 * that there is.
 */

#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "workers.h"

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
    int result;                /* 0: all is well */
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

/* Returns how many went wrong. */
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

/* Made by the test, so that it can tell what a worker wrote that ended. */
static FILE *log_file;

/* The log of debug level, to the file. */
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

/* All threads are one world. */
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

/* Two worlds of two threads each, and two threads that cannot join. */
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

/* One of the threads joins. */
static int
init_body(const struct worker *worker)
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
    (void)state;
    logged_run(one_world_body);
}

static void
threads_join_several_worlds_and_fail_beside(void **state)
{
    (void)state;
    logged_run(several_worlds_body);
}

static void
one_thread_of_many_initializes(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 1, init_body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_ranks_of_one_world),
        cmocka_unit_test(threads_join_several_worlds_and_fail_beside),
        cmocka_unit_test(one_thread_of_many_initializes),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
