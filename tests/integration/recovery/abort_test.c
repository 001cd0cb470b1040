/* tests/integration/recovery/abort_test.c - a rank gives up and says why */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hoop/elastic.h"

#include "base/clock.h"
#include "base/process.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    MEMBERS = 3,
    GROW_MS = 20000,
    LOOK_US = 500,
    /* hoop_abort() waits for a second, and may take this long in all. */
    ABORT_MS = 1900,

    /* These are places in the room. */
    PLACE_JOINED = 0,
    PLACE_GROWN = 1,
    PLACE_GROWN_AGAIN = 2,
    PLACE_READY = 3,
    PLACE_TOLD = 4,
    PLACE_PIDS = 5, /* one for each worker */
    PLACE_SHORT = 15,

    SHORT_WORKERS = 10,
    SHORT_JOBS = 10, /* tried at most */
    /* What place PLACE_SHORT says: worker 1 needed no connection, or had no
     * watch for one. */
    SHORT_OF_NOTHING = 1,
    SHORT_OF_WATCH = 2,
};

static const char reason[] = "ran out of disk space";

static struct daemon away;

static int
failure_check(enum hoop_status status, const char *culprit, const char *why)
{
    const char *text = hoop_error_text();
    const char *name = strstr(text, culprit);

    WORKER_CHECK(status == HOOP_E_RANK_FAILED);
    WORKER_CHECK(name && strstr(name, why));
    WORKER_CHECK(!strstr(text, "is lost"));
    return 0;
}

/* Worker 1 of three gives up. Its own calls report the same as those of the
 * others, but as "this rank". */
static int
ordinary_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;

    if (worker_join(worker, MEMBERS, PLACE_JOINED, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == 1) {
        hoop_abort(session, reason);
        WORKER_CHECK(failure_check(hoop_barrier(world), "rank", reason) == 0);
        hoop_abort(session, "met a second failure");
        WORKER_CHECK(failure_check(hoop_barrier(world), "rank", reason) == 0);
        hoop_leave(session);
        return 0;
    }
    WORKER_CHECK(failure_check(hoop_barrier(world), "rank 1 (", reason) == 0);
    WORKER_CHECK(!strstr(hoop_error_text(), "second failure"));
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(shrunk) == 2);
    if (worker_allreduce(shrunk, 100) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
rank_that_gives_up_is_named_with_its_first_reason(void **state)
{
    assert_int_equal(workers_run(hoopd.address, MEMBERS, ordinary_body, NULL),
                     0);
    daemon_expect_log(&hoopd, reason);
}

struct blocked {
    hoop_comm_t *comm;
    const struct worker *worker;
    int n_wrong;
};

static void *
blocked_call(void *argument)
{
    struct blocked *blocked = argument;

    room_set(blocked->worker, PLACE_READY, 1);
    blocked->n_wrong =
        failure_check(hoop_barrier(blocked->comm), "this rank", reason);
    return NULL;
}

/* Worker 0 waits for worker 1 in one thread, and gives up in another. */
static int
call_of_another_thread_ends(const struct worker *worker)
{
    struct blocked blocked = {.worker = worker};
    hoop_session_t *session = NULL;
    pthread_t thread;

    if (worker_join(worker, 2, PLACE_JOINED, &session) != 0)
        return 1;
    blocked.comm = hoop_world(session);
    if (worker->index == 0) {
        WORKER_CHECK(pthread_create(&thread, NULL, blocked_call, &blocked) ==
                     0);
        WORKER_CHECK(room_await(worker, PLACE_READY) == 1);
        hoop_abort(session, reason);
        pthread_join(thread, NULL);
        WORKER_CHECK(blocked.n_wrong == 0);
        room_set(worker, PLACE_TOLD, 1);
    } else {
        WORKER_CHECK(room_await(worker, PLACE_TOLD) == 1);
        WORKER_CHECK(
            failure_check(hoop_barrier(blocked.comm), "rank 0 (", reason) == 0);
    }
    hoop_leave(session);
    return 0;
}

/* A forked child of worker 0 has no session, although it inherits the
 * memory. */
static int
forked_child_does_not_give_up_for_its_parent(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    int how = -1;

    if (worker_join(worker, 2, PLACE_JOINED, &session) != 0)
        return 1;
    if (worker->index == 0) {
        const pid_t child = fork();

        WORKER_CHECK(child >= 0);
        if (child == 0) {
            hoop_abort(session, reason);
            _exit(0);
        }
        WORKER_CHECK(waitpid(child, &how, 0) == child);
        WORKER_CHECK(how == 0);
    }
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    if (worker->index == 0) {
        room_await(worker, PLACE_READY);
        hoop_abort(session, NULL);
    } else {
        room_set(worker, PLACE_READY, 1);
        WORKER_CHECK(failure_check(hoop_barrier(world), "rank 0 (",
                                   "has given up") == 0);
    }
    hoop_leave(session);
    return 0;
}

/* The join is refused until the members grow. */
static enum hoop_status
newcomer_join(const struct hoop_join_options *options,
              hoop_session_t **out_session)
{
    const uint64_t deadline_ns = clock_deadline_ns(GROW_MS);
    enum hoop_status status = hoop_join(options, out_session);

    while (status == HOOP_E_PRECONDITION && !clock_is_past(deadline_ns)) {
        usleep(LOOK_US);
        status = hoop_join(options, out_session);
    }
    return status;
}

static int
worlds_join(const struct worker *worker,
            hoop_session_t **out_session,
            hoop_comm_t *out_worlds[4])
{
    struct hoop_join_options options = worker_options(worker);

    if (worker->index < 2) {
        if (worker_join(worker, 2, PLACE_JOINED, out_session) != 0)
            return 1;
        out_worlds[0] = hoop_world(*out_session);
        WORKER_CHECK(hoop_barrier(out_worlds[0]) == HOOP_OK);
        room_set(worker, PLACE_GROWN, 1);
        WORKER_CHECK(hoop_comm_grow(out_worlds[0], 1, GROW_MS,
                                    &out_worlds[1]) == HOOP_OK);
        room_set(worker, PLACE_GROWN_AGAIN, 1);
        WORKER_CHECK(hoop_comm_grow(out_worlds[0], 1, GROW_MS,
                                    &out_worlds[2]) == HOOP_OK);
        return 0;
    }
    room_await(worker, worker->index == 2 ? PLACE_GROWN : PLACE_GROWN_AGAIN);
    options.rank = NULL;
    options.world_size = 2;
    WORKER_CHECK(newcomer_join(&options, out_session) == HOOP_OK);
    out_worlds[0] = hoop_world(*out_session);
    return 0;
}

/* Workers 0 and 1 grow by worker 2 and then by worker 3. Each worker gets the
 * worlds in which it is, ended by NULL. All are connected. */
static int
grown_join(const struct worker *worker,
           hoop_session_t **out_session,
           hoop_comm_t *out_worlds[4])
{
    setenv("HOOP_FAILURE_TIMEOUT", "30", 0);
    if (worlds_join(worker, out_session, out_worlds) != 0)
        return 1;
    for (int i = 0; out_worlds[i]; i++)
        WORKER_CHECK(hoop_barrier(out_worlds[i]) == HOOP_OK);
    /* A rank that gave up right after a barrier could interrupt this barrier on
     * other ranks. */
    __atomic_fetch_add(&worker->room[PLACE_READY], 1, __ATOMIC_SEQ_CST);
    if (worker->index == 0)
        room_await_count(worker, PLACE_READY, worker->n_workers);
    return 0;
}

static int
worlds_check(hoop_comm_t *const worlds[4], const char *culprit)
{
    for (int i = 0; worlds[i]; i++)
        WORKER_CHECK(failure_check(hoop_barrier(worlds[i]), culprit, reason) ==
                     0);
    return 0;
}

static int
rank_gives_up_in_all_that_it_has_grown_to(const struct worker *worker)
{
    hoop_comm_t *worlds[4] = {NULL};
    hoop_session_t *session = NULL;

    if (grown_join(worker, &session, worlds) != 0)
        return 1;
    if (worker->index == 0)
        hoop_abort(session, reason);
    if (worlds_check(worlds, worker->index == 0 ? "rank" : "rank 0 (") != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* What another thread does at the same time. */
struct meanwhile {
    hoop_comm_t *grown;
    hoop_comm_t *part;
    atomic_bool has_begun;
    atomic_bool has_returned; /* hoop_abort() has returned */
    bool was_first;
};

static void *
meanwhile_free(void *argument)
{
    struct meanwhile *meanwhile = argument;

    char byte = 0;

    atomic_store(&meanwhile->has_begun, true);
    /* No rank sends. */
    if (hoop_recv(&byte, 1, HOOP_UINT8, 1, 0, meanwhile->grown, NULL) !=
        HOOP_E_RANK_FAILED)
        return NULL;
    hoop_comm_free(meanwhile->part);
    meanwhile->was_first = !atomic_load(&meanwhile->has_returned);
    return NULL;
}

/* hoopd does not answer, and learns of the abort when it continues. */
static int
unheard_abort(hoop_session_t *session, hoop_comm_t *const worlds[4])
{
    static const uint32_t alone[] = {0};
    struct meanwhile meanwhile = {.grown = worlds[1]};
    pthread_t thread;

    WORKER_CHECK(hoop_comm_create(session, alone, 1, &meanwhile.part) ==
                 HOOP_OK);
    WORKER_CHECK(daemon_freeze(&away));
    WORKER_CHECK(pthread_create(&thread, NULL, meanwhile_free, &meanwhile) ==
                 0);
    while (!atomic_load(&meanwhile.has_begun))
        usleep(1);
    const uint64_t began_ns = clock_now_ns();
    hoop_abort(session, reason);
    const uint64_t took_ms = (clock_now_ns() - began_ns) / CLOCK_NS_PER_MS;
    atomic_store(&meanwhile.has_returned, true);
    pthread_join(thread, NULL);
    WORKER_CHECK(kill(away.pid, SIGCONT) == 0);
    WORKER_CHECK(took_ms < ABORT_MS);
    WORKER_CHECK(meanwhile.was_first);
    return 0;
}

static int
unheard_body(const struct worker *worker)
{
    hoop_comm_t *worlds[4] = {NULL};
    hoop_session_t *session = NULL;

    if (grown_join(worker, &session, worlds) != 0)
        return 1;
    if (worker->index == 0 && unheard_abort(session, worlds) != 0)
        return 1;
    /* Connected peers learn of it without the coordinator. */
    if (worlds_check(worlds, worker->index == 0 ? "rank" : "rank 0 (") != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
silent_coordinator_is_waited_for_once(void **state)
{
    daemon_start(&away, NULL);
    assert_int_equal(workers_run(away.address, 4, unheard_body, NULL), 0);
    daemon_stop(&away);
}

/* Of the worker whose next data connection epoll refuses; NULL: it refuses
 * none. */
static const struct worker *_Atomic refused;

/* Signal all other workers. */
static void
others_signal(const struct worker *worker, int signal)
{
    for (uint32_t i = 0; i < worker->n_workers; i++) {
        if (i != worker->index)
            kill((pid_t)worker->room[PLACE_PIDS + i], signal);
    }
}

static void
others_stop(const struct worker *worker)
{
    others_signal(worker, SIGSTOP);
    for (uint32_t i = 0; i < worker->n_workers; i++) {
        while (i != worker->index &&
               !process_is_stopped((uint32_t)worker->room[PLACE_PIDS + i]))
            usleep(LOOK_US);
    }
}

/* The poller of data sockets keeps a pointer with each descriptor, and libevent
 * the descriptor. From the refusal on no other worker can tell of it. */
int
epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    int (*next)(int, int, int, struct epoll_event *);
    const struct worker *worker = atomic_load(&refused);

    if (worker && operation == EPOLL_CTL_ADD &&
        event->data.u64 != (uint64_t)fd) {
        atomic_store(&refused, NULL);
        others_stop(worker);
        errno = ENOSPC;
        return -1;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "epoll_ctl");
    return next(epoll_fd, operation, fd, event);
}

static const char shortage[] = "gave up: it had no epoll watch";

/* Worker 1 needs a connection to one of the others. To some it has one: those of
 * the join, and those that have asked for its state because it was slow. Sets
 * PLACE_SHORT to SHORT_OF_NOTHING if these are all. */
static int
short_worker(const struct worker *worker, hoop_session_t *session)
{
    char byte = 0;
    enum hoop_status status = HOOP_OK;

    atomic_store(&refused, worker);
    for (uint32_t to = SHORT_WORKERS - 1; status == HOOP_OK && to > 1; to--)
        status = hoop_send(&byte, 1, HOOP_UINT8, to, 0, hoop_world(session));
    if (status == HOOP_OK) {
        atomic_store(&refused, NULL);
        room_set(worker, PLACE_SHORT, SHORT_OF_NOTHING);
        return 0;
    }
    WORKER_CHECK(status == HOOP_E_EXHAUSTED);
    WORKER_CHECK(strstr(hoop_error_text(), shortage));
    WORKER_CHECK(strstr(hoop_error_text(), "fs.epoll.max_user_watches"));
    WORKER_CHECK(hoop_error_failure()->rank == 1);
    daemon_expect_log(&away, shortage);
    /* Before the others go on, who tell the same of it by its name. */
    WORKER_CHECK(failure_check(hoop_barrier(hoop_world(session)), "this rank",
                               shortage) == 0);
    room_set(worker, PLACE_SHORT, SHORT_OF_WATCH);
    others_signal(worker, SIGCONT);
    room_await_count(worker, PLACE_TOLD, worker->n_workers - 1);
    return 0;
}

/* In no call with the others before: whoever waits in one for worker 1 asks it
 * for its state, and connects. */
static int
short_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    room_set(worker, PLACE_PIDS + worker->index, (uint64_t)getpid());
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    __atomic_fetch_add(&worker->room[PLACE_JOINED], 1, __ATOMIC_SEQ_CST);
    room_await_count(worker, PLACE_JOINED, worker->n_workers);
    if (worker->index == 1) {
        WORKER_CHECK(short_worker(worker, session) == 0);
    } else if (room_await(worker, PLACE_SHORT) != SHORT_OF_NOTHING) {
        WORKER_CHECK(failure_check(hoop_barrier(hoop_world(session)),
                                   "rank 1 (", shortage) == 0);
        __atomic_fetch_add(&worker->room[PLACE_TOLD], 1, __ATOMIC_SEQ_CST);
    }
    hoop_leave(session);
    return 0;
}

/* While nobody else can. On a busy machine all others may have asked worker 1 in
 * their join, so that it needs no connection; then a new job is tried. */
static void
rank_that_falls_short_tells_the_coordinator_itself(void **state)
{
    uint64_t room[WORKERS_ROOM];
    unsigned n_jobs = 0;

    do {
        assert_true(n_jobs++ < SHORT_JOBS);
        daemon_start(&away, (const char *[]){"--lease=60s", NULL});
        assert_int_equal(
            workers_run(away.address, SHORT_WORKERS, short_body, room), 0);
        daemon_stop(&away);
    } while (room[PLACE_SHORT] == SHORT_OF_NOTHING);
    assert_int_equal(room[PLACE_SHORT], SHORT_OF_WATCH);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_gives_up_is_named_with_its_first_reason),
        WORKERS_TEST(call_of_another_thread_ends, 2),
        WORKERS_TEST(forked_child_does_not_give_up_for_its_parent, 2),
        WORKERS_TEST(rank_gives_up_in_all_that_it_has_grown_to, 4),
        cmocka_unit_test(silent_coordinator_is_waited_for_once),
        cmocka_unit_test(rank_that_falls_short_tells_the_coordinator_itself),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
