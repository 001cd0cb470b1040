/*
 * tests/integration/session/interrupt_test.c - a signal ends any call that
 * waits
 *
 * Worker 0 is told to stop when hoop first asks, which is while it waits. Then
 * all workers repeat the call.
 */

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hoop/control.h"
#include "hoop/interrupt.h"

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    LONG_MS = 60000,
    PROMPT_MS =
        10000, /* far below all timeouts here, and enough for a slow machine */
    LOOK_US = 500,

    /* These are places in the room; the first ones belong to turn_pass(). */
    PLACE_CALLED = 2,
    PLACE_FORMED = 3,
};

static volatile sig_atomic_t was_signalled;
static uint64_t signalled_ns;
static uint64_t interrupt_after_ns;

static void
on_signal(int number)
{
    was_signalled = 1;
}

static bool
is_interrupted(void *context)
{
    if (!was_signalled && clock_now_ns() >= interrupt_after_ns) {
        signalled_ns = clock_now_ns();
        raise(SIGINT);
    }
    return was_signalled;
}

/* The next call of worker 0 that waits will be interrupted. */
static void
interrupt_arm(const struct worker *worker)
{
    if (worker->index != 0)
        return;
    was_signalled = 0;
    signalled_ns = 0;
    signal(SIGINT, on_signal);
    hoop_set_interrupt(is_interrupted, NULL);
}

/* Checks that the call was interrupted, and ended soon. */
static int
interrupt_check(enum hoop_status status)
{
    const struct hoop_interrupt before = hoop_set_interrupt(NULL, NULL);

    WORKER_CHECK(before.check == is_interrupted && !before.context);
    WORKER_CHECK(status == HOOP_E_CANCELLED);
    WORKER_CHECK(signalled_ns > 0);
    WORKER_CHECK(clock_now_ns() - signalled_ns < PROMPT_MS * CLOCK_NS_PER_MS);
    return 0;
}

/* Worker 0 calls first, and the others after it. */
static int
turn_pass(const struct worker *worker, uint32_t place)
{
    if (worker->index == 0)
        room_set(worker, place, 1);
    else
        WORKER_CHECK(room_await(worker, place) == 1);
    return 0;
}

/* A rank that calls later may have all it needs before it is told. */
static bool
is_aborted_or_done(enum hoop_status status)
{
    return status == HOOP_E_ABORTED || status == HOOP_OK;
}

static int
sum_is_right(hoop_comm_t *comm)
{
    int32_t value = 1;

    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM,
                                comm) == HOOP_OK);
    WORKER_CHECK(value == (int32_t)hoop_comm_size(comm));
    return 0;
}

/* A call that only the coordinator answers counts as not made. */
static int
calls_to_the_coordinator_are_interrupted_and_made_again(
    const struct worker *worker)
{
    static const uint32_t ranks[] = {1, 0};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    hoop_comm_t *shrunk = NULL;
    uint64_t flags = 6 + worker->index;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(
            interrupt_check(hoop_comm_create(session, ranks, 2, &comm)) == 0);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    WORKER_CHECK(hoop_comm_create(session, ranks, 2, &comm) == HOOP_OK);
    WORKER_CHECK(sum_is_right(comm) == 0);

    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(interrupt_check(hoop_comm_agree(comm, &flags)) == 0);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    WORKER_CHECK(hoop_comm_agree(comm, &flags) == HOOP_OK);
    WORKER_CHECK(flags == 6);

    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(
            interrupt_check(hoop_comm_grow(comm, 1, LONG_MS, &shrunk)) == 0);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);

    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(interrupt_check(hoop_comm_shrink(comm, &shrunk)) == 0);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    WORKER_CHECK(hoop_comm_shrink(comm, &shrunk) == HOOP_OK);
    WORKER_CHECK(sum_is_right(shrunk) == 0);
    hoop_leave(session);
    return 0;
}

/* Waits until the communicator of both workers has formed. */
static void
formed_await(void *context)
{
    const struct worker *worker = context;
    const struct hoop_control_options asking = {
        .coordinator = worker->coordinator, .job = "test", .token = "secret"};
    const struct hoop_control_group_list *groups = NULL;
    const uint64_t deadline_ns = clock_deadline_ns(LONG_MS);
    hoop_control_t *control = NULL;
    bool has_formed = hoop_control_create(&asking, &control) != HOOP_OK;

    while (!has_formed && !clock_is_past(deadline_ns) &&
           hoop_control_groups(control, NULL, &groups) == HOOP_OK) {
        has_formed = groups->n_groups == 1 && groups->groups[0].n_joined == 2;
        usleep(LOOK_US);
    }
    hoop_control_destroy(control);
    room_set(worker, PLACE_FORMED, has_formed);
}

static void *
formed_tell(void *context)
{
    formed_await(context);
    return NULL;
}

/* Interrupts only once, since the call waits again after that. */
static bool
is_interrupted_late(void *context)
{
    const struct worker *worker = context;

    if (was_signalled)
        return false;
    room_set(worker, PLACE_CALLED, 1);
    was_signalled = room_await(worker, PLACE_FORMED) == 1;
    return was_signalled;
}

/* Checks that all workers have the communicator, and the coordinator knows
 * it. */
static int
formed_check(const struct worker *worker,
             hoop_session_t *session,
             hoop_comm_t *comm)
{
    const struct hoop_control_group_list *groups = NULL;
    hoop_control_t *control = NULL;
    uint64_t flags = 6 + worker->index;

    WORKER_CHECK(sum_is_right(comm) == 0);
    WORKER_CHECK(hoop_session_control(session, &control) == HOOP_OK);
    WORKER_CHECK(hoop_control_groups(control, NULL, &groups) == HOOP_OK);
    WORKER_CHECK(groups->n_groups == 1 && groups->groups[0].n_joined == 2);
    hoop_control_destroy(control);
    WORKER_CHECK(hoop_comm_agree(comm, &flags) == HOOP_OK);
    WORKER_CHECK(flags == 6);
    return 0;
}

/* Worker 0 is interrupted after the last member has called, but before worker 0
 * knows it. Both have the communicator. */
static int
communicator_that_has_formed_is_not_taken_back(const struct worker *worker)
{
    static const uint32_t ranks[] = {1, 0};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    pthread_t thread;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index == 0) {
        was_signalled = 0;
        hoop_set_interrupt(is_interrupted_late, (void *)(uintptr_t)worker);
    } else {
        WORKER_CHECK(room_await(worker, PLACE_CALLED) == 1);
        WORKER_CHECK(pthread_create(&thread, NULL, formed_tell,
                                    (void *)(uintptr_t)worker) == 0);
    }
    const enum hoop_status status = hoop_comm_create(session, ranks, 2, &comm);
    hoop_set_interrupt(NULL, NULL);
    WORKER_CHECK(worker->index == 0 || pthread_join(thread, NULL) == 0);
    WORKER_CHECK(worker->index != 0 || was_signalled);
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(formed_check(worker, session, comm) == 0);
    hoop_leave(session);
    return 0;
}

/* An operation counts as made on all ranks that wait for it. */
static int
operations_are_interrupted_on_all_ranks(const struct worker *worker)
{
    const struct hoop_state nothing = {.version = 1};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    struct hoop_objects objects;
    enum hoop_status status;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(interrupt_check(
                         hoop_allgather_object("a", 1, &objects, world)) == 0);
    WORKER_CHECK(turn_pass(worker, 0) == 0);
    if (worker->index != 0) {
        status = hoop_allgather_object("b", 1, &objects, world);
        WORKER_CHECK(is_aborted_or_done(status));
        if (status == HOOP_OK)
            hoop_objects_free(&objects);
    }
    WORKER_CHECK(sum_is_right(world) == 0);

    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(interrupt_check(hoop_state_sync(&nothing, world, NULL)) ==
                     0);
    WORKER_CHECK(turn_pass(worker, 1) == 0);
    if (worker->index != 0)
        WORKER_CHECK(
            is_aborted_or_done(hoop_state_sync(&nothing, world, NULL)));
    WORKER_CHECK(sum_is_right(world) == 0);
    hoop_leave(session);
    return 0;
}

static int
receives_interrupt(const struct worker *worker, hoop_comm_t *world)
{
    int32_t value = 0;
    const struct hoop_message send = {
        .kind = HOOP_SEND,
        .buffer = &value,
        .count = 1,
        .dtype = HOOP_INT32,
        .peer = 1,
        .tag = 1,
    };
    const struct hoop_message recv = {
        .kind = HOOP_RECV,
        .buffer = &value,
        .count = 1,
        .dtype = HOOP_INT32,
        .peer = 1,
        .tag = 2,
    };
    struct hoop_received received;
    void *bytes = NULL;
    size_t n_bytes = 0;

    interrupt_arm(worker);
    WORKER_CHECK(interrupt_check(hoop_recv(&value, 1, HOOP_INT32, 1, 0, world,
                                           &received)) == 0);
    interrupt_arm(worker);
    WORKER_CHECK(interrupt_check(hoop_recv_object(&bytes, &n_bytes, 1, 0, world,
                                                  &received)) == 0);
    interrupt_arm(worker);
    WORKER_CHECK(
        interrupt_check(hoop_sendrecv(&send, &recv, world, &received)) == 0);
    return 0;
}

/* An interrupted receive takes no message: the next receive gets it. */
static int
messages_are_interrupted_and_lose_nothing(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    struct hoop_received received;
    int32_t value = 7;
    void *bytes = NULL;
    size_t n_bytes = 0;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(worker->index != 0 || receives_interrupt(worker, world) == 0);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    if (worker->index == 0) {
        value = 0;
        WORKER_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 0, world, NULL) ==
                     HOOP_OK);
        WORKER_CHECK(hoop_recv_object(&bytes, &n_bytes, 1, 0, world,
                                      &received) == HOOP_OK);
        WORKER_CHECK(n_bytes == 3 && memcmp(bytes, "abc", 3) == 0);
        hoop_object_free(bytes);
    } else {
        WORKER_CHECK(hoop_send(&value, 1, HOOP_INT32, 0, 0, world) == HOOP_OK);
        WORKER_CHECK(hoop_send_object("abc", 3, 0, 0, world) == HOOP_OK);
    }
    WORKER_CHECK(value == 7);
    WORKER_CHECK(sum_is_right(world) == 0);
    hoop_leave(session);
    return 0;
}

/* All members have called, but no new worker has. Each member gives up by
 * itself. */
static int
growth_is_interrupted_while_newcomers_are_awaited(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    struct worker self = *worker;
    hoop_session_t *session = NULL;
    hoop_comm_t *grown = NULL;

    self.index = 0;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    for (int i = 0; i < 2; i++) {
        interrupt_arm(&self);
        WORKER_CHECK(
            interrupt_check(hoop_comm_grow(world, 1, LONG_MS, &grown)) == 0);
        WORKER_CHECK(sum_is_right(world) == 0);
    }
    hoop_leave(session);
    return 0;
}

/* If calls are retried, an interrupted one is over on all ranks. */
static int
interrupted_call_is_not_done_again(const struct worker *worker)
{
    static const char *const settings[] = {"on_failure=retry", NULL};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.settings = settings;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    interrupt_arm(worker);
    if (worker->index == 0)
        WORKER_CHECK(interrupt_check(hoop_barrier(world)) == 0);
    WORKER_CHECK(turn_pass(worker, 0) == 0);
    if (worker->index != 0)
        WORKER_CHECK(hoop_barrier(world) == HOOP_E_CANCELLED);
    WORKER_CHECK(sum_is_right(world) == 0);
    hoop_leave(session);
    return 0;
}

/* Worker 1 has done its part of the call, and waits for what became of it, when
 * worker 0 is interrupted in it; worker 2 has not called yet. However far they
 * are, the call is over on all. */
static int
interrupted_call_is_over_for_who_has_done_its_part(const struct worker *worker)
{
    static const char *const settings[] = {"on_failure=retry", NULL};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    int32_t value = 1;

    options.settings = settings;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    if (worker->index == 1)
        room_set(worker, PLACE_CALLED, 1);
    else
        WORKER_CHECK(room_await(worker, PLACE_CALLED) == 1);
    interrupt_arm(worker);
    interrupt_after_ns = clock_now_ns() + 200 * CLOCK_NS_PER_MS;
    if (worker->index == 2)
        WORKER_CHECK(turn_pass(worker, 0) == 0);
    const enum hoop_status status =
        hoop_reduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM, 0, world);
    if (worker->index == 0) {
        WORKER_CHECK(interrupt_check(status) == 0);
        WORKER_CHECK(turn_pass(worker, 0) == 0);
    } else {
        WORKER_CHECK(status == HOOP_E_CANCELLED);
    }
    WORKER_CHECK(sum_is_right(world) == 0);
    hoop_leave(session);
    return 0;
}

/* No other worker joins, and the request is withdrawn. */
static int
join_is_interrupted_and_taken_back(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.job = "interrupted";
    options.world_size = 2;
    options.join_timeout_ms = LONG_MS;
    interrupt_arm(worker);
    WORKER_CHECK(interrupt_check(hoop_join(&options, &session)) == 0);
    WORKER_CHECK(!session);
    options.world_size = 1;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(sum_is_right(hoop_world(session)) == 0);
    hoop_leave(session);
    return 0;
}

/* Opens a socket that accepts connections, and sends nothing. */
static int
mute_listen(char address[64])
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n_bytes = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n_bytes), 0);
    snprintf(address, 64, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

static int
mute_body(const struct worker *worker)
{
    const struct hoop_control_overview *overview = NULL;
    const struct hoop_control_options asking = {
        .coordinator = worker->coordinator, .timeout_ms = LONG_MS};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_control_t *control = NULL;

    options.join_timeout_ms = LONG_MS;
    interrupt_arm(worker);
    WORKER_CHECK(interrupt_check(hoop_join(&options, &session)) == 0);
    WORKER_CHECK(hoop_control_create(&asking, &control) == HOOP_OK);
    for (int i = 0; i < 2; i++) {
        interrupt_arm(worker);
        WORKER_CHECK(interrupt_check(hoop_control_status(control, &overview)) ==
                     0);
    }
    hoop_control_destroy(control);
    return 0;
}

static void
mute_coordinator_is_not_waited_for(void **state)
{
    char address[64];
    const int fd = mute_listen(address);

    assert_int_equal(workers_run(address, 1, mute_body, NULL), 0);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(calls_to_the_coordinator_are_interrupted_and_made_again,
                     2),
        WORKERS_TEST(communicator_that_has_formed_is_not_taken_back, 2),
        WORKERS_TEST(operations_are_interrupted_on_all_ranks, 2),
        WORKERS_TEST(messages_are_interrupted_and_lose_nothing, 2),
        WORKERS_TEST(growth_is_interrupted_while_newcomers_are_awaited, 2),
        WORKERS_TEST(interrupted_call_is_not_done_again, 2),
        WORKERS_TEST(interrupted_call_is_over_for_who_has_done_its_part, 3),
        WORKERS_TEST(join_is_interrupted_and_taken_back, 1),
        cmocka_unit_test(mute_coordinator_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
