/* tests/integration/grow_test.c - newcomers take the places of the dead */

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
#include "daemon.h"
#include "workers.h"

enum {
    MEMBERS = 3,
    GROW_MS = 30000,
    SHORT_MS = 1000,
    /* One that is there is in it by then; the other has died. */
    HALF_MS = 10000,
    LOOK_US = 2000,
    FORGOTTEN_MS = 20000,

    KEY_MAX = 256,

    /* Of the room. */
    PLACE_JOINED = 0,
    PLACE_SHRUNK = 1,
    PLACE_GROWN = 2, /* how many are in it */
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

/* Workers 0 and 2 stay, 1 dies, 3 comes. */
static int
newcomer_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    room_await(worker, PLACE_SHRUNK);
    options.rank = NULL;
    options.world_size = MEMBERS;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_comm_rank(hoop_world(session)) == 2);
    if (grown_use(worker, hoop_world(session), 3) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static int
replaced_body(const struct worker *worker)
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
    /* Nobody is there. */
    WORKER_CHECK(hoop_comm_grow(shrunk, 1, SHORT_MS, &grown) == HOOP_E_TIMEOUT);
    WORKER_CHECK(hoop_barrier(shrunk) == HOOP_OK);
    room_set(worker, PLACE_SHRUNK, 1);
    WORKER_CHECK(hoop_comm_grow(shrunk, UINT32_MAX, GROW_MS, &grown) ==
                 HOOP_E_INVALID);
    /* Each may have another time left. */
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

static void
newcomer_takes_the_place_of_a_dead_rank(void **state)
{
    uint64_t room[WORKERS_ROOM];

    (void)state;
    assert_int_equal(workers_run(hoopd.address, 4, replaced_body, room), 0);
    assert_int_equal(room[PLACE_GROWN], 3);
}

/* Two newcomers, one after the other: what has grown grows again. */
static int
late_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    room_await(worker, PLACE_SHRUNK);
    options.rank = NULL;
    options.world_size = MEMBERS;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    if (hoop_comm_size(world) == 2)
        WORKER_CHECK(hoop_comm_grow(world, 1, GROW_MS, &grown) == HOOP_OK);
    if (grown_use(worker, grown ? grown : world, 3) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static int
again_body(const struct worker *worker)
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
    /* One of the two may have been taken for a survivor still. */
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
    if (grown_use(worker, comm, 3) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
one_that_is_left_grows_twice(void **state)
{
    uint64_t room[WORKERS_ROOM];

    (void)state;
    assert_int_equal(workers_run(hoopd.address, 5, again_body, room), 0);
    assert_int_equal(room[PLACE_GROWN], 3);
}

/* Where newcomers of the growth that is under way draw their places. */
static int
places_find(hoop_control_t **out_control, char key[KEY_MAX])
{
    const struct hoop_control_options options = {
        .coordinator = hoopd.address, .job = "test", .token = "secret"};
    const uint64_t deadline_ns = clock_deadline_ns(GROW_MS);
    struct hoop_control_value successor;

    WORKER_CHECK(hoop_control_create(&options, out_control) == HOOP_OK);
    while (hoop_control_get(*out_control, "hoop/grow", &successor) != HOOP_OK) {
        WORKER_CHECK(!clock_is_past(deadline_ns));
        usleep(LOOK_US);
    }
    snprintf(key, KEY_MAX, "hoop/grow/%.*s", (int)successor.n_bytes,
             (const char *)successor.bytes);
    key[strcspn(key, " ")] = '\0';
    return 0;
}

/* As if time enough had passed since the last newcomer drew its place, unless it
 * has. */
static int
places_forget(void)
{
    const uint64_t deadline_ns = clock_deadline_ns(FORGOTTEN_MS);
    hoop_control_t *control = NULL;
    char key[KEY_MAX];

    WORKER_CHECK(places_find(&control, key) == 0);
    while (hoop_control_delete(control, key) != HOOP_OK &&
           !clock_is_past(deadline_ns))
        usleep(LOOK_US);
    hoop_control_destroy(control);
    return 0;
}

/* Until somebody has drawn one. */
static int
places_await(void)
{
    const uint64_t deadline_ns = clock_deadline_ns(GROW_MS);
    struct hoop_control_value n_drawn;
    hoop_control_t *control = NULL;
    char key[KEY_MAX];

    WORKER_CHECK(places_find(&control, key) == 0);
    while (hoop_control_get(control, key, &n_drawn) != HOOP_OK) {
        WORKER_CHECK(!clock_is_past(deadline_ns));
        usleep(LOOK_US);
    }
    hoop_control_destroy(control);
    return 0;
}

/* Of two, worker 1 dies, and 0 takes in two others, or those that are there in
 * time. */
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

/* Worker 0 stays, 1 dies; 2 comes, and 3 when that is forgotten. */
static int
forgotten_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2) {
        if (remnant_grow(worker, GROW_MS, &session, &grown) != 0)
            return 1;
    } else {
        room_await(worker, PLACE_SHRUNK);
        if (worker->index == 3 && places_forget() != 0)
            return 1;
        options.rank = NULL;
        options.world_size = 2;
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    }
    if (grown_use(worker, grown ? grown : hoop_world(session), 3) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
newcomer_whose_place_is_taken_draws_another(void **state)
{
    uint64_t room[WORKERS_ROOM];

    (void)state;
    assert_int_equal(workers_run(hoopd.address, 4, forgotten_body, room), 0);
    assert_int_equal(room[PLACE_GROWN], 3);
}

/* Kills it, and waits until the kernel has closed all that it had. */
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

/* Worker 2 draws the first place and dies; of 3 and 4 one draws the second, and
 * the other waits. */
static int
heir_prepare(const struct worker *worker)
{
    if (worker->index == 2)
        room_set(worker, PLACE_VICTIM, (uint64_t)getpid());
    if (worker->index == 3) {
        const pid_t victim = (pid_t)room_await(worker, PLACE_VICTIM);

        WORKER_CHECK(victim > 0 && places_await() == 0);
        WORKER_CHECK(process_end(victim) == 0);
        room_set(worker, PLACE_DEAD, 1);
    }
    if (worker->index == 4)
        room_await(worker, PLACE_DEAD);
    return 0;
}

/* Worker 0 stays, 1 dies. */
static int
heir_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2) {
        if (remnant_grow(worker, GROW_MS, &session, &grown) != 0)
            return 1;
    } else {
        room_await(worker, PLACE_SHRUNK);
        if (heir_prepare(worker) != 0)
            return 1;
        options.rank = NULL;
        options.world_size = 2;
        options.join_timeout_ms = GROW_MS;
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    }
    if (grown_use(worker, grown ? grown : hoop_world(session), 3) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
place_of_a_dead_newcomer_is_another_ones(void **state)
{
    uint64_t room[WORKERS_ROOM];

    (void)state;
    assert_int_equal(workers_run(hoopd.address, 5, heir_body, room), 0);
    assert_int_equal(room[PLACE_GROWN], 3);
}

/* Worker 0 stays, 1 dies; 2 draws the first place and dies, 3 has the second. */
static int
half_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    if (worker->index < 2) {
        if (remnant_grow(worker, HALF_MS, &session, &grown) != 0)
            return 1;
    } else {
        room_await(worker, PLACE_SHRUNK);
        if (heir_prepare(worker) != 0)
            return 1;
        options.rank = NULL;
        options.world_size = 2;
        options.join_timeout_ms = GROW_MS;
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
        WORKER_CHECK(hoop_comm_rank(hoop_world(session)) == 1);
    }
    if (grown_use(worker, grown ? grown : hoop_world(session), 2) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
newcomers_that_live_are_taken_in_without_the_dead(void **state)
{
    uint64_t room[WORKERS_ROOM];

    (void)state;
    assert_int_equal(workers_run(hoopd.address, 4, half_body, room), 0);
    assert_int_equal(room[PLACE_GROWN], 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newcomer_takes_the_place_of_a_dead_rank),
        cmocka_unit_test(one_that_is_left_grows_twice),
        cmocka_unit_test(newcomer_whose_place_is_taken_draws_another),
        cmocka_unit_test(place_of_a_dead_newcomer_is_another_ones),
        cmocka_unit_test(newcomers_that_live_are_taken_in_without_the_dead),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
