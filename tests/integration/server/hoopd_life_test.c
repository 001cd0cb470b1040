/*
 * tests/integration/server/hoopd_life_test.c - bad clients, end, restart
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/identity.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/role.h"
#include "check.h"
#include "fault/fault.h"
#include "integration/coordinator_clients.h"
#include "integration/daemon.h"
#include "net/loop.h"
#include "temporary.h"

enum {
    PARKED_MS = 1000,
};

static int
address_connect(const char *text)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1)),
        .sin_addr = {htonl(INADDR_LOOPBACK)},
    };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(
        connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void
bytes_throw(const char *address, const void *bytes, size_t n_bytes)
{
    const int fd = address_connect(address);

    /* hoopd may close the connection, which is fine. */
    if (send(fd, bytes, n_bytes, MSG_NOSIGNAL) < 0) {
        close(fd);
        return;
    }
    close(fd);
}

static void
job_open(struct coordinator_clients *coordinator_clients,
         const struct daemon *daemon,
         size_t n_clients)
{
    coordinator_clients_open(
        coordinator_clients,
        &(struct coordinator_clients_options){.address = daemon->address,
                                              .job = "life",
                                              .token = "secret",
                                              .n_clients = n_clients});
}

static void
strangers_on_the_port_disturb_nobody(void **state)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    /* A valid greeting is followed by a message of 2^62 bytes. */
    static const uint8_t flood[] = {0,    'S', 'P', 0, 0, 0x30, 0, 0,
                                    0x40, 0,   0,   0, 0, 0,    0, 0};
    /* A valid greeting is followed by an invalid request. */
    static const uint8_t nonsense[] = {
        0, 'S', 'P', 0, 0,    0x30, 0, 0, 0,    0,    0,    0,
        0, 0,   0,   8, 0x80, 0,    0, 1, 0xde, 0xad, 0xbe, 0xef};
    struct daemon daemon;
    struct joiner joiners[2];
    struct coordinator_clients coordinator_clients;
    uint8_t noise[4096];

    daemon_start(&daemon, NULL);
    const int silent = address_connect(daemon.address);
    for (int i = 0; i < 50; i++)
        close(address_connect(daemon.address));
    bytes_throw(daemon.address, http, sizeof(http) - 1);
    bytes_throw(daemon.address, flood, sizeof(flood));
    bytes_throw(daemon.address, nonsense, sizeof(nonsense));
    for (int i = 0; i < 20; i++) {
        assert_ok(random_fill(noise, sizeof(noise)));
        bytes_throw(daemon.address, noise, sizeof(noise));
    }

    job_open(&coordinator_clients, &daemon, 2);
    joiner_init(&joiners[0], coordinator_clients.clients[0], 2);
    joiner_init(&joiners[1], coordinator_clients.clients[1], 2);
    joiners_run(joiners, 2);
    assert_ok(member_renew(&joiners[0]));
    joiner_deinit(&joiners[0]);
    joiner_deinit(&joiners[1]);
    coordinator_clients_close(&coordinator_clients);
    close(silent);
    daemon_stop(&daemon);
}

static void
check_tells_a_serving_daemon_from_none(void **state)
{
    struct daemon daemon;

    daemon_start(&daemon, NULL);
    assert_int_equal(daemon_check(daemon.address), 0);
    assert_int_equal(daemon_check(daemon.http_address), 1);
    daemon_stop(&daemon);
    assert_int_equal(daemon_check(daemon.address), 1);
}

static void
sigterm_answers_who_waits_and_exits_with_0(void **state)
{
    struct daemon daemon;
    struct joiner joiner;
    struct coordinator_clients coordinator_clients;

    daemon_start(&daemon, NULL);
    job_open(&coordinator_clients, &daemon, 1);
    joiner_init(&joiner, coordinator_clients.clients[0], 2);
    joiner_start(&joiner);
    daemon_expect_log(&daemon, "life");
    const uint64_t before_ns = clock_now_ns();
    daemon_stop(&daemon);
    assert_true(clock_now_ns() - before_ns < 5 * CLOCK_NS_PER_S);
    assert_int_equal(joiner_wait(&joiner), HOOP_E_UNAVAILABLE);
    coordinator_clients_close(&coordinator_clients);
}

static void
on_nothing(void *owner, const struct rpc_answer *answer)
{
}

static void
call_send(struct rpc_client *client, enum method_id method, struct pack *pack)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    assert_ok(pack_take(pack, &bytes, &n_bytes));
    const struct rpc_call call = {
        .method = method_by_id(method)->name,
        .body = {bytes, n_bytes},
        .timeout_ms = PARKED_MS,
        .on_answer = on_nothing,
    };
    assert_ok(rpc_client_call(client, &call, NULL));
}

/* Joins as the first member of a job that needs two, and waits for a key that
 * is never set. hoopd has both calls when it handles the addition. This runs on
 * the loop of owner, which is a joiner. */
static void
calls_park(void *owner)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct joiner *joiner = owner;
    const char *key = "none";

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_request_encode(&joiner->request, &pack);
    call_send(joiner->client, METHOD_RENDEZVOUS_JOIN, &pack);
    store_keys_request_encode(
        &(struct store_keys_request){.n_keys = 1, .keys = &key}, &pack);
    call_send(joiner->client, METHOD_STORE_WAIT, &pack);
    store_add_request_encode(&(struct store_add_request){"counter", 1, 0},
                             &pack);
    call_send(joiner->client, METHOD_STORE_ADD, &pack);
}

/* Returns when hoopd has stopped within the addition, and no client is left. */
static void
park_and_go(const struct daemon *daemon)
{
    struct joiner joiner;
    struct coordinator_clients coordinator_clients;
    siginfo_t change = {0};

    coordinator_clients_open(
        &coordinator_clients,
        &(struct coordinator_clients_options){.address = daemon->address,
                                              .job = "late",
                                              .token = "secret",
                                              .n_clients = 1});
    joiner_init(&joiner, coordinator_clients.clients[0], 2);
    joiner.request.deadline_ms = PARKED_MS;
    assert_ok(loop_post(coordinator_clients.loop, calls_park, &joiner));
    assert_int_equal(
        waitid(P_PID, (id_t)daemon->pid, &change, WSTOPPED | WEXITED | WNOWAIT),
        0);
    assert_int_equal(change.si_code, CLD_STOPPED);
    coordinator_clients_close(&coordinator_clients);
}

/* hoopd learns at the same time that the client is gone and that the time of
 * its calls is over, and of the client first, since it was not stopped while it
 * waited. */
static void
client_that_goes_when_the_time_of_its_calls_is_up_disturbs_nobody(void **state)
{
    struct daemon daemon;
    struct joiner joiner;
    struct coordinator_clients coordinator_clients;

    if (!FAULT_IS_BUILT)
        skip();
    assert_int_equal(setenv("HOOP_DEBUG_FAULT",
                            "rank=coordinator,op=store_add,at=send,do=stop", 1),
                     0);
    daemon_start(&daemon, NULL);
    assert_int_equal(unsetenv("HOOP_DEBUG_FAULT"), 0);
    job_open(&coordinator_clients, &daemon, 1);
    joiner_init(&joiner, coordinator_clients.clients[0], 1);
    joiners_run(&joiner, 1);
    park_and_go(&daemon);
    const uint64_t until_ns = clock_deadline_ns(PARKED_MS);
    while (!clock_is_past(until_ns))
        usleep(1000);
    assert_int_equal(kill(daemon.pid, SIGCONT), 0);
    assert_ok(member_renew(&joiner));
    joiner_deinit(&joiner);
    coordinator_clients_close(&coordinator_clients);
    daemon_stop(&daemon);
}

/* Returns what a member learns next about its world. */
static void
watch_next(const struct joiner *joiner, struct watch_reply *out_reply)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct coordinator_clients_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    watch_request_encode(
        &(struct watch_request){joiner->reply.epoch, joiner->reply.revision,
                                WATCH_NO_QUESTION, WATCH_NO_QUESTION,
                                WATCH_NO_QUESTION},
        &pack);
    assert_ok(coordinator_clients_call(joiner->client, METHOD_RENDEZVOUS_WATCH,
                                       &pack, &answer));
    assert_ok(watch_reply_decode(
        (struct message_span){answer.body, answer.n_body}, out_reply));
    free(answer.body);
}

/* Only one member renews its lease, until the watch reports the loss of the
 * other one. */
static void
silent_member_is_lost_and_the_watch_tells(void **state)
{
    const char *arguments[] = {"--lease=1500ms", NULL};
    CLEANUP(watch_reply_deinit) struct watch_reply changes = {0};
    struct joined_pair pair;
    const struct joiner *joiners = pair.joiners;

    joined_pair_start(
        &pair, &(struct joined_pair_options){
                   .arguments = arguments, .job = "life", .n_clients = 2});
    assert_int_equal(joiners[0].reply.lease_ms, 1500);

    /* No member renews now: the watch waits for the first verdict. */
    watch_next(&joiners[0], &changes);
    assert_true(changes.n_events >= 1);
    assert_int_equal(changes.events[0].kind, WATCH_LOST);
    assert_non_null(strstr(changes.events[0].reason, "lease"));
    assert_int_equal(changes.events[0].pid, 4711);
    daemon_expect_log(&pair.daemon, "lost");
    joined_pair_stop(&pair);
}

static void
member_that_left_is_told_to_the_others(void **state)
{
    CLEANUP(watch_reply_deinit) struct watch_reply changes = {0};
    struct joined_pair pair;
    const struct joiner *joiners = pair.joiners;

    joined_pair_start(
        &pair, &(struct joined_pair_options){.job = "life", .n_clients = 2});
    assert_ok(member_leave(&joiners[1]));
    watch_next(&joiners[0], &changes);
    assert_int_equal(changes.n_events, 1);
    assert_int_equal(changes.events[0].kind, WATCH_LEFT);
    assert_int_equal(changes.events[0].rank, joiners[1].reply.rank);
    joined_pair_stop(&pair);
}

static void
reported_member_is_lost_with_the_reporter_named(void **state)
{
    CLEANUP(watch_reply_deinit) struct watch_reply changes = {0};
    CLEANUP(pack_deinit) struct pack pack;
    struct coordinator_clients_answer answer;
    struct joined_pair pair;
    const struct joiner *joiners = pair.joiners;

    joined_pair_start(
        &pair, &(struct joined_pair_options){.job = "life", .n_clients = 2});
    struct report_request report = {
        .reporter = {joiners[0].reply.epoch, joiners[0].request.incarnation},
        .rank = joiners[1].reply.rank,
        .incarnation = identity_of_incarnation(joiners[1].request.incarnation),
        .reason = "connection reset",
    };
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    report_request_encode(&report, &pack);
    assert_ok(coordinator_clients_call(
        joiners[0].client, METHOD_RENDEZVOUS_REPORT, &pack, &answer));
    free(answer.body);
    watch_next(&joiners[0], &changes);
    assert_int_equal(changes.n_events, 1);
    assert_int_equal(changes.events[0].kind, WATCH_LOST);
    assert_int_equal(changes.events[0].rank, report.rank);
    assert_non_null(strstr(changes.events[0].reason, "connection reset"));
    daemon_expect_log(&pair.daemon, "connection reset");

    /* A lost member that continues is told that it is lost. */
    assert_int_not_equal(member_renew(&joiners[1]), HOOP_OK);
    joined_pair_stop(&pair);
}

static void
metrics_count_what_happened(void **state)
{
    char request[LIMIT_TOKEN + 64];
    char token[LIMIT_TOKEN];
    CLEANUP(free) char *text = calloc(1, 65536);
    struct daemon daemon;
    struct joiner joiner;
    struct coordinator_clients coordinator_clients;
    size_t n_text = 0;
    ssize_t n = 0;

    daemon_start(&daemon, NULL);
    job_open(&coordinator_clients, &daemon, 1);
    joiner_init(&joiner, coordinator_clients.clients[0], 1);
    joiners_run(&joiner, 1);
    assert_ok(role_derive_token(ROLE_METRICS, "secret", token));
    snprintf(request, sizeof(request),
             "GET /metrics HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n",
             token);
    const int fd = address_connect(daemon.http_address);
    assert_true(send(fd, request, strlen(request), 0) > 0);
    while ((n = recv(fd, text + n_text, 65535 - n_text, 0)) > 0)
        n_text += (size_t)n;
    close(fd);
    assert_non_null(strstr(text, "\nhoop_joins_total 1\n"));
    assert_non_null(strstr(text, "\nhoop_jobs 1\n"));
    assert_non_null(strstr(text, "\nhoop_rpc_requests_total{method=\""
                                 "hoop.v1.Rendezvous/Join\",status=\"OK\"} "
                                 "1\n"));
    joiner_deinit(&joiner);
    coordinator_clients_close(&coordinator_clients);
    daemon_stop(&daemon);
}

/* Without a token, any client would be trusted. */
static void
daemon_for_other_hosts_without_a_token_says_so(void **state)
{
    static const char *const arguments[] = {
        "--listen", "0.0.0.0:0", "--insecure-open", "--token-file=", NULL};
    struct daemon daemon;

    daemon_start(&daemon, arguments);
    daemon_expect_log(&daemon, "anybody who can connect");
    daemon_stop(&daemon);
}

static void
daemon_names_a_misspelt_setting(void **state)
{
    struct daemon daemon;

    assert_int_equal(setenv("HOOP_LEESE", "5", 1), 0);
    daemon_start(&daemon, NULL);
    assert_int_equal(unsetenv("HOOP_LEESE"), 0);
    daemon_expect_log(&daemon, "do you mean HOOP_LEASE?");
    daemon_stop(&daemon);
}

/* The cases below test what remains of a job when hoopd is back. A worker kills
 * the coordinator and starts it again with its data, while the other workers
 * continue. */

enum {
    WORKERS = 3,
    CALLS = 50,

    /* These are places in the room. */
    PLACE_JOINED = 0,
    PLACE_KILLED = 1,  /* 1: killed, 2: restarted */
    PLACE_UNHEARD = 2, /* 1: gave up once, 2: gave up again */
};

static char folder[TEMPORARY_PATH];
static char data[sizeof(folder) + 16];
static struct daemon first;

static void
daemon_begin(struct daemon *daemon, const char *listen)
{
    char listening[LIMIT_ADDRESS + 16];

    snprintf(data, sizeof(data), "--data-dir=%s", folder);
    snprintf(listening, sizeof(listening), "--listen=%s", listen);
    daemon_start(daemon, (const char *[]){data, "--durability=process",
                                          "--lease=2", listening, NULL});
}

/* Waits until hoopd is gone, so that another one can use its data. It is not a
 * child of this worker. */
static int
daemon_kill(const struct daemon *daemon)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, daemon->pid, 0),
                         .events = POLLIN};

    WORKER_CHECK(end.fd >= 0);
    WORKER_CHECK(kill(daemon->pid, SIGKILL) == 0);
    WORKER_CHECK(poll(&end, 1, 10000) == 1);
    close(end.fd);
    return 0;
}

static int
calls_are_right(hoop_comm_t *comm)
{
    for (int call = 0; call < CALLS; call++) {
        int64_t value = 1;

        WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64,
                                    HOOP_SUM, comm) == HOOP_OK);
        WORKER_CHECK(value == hoop_comm_size(comm));
    }
    return 0;
}

/* There are two communicators with the same members. One is from before the
 * restart. */
static int
return_body(const struct worker *worker)
{
    static const uint32_t ranks[] = {2, 0, 1};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *before = NULL;
    hoop_comm_t *after = NULL;
    struct daemon second;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_comm_create(session, ranks, WORKERS, &before) == HOOP_OK);
    WORKER_CHECK(calls_are_right(before) == 0);
    if (worker->index == 0) {
        WORKER_CHECK(daemon_kill(&first) == 0);
        WORKER_CHECK(calls_are_right(before) == 0);
        daemon_begin(&second, first.address);
    } else {
        WORKER_CHECK(calls_are_right(before) == 0);
    }
    /* The call is made before or after hoopd is back. */
    WORKER_CHECK(hoop_comm_create(session, ranks, WORKERS, &after) == HOOP_OK);
    WORKER_CHECK(calls_are_right(after) == 0);
    WORKER_CHECK(calls_are_right(before) == 0);
    hoop_comm_free(before);
    hoop_comm_free(after);
    WORKER_CHECK(hoop_comm_create(session, ranks, WORKERS, &after) == HOOP_OK);
    hoop_comm_free(after);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    hoop_leave(session);
    if (worker->index == 0)
        daemon_stop(&second);
    return 0;
}

/* Two workers give up while hoopd is gone, and report it again when it is back:
 * one gives up once more, and the other leaves. */
static int
unheard_body(const struct worker *worker)
{
    static const char *const reasons[] = {"met a bad block",
                                          "met a bad sector"};
    hoop_session_t *session = NULL;
    struct daemon second;

    if (worker_join(worker, 2, PLACE_JOINED, &session) != 0)
        return 1;
    if (worker->index == 0)
        WORKER_CHECK(daemon_kill(&first) == 0);
    room_set(worker, worker->index == 0 ? PLACE_KILLED : PLACE_UNHEARD, 1);
    WORKER_CHECK(room_await(worker, PLACE_KILLED) == 1);
    WORKER_CHECK(room_await(worker, PLACE_UNHEARD) == 1);
    hoop_abort(session, reasons[worker->index]);
    if (worker->index == 1) {
        room_set(worker, PLACE_UNHEARD, 2);
        WORKER_CHECK(room_await_count(worker, PLACE_KILLED, 2) == 2);
        hoop_leave(session);
        return 0;
    }
    WORKER_CHECK(room_await_count(worker, PLACE_UNHEARD, 2) == 2);
    daemon_begin(&second, first.address);
    room_set(worker, PLACE_KILLED, 2);
    hoop_abort(session, "met another failure");
    daemon_expect_log(&second, reasons[0]);
    daemon_expect_log(&second, reasons[1]);
    hoop_leave(session);
    daemon_stop(&second);
    return 0;
}

static void
coordinated_run(uint32_t n_workers, worker_fn *body)
{
    char path[sizeof(data) + 16];

    snprintf(folder, sizeof(folder), "hoopd-return.XXXXXX");
    assert_non_null(temporary_folder(folder, sizeof(folder)));
    daemon_begin(&first, "127.0.0.1:0");
    assert_int_equal(workers_run(first.address, n_workers, body, NULL), 0);
    snprintf(path, sizeof(path), "%s/hoopd.mdb", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/hoopd.lock", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    unlink(first.log_path);
}

static void
communicators_outlive_the_coordinator(void **state)
{
    coordinated_run(WORKERS, return_body);
}

static void
reason_that_was_not_heard_is_told_again(void **state)
{
    coordinated_run(2, unheard_body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_on_the_port_disturb_nobody),
        cmocka_unit_test(check_tells_a_serving_daemon_from_none),
        cmocka_unit_test(sigterm_answers_who_waits_and_exits_with_0),
        cmocka_unit_test(
            client_that_goes_when_the_time_of_its_calls_is_up_disturbs_nobody),
        cmocka_unit_test(silent_member_is_lost_and_the_watch_tells),
        cmocka_unit_test(member_that_left_is_told_to_the_others),
        cmocka_unit_test(reported_member_is_lost_with_the_reporter_named),
        cmocka_unit_test(metrics_count_what_happened),
        cmocka_unit_test(daemon_for_other_hosts_without_a_token_says_so),
        cmocka_unit_test(daemon_names_a_misspelt_setting),
        cmocka_unit_test(communicators_outlive_the_coordinator),
        cmocka_unit_test(reason_that_was_not_heard_is_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
