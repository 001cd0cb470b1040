/* tests/integration/retry_test.c - calls that end well though ranks die */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "retry_case.h"

/* Eight ranks are too many for a sanitizer: scenes that stand last. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t N_LARGE_LEFT_OUT = 1;
#else
static const size_t N_LARGE_LEFT_OUT = 0;
#endif

static void
scenes_play(const struct retry_scene *scenes, size_t n_scenes, uint32_t n_dead)
{
    for (size_t i = 0; i < n_scenes; i++) {
        const uint32_t n_through = retry_scene_play(&scenes[i]);

        if (n_through != scenes[i].n_workers - n_dead)
            fail_msg("%u workers made all calls (%s)", n_through,
                     scenes[i].faults);
    }
}

static void
nobody_dies(void **state)
{
    (void)state;
    scenes_play(&(struct retry_scene){3, ""}, 1, 0);
}

static void
one_dies_wherever_it_is(void **state)
{
    static const struct retry_scene scenes[] = {
        {3, "rank=1,op=allreduce,seq=3,at=send,do=kill"},
        {3, "rank=2,op=broadcast,seq=2,do=kill"},
        {4, "rank=3,op=reduce_scatter,seq=2,at=receive,do=kill"},
        {4, "rank=1,op=allgather,seq=3,at=begin,do=kill"},
        {8, "rank=5,op=allreduce,seq=9,at=receive,do=kill"},
    };

    (void)state;
    scenes_play(scenes, COUNT_OF(scenes) - N_LARGE_LEFT_OUT, 1);
}

static void
first_rank_dies(void **state)
{
    static const struct retry_scene scenes[] = {
        {3, "rank=0,op=allreduce,seq=5,at=end,do=kill"},
        {4, "rank=0,op=broadcast,seq=2,at=begin,do=kill"},
        {4, "rank=0,op=reduce,seq=1,at=end,do=kill"},
    };

    (void)state;
    scenes_play(scenes, COUNT_OF(scenes), 1);
}

static void
two_die_one_after_another(void **state)
{
    static const struct retry_scene scenes[] = {
        {4, "rank=3,op=allreduce,seq=5,at=send,do=kill;"
            "rank=0,op=allreduce,seq=9,at=end,do=kill"},
        {4, "rank=1,op=allreduce,seq=4,at=begin,do=kill;"
            "rank=2,op=broadcast,seq=2,do=kill"},
        {3, "rank=1,op=allreduce,seq=3,at=begin,do=kill;"
            "rank=0,op=barrier,seq=1,at=begin,do=kill"},
        {8, "rank=7,op=allreduce,seq=7,at=send,do=kill;"
            "rank=4,op=allreduce,seq=8,at=receive,do=kill"},
    };

    (void)state;
    scenes_play(scenes, COUNT_OF(scenes) - N_LARGE_LEFT_OUT, 2);
}

/* Over sockets two of four have the sum of the call before, and are in a
 * broadcast of the dead rank, when the third, which lacks it, finds out. */
static void
root_dies_between_two_calls(void **state)
{
    static const struct retry_scene scene = {
        4, "rank=0,op=allreduce,seq=6,round=2,at=send,do=kill"};

    (void)state;
    assert_int_equal(setenv("HOOP_TRANSPORT", "tcp", 1), 0);
    scenes_play(&scene, 1, 1);
    assert_int_equal(unsetenv("HOOP_TRANSPORT"), 0);
}

static uint64_t chance;

static uint32_t
chance_draw(uint32_t n)
{
    chance = chance * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(chance >> 33) % n;
}

/* Another rank of all that die, wherever; or nowhere, when it is never there. */
static void
deaths_draw(char *text, size_t n_bytes, uint32_t n_workers)
{
    static const char *const ops[] = {"allreduce", "allreduce", "allgather",
                                      "reduce_scatter", "reduce"};
    static const char *const places[] = {"begin", "send", "receive", "end"};
    const uint32_t n_deaths = 1 + chance_draw(n_workers - 1);
    const uint32_t first = chance_draw(n_workers);
    size_t n_written = 0;

    for (uint32_t i = 0; i < n_deaths; i++)
        n_written += (size_t)snprintf(
            text + n_written, n_bytes - n_written,
            "%srank=%u,op=%s,seq=%u,at=%s,do=kill", i > 0 ? ";" : "",
            (first + i) % n_workers, ops[chance_draw(COUNT_OF(ops))],
            1 + chance_draw(12), places[chance_draw(COUNT_OF(places))]);
}

/* RETRY_ROUNDS of RETRY_SEED, for more of them. */
static void
some_die_by_chance(void **state)
{
    static const uint32_t sizes[] = {3, 4, 8};
    const char *rounds = getenv("RETRY_ROUNDS");
    const char *seed = getenv("RETRY_SEED");
    const unsigned n_rounds = rounds ? (unsigned)atoi(rounds) : 2;
    char text[1024];

    (void)state;
    chance = seed ? strtoull(seed, NULL, 10) : 1;
    for (unsigned i = 0; i < n_rounds; i++) {
        const uint32_t n_workers =
            sizes[i % (COUNT_OF(sizes) - N_LARGE_LEFT_OUT)];

        deaths_draw(text, sizeof(text), n_workers);
        assert_true(retry_scene_play(&(struct retry_scene){n_workers, text}) >=
                    1);
    }
}

/* What is only started cannot be done again; what the library makes for its own
 * use ends as ever. */
static int
apart_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *part = NULL;
    hoop_op_t *op = NULL;
    int64_t value = 1;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_allreduce_start(&value, HOOP_IN_PLACE, 1, HOOP_INT64,
                                      HOOP_SUM, world,
                                      &op) == HOOP_E_UNIMPLEMENTED);
    WORKER_CHECK(strstr(hoop_error_text(), "HOOP_ON_FAILURE=retry"));
    WORKER_CHECK(hoop_barrier_start(world, &op) == HOOP_E_UNIMPLEMENTED);
    WORKER_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT64, HOOP_SUM,
                                NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_allreduce(NULL, &value, 1, HOOP_INT64, HOOP_SUM, world) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_split(world, worker->index % 2, 0, &part) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT64, HOOP_SUM,
                                part) == HOOP_OK);
    WORKER_CHECK(value == hoop_comm_size(part));
    /* Who calls another thing is told, as all are. */
    const enum hoop_status status =
        worker->index == 1 ? hoop_barrier(world)
                           : hoop_allreduce(&value, HOOP_IN_PLACE, 1,
                                            HOOP_INT64, HOOP_SUM, world);
    WORKER_CHECK(status == HOOP_E_MISMATCH);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    hoop_leave(session);
    return 0;
}

static void
other_calls_are_as_ever(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 3, apart_body, NULL), 0);
}

/* A sanitizer needs address space of its own. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
enum {
    POOR_BYTES = 32 << 20,
};

/* Room for n_more bytes, or (0) for all. */
static int
memory_limit(size_t n_more)
{
    size_t n_pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool is_read = file && fscanf(file, "%zu", &n_pages) == 1 &&
                         getrlimit(RLIMIT_AS, &limit) == 0;

    if (file)
        fclose(file);
    if (!is_read)
        return -1;
    limit.rlim_cur = n_more ? n_pages * (size_t)sysconf(_SC_PAGESIZE) + n_more
                            : limit.rlim_max;
    return setrlimit(RLIMIT_AS, &limit);
}

/* Rank 1 cannot keep its input, once: all that are left are told so. */
static int
poor_call(const struct worker *worker, hoop_comm_t *world, uint32_t n_left)
{
    CLEANUP(free) uint8_t *values = calloc(1, POOR_BYTES);
    int64_t value = 1;

    WORKER_CHECK(values);
    if (worker->index == 1)
        WORKER_CHECK(memory_limit(POOR_BYTES / 2) == 0);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, values, POOR_BYTES, HOOP_UINT8,
                                HOOP_SUM, world) == HOOP_E_EXHAUSTED);
    WORKER_CHECK(strstr(hoop_error_text(), "no memory to keep"));
    WORKER_CHECK(worker->index == 1 || strstr(hoop_error_text(), "rank 1 ("));
    WORKER_CHECK(memory_limit(0) == 0);
    WORKER_CHECK(hoop_comm_size(world) == n_left);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64, HOOP_SUM,
                                world) == HOOP_OK);
    WORKER_CHECK(value == n_left);
    return 0;
}

static int
poor_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    if (poor_call(worker, hoop_world(session), worker->n_workers) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* The last rank dies instead of calling. */
static int
poor_survivor_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    if (worker->index == worker->n_workers - 1)
        kill(getpid(), SIGKILL);
    if (poor_call(worker, hoop_world(session), worker->n_workers - 1) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}
#endif

static void
rank_without_memory_fails_the_call_for_all(void **state)
{
    (void)state;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(workers_run(hoopd.address, 3, poor_body, NULL), 0);
#endif
}

static void
rank_without_memory_goes_on_with_the_survivors(void **state)
{
    (void)state;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(workers_run(hoopd.address, 3, poor_survivor_body, NULL),
                     0);
#endif
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_dies),
        cmocka_unit_test(one_dies_wherever_it_is),
        cmocka_unit_test(first_rank_dies),
        cmocka_unit_test(two_die_one_after_another),
        cmocka_unit_test(root_dies_between_two_calls),
        cmocka_unit_test(some_die_by_chance),
        cmocka_unit_test(other_calls_are_as_ever),
        cmocka_unit_test(rank_without_memory_fails_the_call_for_all),
        cmocka_unit_test(rank_without_memory_goes_on_with_the_survivors),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
