/* tests/integration/session/groups_test.c - forms, uses and frees
 * communicators */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "temporary.h"

/* The sum of 1 plus the world rank of each member must be right. */
static int
sum_is_right(hoop_comm_t *comm)
{
    int64_t expected = 0;
    int64_t value = 1 + hoop_comm_world_rank(comm, hoop_comm_rank(comm));

    for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
        expected += 1 + hoop_comm_world_rank(comm, i);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64, HOOP_SUM,
                                comm) == HOOP_OK);
    WORKER_CHECK(value == expected);
    return 0;
}

/* The members have the given order, and messages use their ranks in it. */
static int
comm_create_keeps_the_order_given(const struct worker *worker)
{
    static const uint32_t ranks[] = {3, 0, 2};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index != 1) {
        WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) == HOOP_OK);
        const uint32_t rank = hoop_comm_rank(comm);
        const uint32_t previous = (rank + 2) % 3;
        int32_t value = (int32_t)worker->index;
        struct hoop_received received = {0};
        hoop_op_t *op = NULL;

        WORKER_CHECK(ranks[rank] == worker->index);
        WORKER_CHECK(hoop_comm_is_member(comm));
        WORKER_CHECK(hoop_comm_size(comm) == 3);
        WORKER_CHECK(hoop_comm_world_rank(comm, 0) == 3);
        WORKER_CHECK(hoop_comm_world_rank(comm, 3) == HOOP_NO_RANK);
        WORKER_CHECK(hoop_send_start(&value, 1, HOOP_INT32, (rank + 1) % 3, 7,
                                     comm, &op) == HOOP_OK);
        int32_t other = -1;
        WORKER_CHECK(hoop_recv(&other, 1, HOOP_INT32, HOOP_ANY_SOURCE, 7, comm,
                               &received) == HOOP_OK);
        WORKER_CHECK(hoop_wait(op, 10000) == HOOP_OK);
        WORKER_CHECK(received.source == previous);
        WORKER_CHECK(other == (int32_t)ranks[previous]);
        WORKER_CHECK(sum_is_right(comm) == 0);
        hoop_comm_free(comm);
    }
    WORKER_CHECK(sum_is_right(hoop_world(session)) == 0);
    hoop_leave(session);
    return 0;
}

/* The workers set different nodes, so that not all of them share memory. */
static int
comm_says_where_its_members_are(const struct worker *worker)
{
    static const uint32_t ranks[] = {3, 0, 2};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    char host[256];

    unsetenv("HOOP_ALGORITHM");
    setenv("HOOP_TRANSPORT", "auto", 1);
    setenv("HOOP_NODE", worker->index == 2 ? "apart" : "together", 1);
    WORKER_CHECK(gethostname(host, sizeof(host)) == 0);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index != 1) {
        WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) == HOOP_OK);
        WORKER_CHECK(strcmp(hoop_comm_host(comm, 2), host) == 0);
        WORKER_CHECK(!hoop_comm_host(comm, 3));
        WORKER_CHECK(hoop_comm_node(comm, 0) == 0);
        WORKER_CHECK(hoop_comm_node(comm, 1) == 0);
        WORKER_CHECK(hoop_comm_node(comm, 2) == 2);
        WORKER_CHECK(hoop_comm_node(comm, 3) == HOOP_NO_RANK);
        WORKER_CHECK(sum_is_right(comm) == 0);
        hoop_comm_free(comm);
    }
    hoop_leave(session);
    return 0;
}

/* A rank that is not a member gets no communicator, or one that does
 * nothing. */
static int
comm_without_us_succeeds_and_touches_nothing(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *none = NULL;
    hoop_op_t *op = NULL;
    int32_t value = 41;

    WORKER_CHECK(hoop_comm_rank(NULL) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_comm_size(NULL) == 0);
    WORKER_CHECK(!hoop_comm_is_member(NULL));
    WORKER_CHECK(hoop_comm_world_rank(NULL, 0) == HOOP_NO_RANK);
    WORKER_CHECK(!hoop_comm_host(NULL, 0));
    WORKER_CHECK(hoop_comm_node(NULL, 0) == HOOP_NO_RANK);
    hoop_comm_set_timeout(NULL, 1);
    hoop_comm_free(NULL);
    WORKER_CHECK(hoop_barrier(NULL) == HOOP_E_INVALID);

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_comm_split(hoop_world(session), HOOP_NO_COLOR, 0,
                                 &none) == HOOP_OK);
    WORKER_CHECK(hoop_comm_rank(none) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_comm_size(none) == 0);
    WORKER_CHECK(hoop_comm_world_rank(none, 0) == HOOP_NO_RANK);
    hoop_comm_set_timeout(none, 1);
    WORKER_CHECK(hoop_allreduce(NULL, &value, 1, HOOP_INT32, HOOP_SUM, none) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_broadcast_start(NULL, &value, 1, HOOP_INT32, 7, none,
                                      &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, 0) == HOOP_OK);
    WORKER_CHECK(hoop_recv(&value, 1, HOOP_INT32, 5, 0, none, NULL) == HOOP_OK);
    WORKER_CHECK(value == 41);
    hoop_comm_t *again = NULL;
    WORKER_CHECK(hoop_comm_split(none, 0, 0, &again) == HOOP_OK);
    WORKER_CHECK(!hoop_comm_is_member(again));
    hoop_comm_free(none);
    /* Freeing the communicator of the world has no effect, since the session
     * owns it. */
    hoop_comm_free(hoop_world(session));
    WORKER_CHECK(sum_is_right(hoop_world(session)) == 0);
    /* The session frees the communicator again. */
    hoop_leave(session);
    return 0;
}

static int
comm_create_of_a_bad_list_is_refused(const struct worker *worker)
{
    static const uint32_t outside[] = {0, 1, 2};
    static const uint32_t twice[] = {1, 0, 1};
    const uint32_t others[] = {1 - worker->index};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    const struct {
        hoop_session_t *session;
        const uint32_t *ranks;
        uint32_t n_ranks;
        const char *text;
    } refused[] = {
        {session, outside, 3, "ranks[2] is 2"},
        {session, twice, 3, "ranks[2] is 1, which stands there twice"},
        {session, others, 1, "not among"},
        {session, outside, 0, "at least one"},
        {session, NULL, 2, "at least one"},
        {NULL, outside, 2, "session is NULL"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        WORKER_CHECK(hoop_comm_create(refused[i].session, refused[i].ranks,
                                      refused[i].n_ranks,
                                      &comm) == HOOP_E_INVALID);
        WORKER_CHECK(strstr(hoop_error_text(), refused[i].text));
    }
    WORKER_CHECK(hoop_comm_create(session, outside, 2, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!comm);
    /* If one rank gives an invalid color, the call fails on all ranks. */
    WORKER_CHECK(hoop_comm_split(hoop_world(session),
                                 worker->index == 1 ? -7 : 0, 0,
                                 &comm) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 1 gave the color -7"));
    WORKER_CHECK(hoop_comm_split(NULL, 0, 0, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(!comm);
    hoop_leave(session);
    return 0;
}

/* There are rows and columns of 2 x 3, with the columns in reverse order, and
 * one rank is left over. */
static int
comm_split_orders_by_key_then_rank(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const bool is_last = worker->index == 6;
    const int64_t row = worker->index / 3;
    const int64_t column = worker->index % 3;
    hoop_session_t *session = NULL;
    hoop_comm_t *across = NULL;
    hoop_comm_t *down = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_comm_split(hoop_world(session),
                                 is_last ? HOOP_NO_COLOR : row, 0,
                                 &across) == HOOP_OK);
    WORKER_CHECK(hoop_comm_split(hoop_world(session),
                                 is_last ? HOOP_NO_COLOR : column, -row,
                                 &down) == HOOP_OK);
    WORKER_CHECK(hoop_comm_is_member(across) == !is_last);
    if (!is_last) {
        WORKER_CHECK(hoop_comm_size(across) == 3);
        WORKER_CHECK(hoop_comm_rank(across) == column);
        WORKER_CHECK(hoop_comm_size(down) == 2);
        WORKER_CHECK(hoop_comm_rank(down) == 1 - row);
        WORKER_CHECK(hoop_comm_world_rank(down, 0) == 3 + column);
        WORKER_CHECK(sum_is_right(across) == 0 && sum_is_right(down) == 0);
    }
    /* A communicator is split again, by keys that reverse the order. */
    hoop_comm_t *pair = NULL;
    WORKER_CHECK(hoop_comm_split(across, column / 2, -column, &pair) ==
                 HOOP_OK);
    if (!is_last) {
        WORKER_CHECK(hoop_comm_size(pair) == (column < 2 ? 2 : 1));
        WORKER_CHECK(hoop_comm_rank(pair) == (column == 0 ? 1 : 0));
        WORKER_CHECK(sum_is_right(pair) == 0);
    }
    hoop_comm_free(down);
    hoop_comm_free(across);
    WORKER_CHECK(is_last || sum_is_right(pair) == 0);
    hoop_comm_free(pair);
    hoop_leave(session);
    return 0;
}

/* The second rank does not call, and is named. The first one may try again. */
static int
comm_create_names_who_did_not_call(const struct worker *worker)
{
    static const uint32_t ranks[] = {1, 0, 2};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;

    options.op_timeout_ms = 3000;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index != 1) {
        WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) ==
                     HOOP_E_TIMEOUT);
        WORKER_CHECK(strstr(hoop_error_text(), "by rank 1 ("));
        room_set(worker, worker->index, 1);
    } else {
        WORKER_CHECK(room_await(worker, 0) && room_await(worker, 2));
    }
    /* A creation that failed does not count. */
    WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) == HOOP_OK);
    WORKER_CHECK(sum_is_right(comm) == 0);
    hoop_comm_free(comm);
    hoop_leave(session);
    return 0;
}

static int
calls_are_numbered_as_the_user_counts(const struct worker *worker)
{
    static const uint32_t ranks[] = {1, 0};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    int value = 0;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK &&
                 hoop_comm_create(session, ranks, 2, &comm) == HOOP_OK &&
                 hoop_barrier(comm) == HOOP_OK);
    const enum hoop_status status =
        hoop_comm_rank(comm) == 0 ? hoop_barrier(comm)
                                  : hoop_allreduce(HOOP_IN_PLACE, &value, 1,
                                                   HOOP_INT32, HOOP_SUM, comm);
    WORKER_CHECK(status == HOOP_E_MISMATCH);
    WORKER_CHECK(strstr(hoop_error_text(), "barrier #2") &&
                 strstr(hoop_error_text(), "allreduce #2 ("));
    hoop_leave(session);
    return 0;
}

/* A rank that waits for one that has died or left learns it before the
 * deadline. */
static int
comm_create_with_one_who_is_gone_fails_at_once(const struct worker *worker)
{
    static const uint32_t ranks[] = {0, 1};
    static const uint32_t left[] = {0, 2};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index == 1) {
        WORKER_CHECK(room_await(worker, 0));
        kill(getpid(), SIGKILL);
    }
    if (worker->index == 2)
        room_set(worker, 2, 1);
    if (worker->index == 0) {
        /* A rank that still joins would miss the dead one, too. */
        WORKER_CHECK(room_await(worker, 2));
        room_set(worker, 0, 1);
        WORKER_CHECK(hoop_comm_create(session, ranks, 2, &comm) ==
                     HOOP_E_PEER_LOST);
        WORKER_CHECK(strstr(hoop_error_text(), "rank 1 ("));
        room_set(worker, 1, 1);
        WORKER_CHECK(hoop_comm_create(session, left, 2, &comm) ==
                     HOOP_E_PRECONDITION);
        WORKER_CHECK(strstr(hoop_error_text(), "rank 2 ("));
        WORKER_CHECK(!comm);
    } else {
        WORKER_CHECK(room_await(worker, 1));
    }
    hoop_leave(session);
    return 0;
}

/* Each of four processes has four threads, which have their own groups. */
struct thread_work {
    const struct worker *worker;
    hoop_session_t *session;
    uint32_t thread;
    int failed;
};

static int
thread_round(const struct thread_work *work, uint32_t round)
{
    const uint32_t n = work->worker->n_workers;
    uint32_t ranks[WORKERS_MAX];
    hoop_comm_t *comm = NULL;

    /* Each thread has its own list, rotated by its number. */
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = (i + work->thread) % n;
    WORKER_CHECK(hoop_comm_create(work->session, ranks, n, &comm) == HOOP_OK);
    WORKER_CHECK(hoop_comm_world_rank(comm, 0) == work->thread % n);
    for (uint32_t i = 0; i <= round % 3; i++)
        WORKER_CHECK(sum_is_right(comm) == 0);
    hoop_comm_free(comm);
    return 0;
}

static void *
thread_run(void *owner)
{
    struct thread_work *work = owner;

    for (uint32_t round = 0; round < 20 && !work->failed; round++)
        work->failed = thread_round(work, round);
    return NULL;
}

static int
comms_of_several_threads_form_and_work_at_once(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    struct thread_work works[4];
    pthread_t threads[4];

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (uint32_t i = 0; i < 4; i++) {
        works[i] = (struct thread_work){worker, session, i, 0};
        WORKER_CHECK(pthread_create(&threads[i], NULL, thread_run, &works[i]) ==
                     0);
    }
    int failed = 0;
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        failed |= works[i].failed;
    }
    hoop_leave(session);
    return failed;
}

/* One rank has finished, and frees the communicator while the others still
 * receive from it. */
static int
comm_free_does_not_disturb_the_others(const struct worker *worker)
{
    static const uint32_t ranks[] = {0, 1, 2};
    enum {
        COUNT = 1 << 20
    };
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    hoop_op_t *op = NULL;
    int32_t *values = calloc(COUNT, sizeof(*values));

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (int round = 0; round < 10; round++) {
        const uint32_t root = (uint32_t)round % 3;
        const size_t count = round % 2 ? COUNT : 100;

        WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) == HOOP_OK);
        for (size_t i = 0; i < count; i++)
            values[i] = worker->index == root ? (int32_t)i + round : -1;
        WORKER_CHECK(hoop_broadcast(HOOP_IN_PLACE, values, count, HOOP_INT32,
                                    root, comm) == HOOP_OK);
        hoop_comm_free(comm);
        for (size_t i = 0; i < count; i++)
            WORKER_CHECK(values[i] == (int32_t)i + round);
    }
    /* The communicator is freed while an operation is in progress, and its
     * waiter is told. */
    WORKER_CHECK(hoop_comm_create(session, ranks, 3, &comm) == HOOP_OK);
    WORKER_CHECK(hoop_recv_start(values, 1, HOOP_INT32, HOOP_ANY_SOURCE, 1,
                                 comm, NULL, &op) == HOOP_OK);
    hoop_comm_free(comm);
    WORKER_CHECK(hoop_wait(op, 5000) == HOOP_E_CLOSED);
    WORKER_CHECK(sum_is_right(hoop_world(session)) == 0);
    free(values);
    hoop_leave(session);
    return 0;
}

/* Each communicator has its own deadline. A timeout of one does not affect the
 * others. */
static int
comm_has_a_deadline_of_its_own(const struct worker *worker)
{
    static const uint32_t ranks[] = {0, 1};
    static const uint32_t turned[] = {1, 0};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comms[2] = {NULL};
    hoop_comm_t *third = NULL;
    int32_t value = 0;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (int i = 0; i < 2; i++)
        WORKER_CHECK(hoop_comm_create(session, ranks, 2, &comms[i]) == HOOP_OK);
    hoop_comm_set_timeout(comms[0], 200);
    if (worker->index == 0) {
        const uint64_t began_ns = clock_now_ns();

        /* The timeout of the world is also that of forming communicators. The
         * session has 20 s. */
        hoop_comm_set_timeout(hoop_world(session), 300);
        WORKER_CHECK(hoop_comm_create(session, turned, 2, &third) ==
                     HOOP_E_TIMEOUT);
        WORKER_CHECK(clock_now_ns() - began_ns < 15 * CLOCK_NS_PER_S);
        hoop_comm_set_timeout(hoop_world(session), 0);
        WORKER_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 3, comms[0], NULL) ==
                     HOOP_E_TIMEOUT);
        WORKER_CHECK(strstr(hoop_error_text(), "rank 1 ("));
        room_set(worker, 0, 1);
    } else {
        WORKER_CHECK(room_await(worker, 0));
    }
    WORKER_CHECK(sum_is_right(comms[1]) == 0);
    hoop_comm_set_timeout(comms[0], 0);
    WORKER_CHECK(sum_is_right(comms[0]) == 0);
    /* The communicator is not freed, since the end of the session does it. */
    hoop_leave(session);
    return 0;
}

/* Rank 0 calls on 'a' and rank 1 on 'b', and each waits for the other to call,
 * too. */
static int
ranks_in_each_others_way_are_told_of_the_communicator(
    const struct worker *worker)
{
    static const uint32_t ranks[] = {1, 0};
    static const char *const names[] = {"a", "b"};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comms[2] = {NULL};
    char expected[160];

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (int i = 0; i < 2; i++) {
        WORKER_CHECK(hoop_comm_create(session, ranks, 2, &comms[i]) == HOOP_OK);
        WORKER_CHECK(hoop_comm_set_name(comms[i], names[i]) == HOOP_OK);
        hoop_comm_set_timeout(comms[i], 1000);
    }
    const uint32_t other = 1 - worker->index;
    snprintf(expected, sizeof(expected),
             "it has not called this, but barrier #1 of communicator '%s'",
             names[other]);
    WORKER_CHECK(hoop_barrier(comms[worker->index]) == HOOP_E_TIMEOUT);
    WORKER_CHECK(strstr(hoop_error_text(), expected));
    /* Other communicators are not disturbed. */
    WORKER_CHECK(sum_is_right(hoop_world(session)) == 0);
    WORKER_CHECK(hoop_comm_set_name(comms[0], "") == HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_set_name(comms[0], "two\nlines") == HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_set_name(comms[0], NULL) == HOOP_E_INVALID);
    hoop_leave(session);
    return 0;
}

/* Rank 0 writes here what it waits for. */
static char notices[TEMPORARY_PATH] = "hoop_groups.XXXXXX";

/* Waits, as rank 1, until rank 0 has printed what it waits for: the text before
 * the name, the name, and later text. The number of bytes depends on the tested
 * path. */
static int
notice_await(const struct worker *worker,
             const char *waits,
             const char *what,
             const char *then)
{
    const uint64_t deadline_ns = clock_deadline_ns(60000);
    char host[256] = "";
    char expected[512];
    static char text[65536];

    if (worker->index == 0)
        return 0;
    gethostname(host, sizeof(host) - 1);
    snprintf(expected, sizeof(expected), " wait: %s rank 1 (%s:%d) to %s",
             waits, host, (int)getpid(), what);
    while (!clock_is_past(deadline_ns)) {
        const int fd = open(notices, O_RDONLY | O_CLOEXEC);
        const ssize_t n_bytes = read(fd, text, sizeof(text) - 1);

        close(fd);
        text[n_bytes > 0 ? n_bytes : 0] = '\0';
        const char *at = strstr(text, expected);
        at = at ? strstr(at, then) : NULL;
        /* If the call had to wait before, less time is left. */
        if (at && (strstr(at, " s; HOOP_TIMEOUT allows 77 s)\n") ||
                   strstr(at, " s; the call's deadline allows ")))
            return 0;
        usleep(1000);
    }
    fprintf(stderr, "not said: %s\nbut: %s\n", expected, text);
    return 1;
}

static int
notice_body(const struct worker *worker)
{
    static const uint32_t ranks[] = {0, 1};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comm = NULL;
    hoop_comm_t *shrunk = NULL;
    hoop_comm_t *part = NULL;
    const struct hoop_state nothing = {.version = 1};
    uint64_t flags = 1;

    options.op_timeout_ms = 77000;
    if (worker->index == 0) {
        const int fd = open(notices, O_WRONLY | O_APPEND | O_CLOEXEC);

        WORKER_CHECK(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
        close(fd);
        setenv("HOOP_WAIT_NOTICE", "0.05", 1);
    }
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(notice_await(worker, "waiting for",
                              "create the same communicator, too; ",
                              "1 of 2 are here (since ") == 0);
    WORKER_CHECK(hoop_comm_create(session, ranks, 2, &comm) == HOOP_OK);
    WORKER_CHECK(notice_await(worker, "waiting for", "agree, too; ",
                              "1 of 2 are here (since ") == 0);
    WORKER_CHECK(hoop_comm_agree(comm, &flags) == HOOP_OK);
    WORKER_CHECK(notice_await(worker, "waiting for",
                              "shrink the communicator, too; ",
                              "1 of 2 are here (since ") == 0);
    WORKER_CHECK(hoop_comm_shrink(comm, &shrunk) == HOOP_OK);
    WORKER_CHECK(sum_is_right(shrunk) == 0);
    WORKER_CHECK(notice_await(worker, "hoop_comm_split() waits for",
                              "send (0 of ",
                              " bytes; it has not called this)") == 0);
    WORKER_CHECK(hoop_comm_split(shrunk, 0, 0, &part) == HOOP_OK);
    WORKER_CHECK(notice_await(worker, "hoop_state_sync() waits for",
                              "send (0 of ",
                              " bytes; it has not called this)") == 0);
    WORKER_CHECK(hoop_state_sync(&nothing, part, NULL) == HOOP_OK);
    hoop_leave(session);
    return 0;
}

static void
who_waits_for_others_says_for_whom(void **state)
{
    const int fd = temporary_file(notices, sizeof(notices));

    assert_true(fd >= 0);
    close(fd);
    const uint32_t n_bad = workers_run(hoopd.address, 2, notice_body, NULL);
    unlink(notices);
    assert_int_equal(n_bad, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(comm_create_keeps_the_order_given, 4),
        WORKERS_TEST(comm_says_where_its_members_are, 4),
        WORKERS_TEST(comm_without_us_succeeds_and_touches_nothing, 2),
        WORKERS_TEST(comm_create_of_a_bad_list_is_refused, 2),
        WORKERS_TEST(comm_split_orders_by_key_then_rank, 7),
        WORKERS_TEST(comm_create_names_who_did_not_call, 3),
        WORKERS_TEST(calls_are_numbered_as_the_user_counts, 2),
        WORKERS_TEST(comm_create_with_one_who_is_gone_fails_at_once, 3),
        WORKERS_TEST(comms_of_several_threads_form_and_work_at_once, 4),
        WORKERS_TEST(comm_free_does_not_disturb_the_others, 3),
        WORKERS_TEST(comm_has_a_deadline_of_its_own, 2),
        WORKERS_TEST(ranks_in_each_others_way_are_told_of_the_communicator, 2),
        cmocka_unit_test(who_waits_for_others_says_for_whom),
    };
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
