/*
 * tests/fault/forked_test.c - children that outlive the worker that made them
 *
 * A child inherits its parent's connections unless something closes them, and
 * while it holds them no peer sees the parent's end. Rank 1 makes a child in
 * one of several ways and is killed. The child lives until the other ranks have
 * been told who is lost and have continued without it.
 */

#include <dirent.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    WORKERS = 3,
    VICTIM = 1,
    COUNT = 3000,
    LIFE_S = 100, /* how long a child lives that nobody ends */

    /* These are places in the room. */
    PLACE_CHILD = 0, /* the child's PID, once its parent may die */
    PLACE_READY = 1, /* how many survivors wait for the parent's end */
    PLACE_DONE = 2,  /* how many survivors have continued */
};

extern char **environ;

enum way {
    WAY_FORK,  /* fork(), and the child runs on */
    WAY_EXEC,  /* fork(), and the child calls exec() */
    WAY_SPAWN, /* posix_spawnp(), which runs no fork handler */
    WAY_BARE,  /* _Fork() alone, which keeps every descriptor */
};

struct scene {
    enum way way;
    const char *transport;
    const char *failure_timeout; /* the value of HOOP_FAILURE_TIMEOUT */
    const char *told;            /* the cause that the others must be told */
};

static struct scene scene;

/* Sleeps until the process is ended. It is safe after a fork: it takes no lock
 * that a thread of the parent may have held. */
static void
linger(void)
{
    alarm(LIFE_S);
    for (;;)
        pause();
}

static pid_t
child_spawn(void)
{
    char name[] = "sleep";
    char seconds[16];
    char *arguments[] = {name, seconds, NULL};
    pid_t child = -1;

    snprintf(seconds, sizeof(seconds), "%d", LIFE_S);
    return posix_spawnp(&child, name, NULL, NULL, arguments, environ) == 0
               ? child
               : -1;
}

static pid_t
child_make(void)
{
    char name[16];
    pid_t child = -1;

    switch (scene.way) {
    case WAY_SPAWN:
        return child_spawn();
    case WAY_BARE:
        child = _Fork();
        break;
    case WAY_FORK:
    case WAY_EXEC:
        child = fork();
        break;
    }
    if (child != 0)
        return child;
    snprintf(name, sizeof(name), "%d", LIFE_S);
    if (scene.way == WAY_EXEC)
        execlp("sleep", "sleep", name, NULL);
    linger();
    return -1;
}

/* Counts the sockets and hoop memory files that a process has open. */
static unsigned
n_held(pid_t pid)
{
    const struct dirent *entry;
    char path[320];
    char what[256];
    unsigned n = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, entry->d_name);
        const ssize_t n_bytes = readlink(path, what, sizeof(what) - 1);

        what[n_bytes > 0 ? n_bytes : 0] = '\0';
        n += strncmp(what, "socket:", 7) == 0 ||
             strncmp(what, "/memfd:hoop", 11) == 0;
    }
    if (folder)
        closedir(folder);
    return n;
}

/* Waits until the child holds what it should, because an exec() takes time. */
static int
child_look(pid_t child)
{
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    if (scene.way == WAY_BARE) {
        WORKER_CHECK(n_held(child) > 0);
        return 0;
    }
    while (n_held(child) > 0 && !clock_is_past(deadline_ns))
        usleep(1000);
    WORKER_CHECK(n_held(child) == 0);
    return 0;
}

static int
victim_die(const struct worker *worker)
{
    const pid_t child = child_make();

    WORKER_CHECK(child > 0);
    WORKER_CHECK(child_look(child) == 0);
    WORKER_CHECK(room_await_count(worker, PLACE_READY, WORKERS - 1) ==
                 WORKERS - 1);
    room_set(worker, PLACE_CHILD, (uint64_t)child);
    kill(getpid(), SIGKILL);
    return 1;
}

/* Runs collectives and messages, so that every connection exists. */
static int
ways_open(hoop_comm_t *world)
{
    const uint32_t rank = hoop_comm_rank(world);
    const uint32_t from = (rank + WORKERS - 1) % WORKERS;
    int32_t mine = (int32_t)rank;
    int32_t its = -1;
    const struct hoop_message send = {.kind = HOOP_SEND,
                                      .buffer = &mine,
                                      .count = 1,
                                      .dtype = HOOP_INT32,
                                      .peer = (rank + 1) % WORKERS};
    const struct hoop_message receive = {.kind = HOOP_RECV,
                                         .buffer = &its,
                                         .count = 1,
                                         .dtype = HOOP_INT32,
                                         .peer = from};

    WORKER_CHECK(worker_allreduce(world, COUNT) == 0);
    WORKER_CHECK(hoop_sendrecv(&send, &receive, world, NULL) == HOOP_OK);
    WORKER_CHECK(its == (int32_t)from);
    return 0;
}

/* Rank 1 must be named, and the cause must be neither the child's end nor the
 * end of a lease. */
static int
verdict_check(pid_t child, enum hoop_status status)
{
    WORKER_CHECK(status == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 1 ("));
    WORKER_CHECK(strstr(hoop_error_text(), scene.told));
    WORKER_CHECK(kill(child, 0) == 0);
    return 0;
}

static int
survivor_go_on(const struct worker *worker, hoop_comm_t *world)
{
    hoop_comm_t *rest = NULL;

    __atomic_add_fetch(&worker->room[PLACE_READY], 1, __ATOMIC_SEQ_CST);
    const pid_t child = (pid_t)room_await(worker, PLACE_CHILD);
    WORKER_CHECK(verdict_check(child, hoop_barrier(world)) == 0);
    WORKER_CHECK(hoop_comm_shrink(world, &rest) == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(rest) == WORKERS - 1);
    WORKER_CHECK(worker_allreduce(rest, COUNT) == 0);
    if (__atomic_add_fetch(&worker->room[PLACE_DONE], 1, __ATOMIC_SEQ_CST) ==
        WORKERS - 1)
        kill(child, SIGKILL);
    return 0;
}

static int
body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.op_timeout_ms = 50000;
    setenv("HOOP_TRANSPORT", scene.transport, 1);
    setenv("HOOP_FAILURE_TIMEOUT", scene.failure_timeout, 1);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(ways_open(hoop_world(session)) == 0);
    if (worker->index == VICTIM)
        return victim_die(worker);
    WORKER_CHECK(survivor_go_on(worker, hoop_world(session)) == 0);
    hoop_leave(session);
    return 0;
}

static void
scene_play(enum way way, const char *transport)
{
    const bool is_shm = strcmp(transport, "shm") == 0;
    uint64_t room[WORKERS_ROOM];

    scene = (struct scene){way, transport, "60", "connection reset"};
    if (way == WAY_BARE) {
        scene.failure_timeout = is_shm ? "8" : "3";
        scene.told = " is lost: its process has ended";
    }
    assert_int_equal(workers_run(hoopd.address, WORKERS, body, room), 0);
    assert_int_equal(room[PLACE_DONE], WORKERS - 1);
}

static void
child_of_a_fork_holds_no_peer(void **state)
{
    scene_play(WAY_FORK, "tcp");
    scene_play(WAY_FORK, "shm");
}

static void
program_of_a_fork_holds_no_peer(void **state)
{
    scene_play(WAY_EXEC, "tcp");
    scene_play(WAY_EXEC, "shm");
}

static void
program_that_is_spawned_holds_no_peer(void **state)
{
    scene_play(WAY_SPAWN, "tcp");
    scene_play(WAY_SPAWN, "shm");
}

/* No connection ends, but the peers that share memory with rank 1 see its
 * death. */
static void
child_that_holds_all_hides_no_death(void **state)
{
    scene_play(WAY_BARE, "shm");
}

/* No connection ends, so the peers must notice the silence of rank 1. */
static void
child_that_holds_all_gives_no_sign_of_life(void **state)
{
    scene_play(WAY_BARE, "tcp");
}

/* Long leases keep hoopd from finding out first. */
static int
daemon_begin(void **state)
{
    static const char *const arguments[] = {"--lease=100", NULL};

    daemon_start(&hoopd, arguments);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_of_a_fork_holds_no_peer),
        cmocka_unit_test(program_of_a_fork_holds_no_peer),
        cmocka_unit_test(program_that_is_spawned_holds_no_peer),
        cmocka_unit_test(child_that_holds_all_hides_no_death),
        cmocka_unit_test(child_that_holds_all_gives_no_sign_of_life),
    };

    return cmocka_run_group_tests(tests, daemon_begin, daemon_teardown);
}
