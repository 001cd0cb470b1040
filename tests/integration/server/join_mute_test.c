/* tests/integration/server/join_mute_test.c - a rank that takes no
 * connection */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/coordinator_clients.h"
#include "integration/daemon.h"
#include "net/address.h"
#include "net/socket.h"
#include "proc_state.h"

enum {
    MUTE = 3,
    RANKS,

    FROZEN = 4, /* one of eight, so that it is not a partner of rank 1 */
    LATE_RANKS = 8,

    PLACE_DONE = 0, /* in the room: ranks that have given up */
    PLACE_FROZEN,   /* in the room: the process */
    DONE_MS = 40000,
};

/* The kernel accepts connections for this rank, but no process reads them. */
static void
mute_join(const struct worker *worker,
          struct coordinator_clients *coordinator_clients,
          struct joiner *joiner)
{
    struct address address;
    int fd = -1;

    assert_ok(address_parse("127.0.0.1:0", &address));
    assert_ok(socket_listen(&address, 128, &fd));
    assert_ok(socket_local_address(fd, &address));
    coordinator_clients_open(
        coordinator_clients,
        &(struct coordinator_clients_options){.address = worker->coordinator,
                                              .job = "test",
                                              .token = "secret",
                                              .n_clients = 1});
    joiner_init(joiner, coordinator_clients->clients[0], RANKS);
    joiner->request.rank = MUTE;
    address_format(&address, joiner->request.address);
    joiners_run(joiner, 1);
}

static int
mute_body(const struct worker *worker)
{
    const uint64_t deadline_ns = clock_deadline_ns(DONE_MS);
    struct coordinator_clients coordinator_clients;
    struct joiner joiner;

    mute_join(worker, &coordinator_clients, &joiner);
    while (worker->room[PLACE_DONE] < MUTE && !clock_is_past(deadline_ns))
        usleep(1000);
    WORKER_CHECK(worker->room[PLACE_DONE] == MUTE);
    joiner_deinit(&joiner);
    coordinator_clients_close(&coordinator_clients);
    return 0;
}

/* Rank 1 is not a neighbour of the mute rank, and waits for ranks that are. */
static int
rank_that_nobody_can_connect_to_is_named_by_all(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    if (worker->index == MUTE)
        return mute_body(worker);
    /* This is less than a connection attempt may take. */
    options.join_timeout_ms = 5000;
    const enum hoop_status status = hoop_join(&options, &session);
    __atomic_fetch_add(&worker->room[PLACE_DONE], 1, __ATOMIC_SEQ_CST);
    WORKER_CHECK(status == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 3 (testhost:4711)"));
    return 0;
}

/* The rank stops until the others have finished. Its kernel still accepts
 * connections. */
static int
frozen_body(const struct worker *worker)
{
    room_set(worker, PLACE_FROZEN, (uint64_t)getpid());
    raise(SIGSTOP);
    return 0;
}

/* A connection attempt now has 15 s, whatever is left of the time to join. */
static int
dial_body(const struct worker *worker, hoop_session_t *session)
{
    const pid_t frozen = (pid_t)room_await(worker, PLACE_FROZEN);
    float number = 1;

    WORKER_CHECK(proc_state_await(frozen, 'T'));
    const uint64_t begin_ns = clock_now_ns();

    const enum hoop_status status =
        hoop_send(&number, 1, HOOP_FLOAT32, FROZEN, 0, hoop_world(session));
    const uint64_t took_ns = clock_now_ns() - begin_ns;
    kill(frozen, SIGCONT);
    WORKER_CHECK(status == HOOP_E_PEER_LOST);
    WORKER_CHECK(took_ns < DONE_MS * CLOCK_NS_PER_MS);
    return 0;
}

static int
rank_that_freezes_after_the_world_has_formed_is_soon_lost(
    const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    int result = 0;

    /* With shared memory, ways to read are measured, for which any two ranks
     * may connect. */
    setenv("HOOP_TRANSPORT", "tcp", 1);
    unsetenv("HOOP_ALGORITHM");
    options.join_timeout_ms = 600000;
    options.op_timeout_ms = 60000;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index == FROZEN)
        result = frozen_body(worker);
    if (worker->index == 1)
        result = dial_body(worker, session);
    room_set(worker, PLACE_DONE, 1);
    hoop_leave(session);
    return result;
}

static int
daemon_set_up(void **state)
{
    /* The lease must not be what ends the test. */
    const char *arguments[] = {"--lease=60", NULL};

    daemon_start(&hoopd, arguments);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(rank_that_nobody_can_connect_to_is_named_by_all, RANKS),
        WORKERS_TEST(rank_that_freezes_after_the_world_has_formed_is_soon_lost,
                     LATE_RANKS),
    };

    return cmocka_run_group_tests(tests, daemon_set_up, daemon_teardown);
}
