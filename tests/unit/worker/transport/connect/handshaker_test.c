/* tests/unit/worker/transport/connect/handshaker_test.c - transport/connect/handshaker.c: a dialer
 * that gives up */

#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "check.h"
#include "net/socket.h"
#include "test_cluster.h"
#include "transport/connect/handshake.h"
#include "transport/shm/negotiation.h"

static struct test_cluster test_cluster;

/* Between these nothing happens on the loop. */
static sem_t is_held;
static sem_t may_go;

static void
loop_hold(void *owner)
{
    sem_post(&is_held);
    sem_wait(&may_go);
}

static void
receive_all(int fd, uint8_t out[HANDSHAKE_MESSAGE_BYTES])
{
    struct pollfd comes = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&comes, 1, 20000), 1);
    assert_int_equal(recv(fd, out, HANDSHAKE_MESSAGE_BYTES, MSG_WAITALL),
                     HANDSHAKE_MESSAGE_BYTES);
}

/* Rank 0's dial, up to its proof, with which it offers memory; then it is gone,
 * and so is the memory, before rank 1 has looked at either. */
static void
dial_and_give_up(void)
{
    struct handshake_key key;
    struct handshake handshake = {
        .key = &key, .roster = test_cluster.test_nodes[0].roster, .peer = 1};
    struct shm_negotiation shm_negotiation = {.mode = SHM_MODE_ALWAYS};
    uint8_t message[HANDSHAKE_MESSAGE_BYTES];

    assert_ok(handshake_key_init(&key, "secret", handshake.roster));
    assert_ok(handshake_write_hello(&handshake, message));
    const int fd = stranger_open(&test_cluster, 1, message, sizeof(message));
    receive_all(fd, message);
    assert_ok(loop_post(test_cluster.loop, loop_hold, &test_cluster));
    sem_wait(&is_held);
    shm_negotiation_offer(&shm_negotiation, &handshake);
    assert_ok(handshake_write_proof(&handshake, message, message));
    assert_int_equal(send(fd, message, sizeof(message), MSG_NOSIGNAL),
                     sizeof(message));
    socket_close(fd);
    shm_negotiation_deinit(&shm_negotiation);
    sem_post(&may_go);
}

static void
dialer_that_gave_up_may_come_again(void **state)
{
    sem_init(&is_held, 0, 0);
    sem_init(&may_go, 0, 0);
    test_cluster_open(&test_cluster);
    for (unsigned i = 0; i < 2; i++)
        test_cluster.test_nodes[i].config.shm_negotiation = SHM_MODE_ALWAYS;
    test_cluster_start(&test_cluster);
    dial_and_give_up();
    test_cluster_connect(&test_cluster, 0, 1);
    assert_int_equal(test_cluster.test_nodes[1].n_unreachable[0], 0);
    test_cluster_close(&test_cluster);
}

/* Ranks 1 and 2 have kernels that take connections, and nobody who answers. */
struct mutes {
    int fds[TEST_CLUSTER_RANKS];
};

static void
mutes_open(struct mutes *mutes)
{
    test_cluster_open(&test_cluster);
    for (uint32_t i = 0; i < TEST_CLUSTER_RANKS; i++)
        test_cluster.test_nodes[i].forming_until_ns = clock_deadline_ns(60000);
    for (uint32_t i = 1; i < TEST_CLUSTER_RANKS; i++) {
        mutes->fds[i] = test_cluster.test_nodes[i].listen_fd;
        test_cluster.test_nodes[i].listen_fd = -1;
    }
    test_cluster_start(&test_cluster);
}

static void
mutes_close(const struct mutes *mutes)
{
    for (uint32_t i = 1; i < TEST_CLUSTER_RANKS; i++)
        close(mutes->fds[i]);
    test_cluster_close(&test_cluster);
}

/* from dials mute, and has said its first word. */
static int
mute_dialed(const struct mutes *mutes, uint32_t from, uint32_t mute)
{
    uint8_t hello[HANDSHAKE_MESSAGE_BYTES];
    struct pollfd comes = {.fd = mutes->fds[mute], .events = POLLIN};

    connector_dial(test_cluster.test_nodes[from].connector, mute);
    assert_int_equal(poll(&comes, 1, 20000), 1);
    const int fd = accept(mutes->fds[mute], NULL, NULL);
    assert_true(fd >= 0);
    receive_all(fd, hello);
    return fd;
}

/* While the world forms silence may be want of a processor, which is waited for;
 * rank 1 knows of no end of that, rank 0 does. */
static void
mute_peer_has_until_the_world_has_formed(void **state)
{
    struct mutes mutes;

    mutes_open(&mutes);
    const int stranger = stranger_open(&test_cluster, 0, "HOOP", 4);
    const int forming = mute_dialed(&mutes, 1, 2);
    const int begun_before = mute_dialed(&mutes, 0, 1);
    assert_ok(connector_end_forming(test_cluster.test_nodes[0].connector));
    const int begun_after = mute_dialed(&mutes, 0, 2);

    struct pollfd ends = {.fd = forming, .events = POLLIN};
    assert_int_equal(poll(&ends, 1, LIMIT_HANDSHAKE_MS + 500), 0);
    close(forming);
    stranger_await_end(stranger);
    stranger_await_end(begun_before);
    stranger_await_end(begun_after);
    mutes_close(&mutes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mute_peer_has_until_the_world_has_formed),
        cmocka_unit_test(dialer_that_gave_up_may_come_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
