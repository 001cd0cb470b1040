/* tests/integration/recovery/grow_test.c - new workers take the places of dead
 * ones */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hoop/control.h"

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    MEMBERS = 3,
    GROW_MS = 30000,
    SHORT_MS = 1000,
    /* By then a worker that is alive has joined the growth, and the other one
     * has died. */
    HALF_MS = 6000,
    LOOK_US = 2000,

    KEY_MAX = 64,

    /* These are places in the room. */
    PLACE_JOINED = 0,
    PLACE_SHRUNK = 1,
    PLACE_GROWN = 2, /* how many have used the grown world */
    PLACE_VICTIM = 3,
    PLACE_DEAD = 4,
};

static void
count(const struct worker *worker, uint32_t place)
{
    __atomic_fetch_add(&worker->room[place], 1, __ATOMIC_SEQ_CST);
}

static int
grown_use(const struct worker *worker, hoop_comm_t *grown, uint32_t size)
{
    hoop_comm_t *part = NULL;
    const uint32_t ranks[] = {2, 0};
    const uint32_t rank = hoop_comm_rank(grown);

    WORKER_CHECK(hoop_comm_size(grown) == size);
    if (worker_allreduce(grown, 5000) != 0)
        return 1;
    if (rank != 1 && size == 3) {
        WORKER_CHECK(hoop_comm_create(hoop_comm_session(grown), ranks, 2,
                                      &part) == HOOP_OK);
        if (worker_allreduce(part, 5000) != 0)
            return 1;
        hoop_comm_free(part);
    }
    WORKER_CHECK(hoop_barrier(grown) == HOOP_OK);
    count(worker, PLACE_GROWN);
    return 0;
}

/* Uses the grown communicator, and leaves. */
static int
grown_leave(const struct worker *worker, hoop_comm_t *grown, uint32_t size)
{
    hoop_session_t *session = hoop_comm_session(grown);

    if (grown_use(worker, grown, size) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* Joins a job that grows. A rank of NULL means any rank. */
static int
newcomer_join(const struct worker *worker,
              uint32_t world_size,
              const uint32_t *rank,
              hoop_session_t **out_session)
{
    struct hoop_join_options options = worker_options(worker);

    options.rank = rank;
    options.world_size = world_size;
    options.join_timeout_ms = GROW_MS;
    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    return 0;
}

/* Workers 0 and 1 join, and grow by n_more. */
static int
pair_grow(const struct worker *worker,
          uint32_t n_more,
          hoop_session_t **out_session,
          hoop_comm_t **out_grown)
{
    if (worker_join(worker, 2, PLACE_JOINED, out_session) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_grow(hoop_world(*out_session), n_more, GROW_MS,
                                out_grown) == HOOP_OK);
    return 0;
}

/* Workers 0 and 2 stay, worker 1 dies, and worker 3 joins. */
static int
newcomer_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    room_await(worker, PLACE_SHRUNK);
    if (newcomer_join(worker, MEMBERS, NULL, &session) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_rank(hoop_world(session)) == 2);
    return grown_leave(worker, hoop_world(session), 3);
}

static int
newcomer_takes_the_place_of_a_dead_rank(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index == 3)
        return newcomer_body(worker);
    if (worker_join(worker, MEMBERS, PLACE_JOINED, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker_lose(worker, 1, world) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_grow(world, 1, GROW_MS, &grown) == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "2 of 3 ranks are left"));
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    /* No new worker is there yet. */
    WORKER_CHECK(hoop_comm_grow(shrunk, 1, SHORT_MS, &grown) == HOOP_E_TIMEOUT);
    WORKER_CHECK(hoop_barrier(shrunk) == HOOP_OK);
    room_set(worker, PLACE_SHRUNK, 1);
    WORKER_CHECK(hoop_comm_grow(shrunk, UINT32_MAX, GROW_MS, &grown) ==
                 HOOP_E_INVALID);
    /* The members may have different times left. */
    WORKER_CHECK(hoop_comm_grow(shrunk, 1, GROW_MS + worker->index, &grown) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_comm_rank(grown) == worker->index / 2);
    if (grown_use(worker, grown, 3) != 0)
        return 1;
    WORKER_CHECK(hoop_barrier(shrunk) == HOOP_OK);
    if (worker->index == 0)
        hoop_comm_free(grown);
    hoop_leave(session);
    return 0;
}

/* Two workers join one after the other, so the grown communicator grows
 * again. */
static int
late_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    room_await(worker, PLACE_SHRUNK);
    if (newcomer_join(worker, MEMBERS, NULL, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (hoop_comm_size(world) == 2)
        WORKER_CHECK(hoop_comm_grow(world, 1, GROW_MS, &grown) == HOOP_OK);
    return grown_leave(worker, grown ? grown : world, 3);
}

static int
one_that_is_left_grows_twice(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;

    if (worker->index > 2)
        return late_body(worker);
    if (worker_join(worker, MEMBERS, PLACE_JOINED, &session) != 0)
        return 1;
    if (worker->index != 1)
        kill(getpid(), SIGKILL);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_E_PEER_LOST);
    hoop_comm_t *all = hoop_world(session);
    WORKER_CHECK(hoop_comm_shrink(all, &comm) == HOOP_OK);
    /* The shrink may still have taken one of the two dead workers for a
     * survivor. */
    while (hoop_comm_size(comm) > 1) {
        hoop_comm_t *next = NULL;

        WORKER_CHECK(hoop_barrier(comm) == HOOP_E_PEER_LOST);
        WORKER_CHECK(hoop_comm_shrink(comm, &next) == HOOP_OK);
        hoop_comm_free(comm);
        comm = next;
    }
    room_set(worker, PLACE_SHRUNK, 1);
    while (hoop_comm_size(comm) < 3) {
        hoop_comm_t *grown = NULL;

        WORKER_CHECK(hoop_comm_grow(comm, 1, GROW_MS, &grown) == HOOP_OK);
        WORKER_CHECK(hoop_comm_rank(grown) == 0);
        hoop_comm_free(comm);
        comm = grown;
    }
    return grown_leave(worker, comm, 3);
}

/* Waits until the log says that this many workers wait for the world by which
 * job "test" grows. */
static int
arrivals_await(unsigned n_unexpected_messages, const char *text)
{
    const uint64_t deadline_ns = clock_deadline_ns(GROW_MS);
    char line[1024];

    for (;;) {
        FILE *log = fopen(hoopd.log_path, "re");
        unsigned n_found = 0;

        WORKER_CHECK(log && !clock_is_past(deadline_ns));
        while (fgets(line, sizeof(line), log))
            n_found += strstr(line, text) != NULL;
        fclose(log);
        if (n_found >= n_unexpected_messages)
            return 0;
        usleep(LOOK_US);
    }
}

/* Of two workers, worker 1 dies. Worker 0 grows by two, or by those that arrive
 * in time. */
static int
remnant_grow(const struct worker *worker,
             uint32_t timeout_ms,
             hoop_session_t **out_session,
             hoop_comm_t **out_grown)
{
    hoop_comm_t *shrunk = NULL;

    if (worker_join(worker, 2, PLACE_JOINED, out_session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(*out_session);
    if (worker_lose(worker, 1, world) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    room_set(worker, PLACE_SHRUNK, 1);
    WORKER_CHECK(hoop_comm_grow(shrunk, 2, timeout_ms, out_grown) == HOOP_OK);
    return 0;
}

/* Kills the process, and waits until the kernel has closed all its files. */
static int
process_end(pid_t pid)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
                         .events = POLLIN};

    WORKER_CHECK(end.fd >= 0);
    kill(pid, SIGKILL);
    WORKER_CHECK(poll(&end, 1, GROW_MS) == 1);
    close(end.fd);
    return 0;
}

/* Worker 2 has a place and dies. Then workers 3 and 4 both join. */
static int
heir_prepare(const struct worker *worker)
{
    if (worker->index == 2)
        room_set(worker, PLACE_VICTIM, (uint64_t)getpid());
    if (worker->index == 3) {
        const pid_t victim = (pid_t)room_await(worker, PLACE_VICTIM);
        char text[KEY_MAX];

        snprintf(text, sizeof(text), ":%d at ", (int)victim);
        WORKER_CHECK(victim > 0 && arrivals_await(1, text) == 0);
        WORKER_CHECK(process_end(victim) == 0);
        room_set(worker, PLACE_DEAD, 1);
    }
    if (worker->index == 4)
        room_await(worker, PLACE_DEAD);
    return 0;
}

/* Worker 0 stays, and worker 1 dies. */
static int
heirs_come(const struct worker *worker, uint32_t timeout_ms, uint32_t size)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2)
        return remnant_grow(worker, timeout_ms, &session, &grown) != 0
                   ? 1
                   : grown_leave(worker, grown, size);
    room_await(worker, PLACE_SHRUNK);
    if (heir_prepare(worker) != 0 ||
        newcomer_join(worker, 2, NULL, &session) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_rank(hoop_world(session)) >= 1);
    return grown_leave(worker, hoop_world(session), size);
}

static int
place_of_a_dead_newcomer_is_another_ones(const struct worker *worker)
{
    return heirs_come(worker, GROW_MS, 3);
}

/* Only worker 3 joins. */
static int
newcomers_that_live_are_taken_in_without_the_dead(const struct worker *worker)
{
    return heirs_come(worker, HALF_MS, 2);
}

/* Workers 0 and 1 join, and grow by worker 2. *out_world is the grown
 * communicator. */
static int
two_and_one_join(const struct worker *worker,
                 hoop_session_t **out_session,
                 hoop_comm_t **out_world)
{
    if (worker->index < 2)
        return pair_grow(worker, 1, out_session, out_world);
    WORKER_CHECK(arrivals_await(1, "is to grow from 2 to 3") == 0);
    if (newcomer_join(worker, 2, NULL, out_session) != 0)
        return 1;
    *out_world = hoop_world(*out_session);
    return 0;
}

/* No rank is lost: the members admit workers that arrive while they wait. */
static int
job_that_lost_nobody_grows(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *world = NULL;

    if (two_and_one_join(worker, &session, &world) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_rank(world) == worker->index);
    return grown_leave(worker, world, 3);
}

/* hoopd allows two to three ranks. Two workers join, and then the third. */
static int
smaller_body(const struct worker *worker)
{
    const struct hoop_join_options options = {
        .coordinator = worker->coordinator,
        .job = "test",
        .token = "secret",
        .join_timeout_ms = GROW_MS,
    };
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    setenv("HOOP_FAILURE_TIMEOUT", "30", 0);
    if (worker->index == 2)
        room_await_count(worker, PLACE_JOINED, 2);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    count(worker, PLACE_JOINED);
    hoop_comm_t *world = hoop_world(session);
    if (worker->index < 2) {
        WORKER_CHECK(hoop_comm_size(world) == 2);
        /* The third worker is already waiting. */
        WORKER_CHECK(arrivals_await(1, "is full: 2 of 2") == 0);
        WORKER_CHECK(hoop_comm_grow(world, 1, GROW_MS, &grown) == HOOP_OK);
        WORKER_CHECK(hoop_comm_rank(grown) == hoop_comm_rank(world));
    }
    return grown_leave(worker, grown ? grown : world, 3);
}

static void
job_below_its_largest_size_grows(void **state)
{
    const char *const arguments[] = {
        "--world-size", "3", "--world-size-min", "2", "--settle", "0.2", NULL};
    uint64_t room[WORKERS_ROOM];

    daemon_teardown(NULL);
    daemon_start(&hoopd, arguments);
    assert_int_equal(workers_run(hoopd.address, 3, smaller_body, room), 0);
    assert_int_equal(room[PLACE_GROWN], 3);
}

/* Worker 2 asks for rank 4 and arrives first, worker 3 asks for no rank, and
 * worker 4 asks for rank 2. */
static int
wishes_of_newcomers_are_honoured(const struct worker *worker)
{
    static const uint32_t wishes[] = {0, 0, 4, 3, 2};
    const uint32_t *wish = worker->index == 3 ? NULL : &wishes[worker->index];
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2) {
        if (pair_grow(worker, 3, &session, &grown) != 0)
            return 1;
    } else {
        WORKER_CHECK(arrivals_await(1, "is to grow from 2 to 5") == 0);
        if (newcomer_join(worker, 5, wish, &session) != 0)
            return 1;
    }
    hoop_comm_t *world = grown ? grown : hoop_world(session);
    WORKER_CHECK(hoop_comm_rank(world) ==
                 (worker->index < 2 ? worker->index : wishes[worker->index]));
    return grown_leave(worker, world, 5);
}

/* Worker 2 asks for ranks that it cannot have, one after the other, and then
 * for none. */
static int
rank_of_a_member_is_refused_to_a_newcomer(const struct worker *worker)
{
    static const uint32_t member = 1;
    static const uint32_t nowhere = 7;
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2) {
        if (pair_grow(worker, 2, &session, &grown) != 0)
            return 1;
        WORKER_CHECK(hoop_comm_rank(grown) == worker->index);
    } else {
        WORKER_CHECK(arrivals_await(1, "is to grow from 2 to 4") == 0);
        options.world_size = 8;
        options.rank = &member;
        if (worker->index == 2) {
            WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_EXISTS);
            WORKER_CHECK(strstr(hoop_error_text(),
                                "rank 1 is a member's: job \"test\" grows from "
                                "2 to 4 ranks, and those who come have 2 to 3: "
                                "give one of these as HOOP_RANK, or none"));
            options.rank = &nowhere;
            WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_INVALID);
            WORKER_CHECK(strstr(hoop_error_text(), "rank 7 is out of range"));
            room_set(worker, PLACE_SHRUNK, 1);
        }
        room_await(worker, PLACE_SHRUNK);
        options.rank = NULL;
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    }
    return grown_leave(worker, grown ? grown : hoop_world(session), 4);
}

/* Workers 0 and 1 grow by worker 2, and leave. Worker 3 asks for a job of this
 * name with one rank, and worker 2 admits it. */
static int
name_is_kept_while_a_newcomer_lives(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2) {
        if (pair_grow(worker, 1, &session, &grown) != 0)
            return 1;
        WORKER_CHECK(hoop_barrier(grown) == HOOP_OK);
        hoop_leave(session);
        count(worker, PLACE_SHRUNK);
        return 0;
    }
    if (worker->index == 2)
        WORKER_CHECK(arrivals_await(1, "is to grow from 2 to 3") == 0);
    else
        room_await_count(worker, PLACE_SHRUNK, 2);
    if (newcomer_join(worker, worker->index == 2 ? 2 : 1, NULL, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == 2) {
        WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
        WORKER_CHECK(hoop_comm_shrink(world, &grown) == HOOP_OK);
        while (hoop_comm_size(grown) > 1) {
            hoop_comm_t *next = NULL;

            WORKER_CHECK(hoop_comm_shrink(grown, &next) == HOOP_OK);
            hoop_comm_free(grown);
            grown = next;
        }
        WORKER_CHECK(hoop_comm_grow(grown, 1, GROW_MS, &world) == HOOP_OK);
    }
    WORKER_CHECK(hoop_comm_rank(world) == worker->index - 2);
    return grown_leave(worker, world, 2);
}

/* Returns the number of lines in the log that contain both texts. */
static unsigned
log_count(const char *text, const char *other)
{
    FILE *log = fopen(hoopd.log_path, "re");
    unsigned n_found = 0;
    char line[1024];

    while (log && fgets(line, sizeof(line), log))
        n_found += strstr(line, text) && strstr(line, other);
    if (log)
        fclose(log);
    return n_found;
}

/* There must be a single job, with the name that users know, and with the
 * living members. */
static int
job_is_one(const struct worker *worker, uint32_t n_members, uint32_t n_lost)
{
    const struct hoop_control_options options = {
        .coordinator = worker->coordinator, .job = "test", .token = "secret"};
    const struct hoop_control_overview *overview = NULL;
    const struct hoop_control_roster *roster = NULL;
    hoop_control_t *control = NULL;

    WORKER_CHECK(hoop_control_create(&options, &control) == HOOP_OK);
    WORKER_CHECK(hoop_control_status(control, &overview) == HOOP_OK);
    WORKER_CHECK(overview->n_jobs == 1);
    WORKER_CHECK(strcmp(overview->jobs[0].name, "test") == 0);
    WORKER_CHECK(overview->jobs[0].size == 3);
    WORKER_CHECK(overview->jobs[0].n_members == n_members);
    WORKER_CHECK(overview->jobs[0].n_lost == n_lost);
    const uint64_t epoch = overview->jobs[0].epoch;
    WORKER_CHECK(hoop_control_ranks(control, &roster) == HOOP_OK);
    WORKER_CHECK(strcmp(roster->job.name, "test") == 0);
    WORKER_CHECK(roster->job.epoch == epoch);
    WORKER_CHECK(roster->n_ranks == 3);
    hoop_control_destroy(control);
    return 0;
}

/* Worker 2 joins workers 0 and 1. Then worker 1, which is in two worlds,
 * dies. */
static int
told_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *left = NULL;
    hoop_comm_t *world = NULL;
    char victim[KEY_MAX];

    if (two_and_one_join(worker, &session, &world) != 0)
        return 1;
    if (worker->index == 1)
        room_set(worker, PLACE_VICTIM, (uint64_t)getpid());
    snprintf(victim, sizeof(victim), ":%u)",
             (unsigned)room_await(worker, PLACE_VICTIM));
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    if (worker->index == 0)
        WORKER_CHECK(job_is_one(worker, 3, 0) == 0);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    /* A rank that died right after a barrier could interrupt this barrier on
     * other ranks. */
    count(worker, PLACE_GROWN);
    if (worker->index == 1)
        room_await_count(worker, PLACE_GROWN, 3);
    if (worker_lose(worker, 1, world) != 0)
        return 1;
    /* The coordinator knows of the death in this world and in the first one. */
    WORKER_CHECK(hoop_comm_shrink(world, &left) == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(left) == 2);
    if (worker->index == 0) {
        WORKER_CHECK(hoop_comm_shrink(hoop_world(session), &world) == HOOP_OK);
        WORKER_CHECK(hoop_comm_size(world) == 1);
        WORKER_CHECK(job_is_one(worker, 2, 1) == 0);
        WORKER_CHECK(log_count(" is lost: ", victim) == 1);
        WORKER_CHECK(log_count("test+", "") == 0);
    }
    WORKER_CHECK(hoop_barrier(left) == HOOP_OK);
    hoop_leave(session);
    return 0;
}

static void
death_in_a_job_that_has_grown_is_told_once(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 3, told_body, NULL), 0);
    daemon_expect_log(&hoopd, "job \"test\" has ended");
    assert_int_equal(log_count("leaves job", ""), 2);
    assert_int_equal(log_count("job \"test\" has ended", ""), 1);
}

struct grow_test {
    worker_fn *body;
    uint32_t n_workers;
    uint64_t n_grown; /* how many workers have used a grown world */
};

static void
grow_test_run(void **state)
{
    const struct grow_test *test = *state;
    uint64_t room[WORKERS_ROOM];

    assert_int_equal(
        workers_run(hoopd.address, test->n_workers, test->body, room), 0);
    assert_int_equal(room[PLACE_GROWN], test->n_grown);
}

#define GROW_TEST(body, n_workers, n_grown)                                    \
    {                                                                          \
        .name = #body, .test_func = grow_test_run, .setup_func = daemon_setup, \
        .teardown_func = daemon_teardown, .initial_state = &(struct grow_test) \
        {                                                                      \
            body, n_workers, n_grown                                           \
        }                                                                      \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        GROW_TEST(newcomer_takes_the_place_of_a_dead_rank, 4, 3),
        GROW_TEST(one_that_is_left_grows_twice, 5, 3),
        GROW_TEST(place_of_a_dead_newcomer_is_another_ones, 5, 3),
        GROW_TEST(newcomers_that_live_are_taken_in_without_the_dead, 4, 2),
        GROW_TEST(job_that_lost_nobody_grows, 3, 3),
        cmocka_unit_test_setup_teardown(job_below_its_largest_size_grows,
                                        daemon_setup, daemon_teardown),
        GROW_TEST(wishes_of_newcomers_are_honoured, 5, 5),
        GROW_TEST(rank_of_a_member_is_refused_to_a_newcomer, 4, 4),
        cmocka_unit_test_setup_teardown(
            death_in_a_job_that_has_grown_is_told_once, daemon_setup,
            daemon_teardown),
        GROW_TEST(name_is_kept_while_a_newcomer_lives, 4, 2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
