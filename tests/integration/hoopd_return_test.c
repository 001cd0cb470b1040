/*
 * tests/integration/hoopd_return_test.c - what a job has when hoopd is back
 *
 * A worker kills the coordinator and starts it again on its data, while the
 * others go on.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "daemon.h"
#include "temporary.h"
#include "workers.h"

enum {
    WORKERS = 3,
    CALLS = 50,

    /* Of the room. */
    PLACE_JOINED = 0,
    PLACE_KILLED = 1,  /* 2: and back */
    PLACE_UNHEARD = 2, /* 2: worker 1 has given up */
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

/* Until it is gone, and its data are free for another. It is no child of ours,
 * who is a worker. */
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

/* Two communicators with the same members, one from before. */
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
    /* Asked for before it is back, or after. */
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

/* Two give up while it is gone, and say so again when it is back: one does the
 * same once more, the other leaves. */
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
    (void)state;
    coordinated_run(WORKERS, return_body);
}

static void
reason_that_was_not_heard_is_told_again(void **state)
{
    (void)state;
    coordinated_run(2, unheard_body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communicators_outlive_the_coordinator),
        cmocka_unit_test(reason_that_was_not_heard_is_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
