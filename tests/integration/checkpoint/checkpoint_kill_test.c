/*
 * tests/integration/checkpoint/checkpoint_kill_test.c - a rank dies while it
 * saves
 *
 * A rank is killed at each call that changes the folder: first one rank, then
 * the other. The next pair of processes must find a complete checkpoint, either
 * the previous one or the one that was being saved. Then it saves another one,
 * and is killed one call later.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/checkpoint/checkpoint_case.h"
#include "integration/daemon.h"

/*
 * The first part kills the process at the n-th change of a folder.
 *
 * The functions below replace those of the C library wherever a file is
 * created, written, synced, renamed or removed. Between two such calls the
 * folder does not change, so these are all the moments at which a kill can
 * differ.
 */

/* The headers declare this function under another name. */
int
openat64(int fd, const char *path, int how, ...);

static _Thread_local bool is_armed;
static _Thread_local unsigned n_left;
static _Thread_local unsigned n_seen;
/* The file that was written and has not been synced since, or 0. A killed
 * process loses none of its data, but a machine that stops does. */
static _Thread_local ino_t unsynced_file;
static _Thread_local bool has_gone_on_unsynced;

/* Lets n calls of this thread succeed. At the next one the process kills
 * itself; if it is a write, half of it is written before. */
static void
kill_after_calls(unsigned n)
{
    n_left = n;
    n_seen = 0;
    unsynced_file = 0;
    has_gone_on_unsynced = false;
    is_armed = true;
}

/* Stops counting. Returns how many calls there were. */
static unsigned
kill_never(void)
{
    is_armed = false;
    return n_seen;
}

/* Returns whether the process must die now. */
static bool
is_last(void)
{
    if (!is_armed)
        return false;
    n_seen++;
    return n_left-- == 0;
}

/* Is called when a file is created or renamed: all earlier writes must be on
 * the disk. */
static void
expect_synced(void)
{
    has_gone_on_unsynced |= is_armed && unsynced_file != 0;
}

static void
die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static int
open_and_count(int fd, const char *path, int how, unsigned mode)
{
    if (how & O_CREAT)
        expect_synced();
    if ((how & O_CREAT) && is_last())
        die();
    return (int)syscall(SYS_openat, fd, path, how, mode);
}

int
openat64(int fd, const char *path, int how, ...)
{
    va_list arguments;
    unsigned mode = 0;

    va_start(arguments, how);
    if (how & O_CREAT)
        mode = va_arg(arguments, unsigned);
    va_end(arguments);
    return open_and_count(fd, path, how, mode);
}

/* Other code wakes threads with write(), which a sanitizer must see. */
static ssize_t
write_next(int fd, const void *bytes, size_t n_bytes)
{
    ssize_t (*next)(int, const void *, size_t);

    *(void **)&next = dlsym(RTLD_NEXT, "write");
    return next(fd, bytes, n_bytes);
}

ssize_t
write(int fd, const void *bytes, size_t n_bytes)
{
    struct stat stat;

    if (is_armed && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        unsynced_file = stat.st_ino;
        if (is_last()) {
            syscall(SYS_write, fd, bytes, n_bytes / 2);
            die();
        }
    }
    return write_next(fd, bytes, n_bytes);
}

int
fsync(int fd)
{
    struct stat stat;

    if (is_last())
        die();
    if (fstat(fd, &stat) == 0 && stat.st_ino == unsynced_file)
        unsynced_file = 0;
    return (int)syscall(SYS_fsync, fd);
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    expect_synced();
    if (is_last())
        die();
    return (int)syscall(SYS_renameat, from_fd, from, to_fd, to);
}

int
unlinkat(int fd, const char *path, int how)
{
    if (is_last())
        die();
    return (int)syscall(SYS_unlinkat, fd, path, how);
}

enum {
    RANKS = 2,
    CALLS_MAX = 60,
    /* These are places in the room. */
    PLACE_FOUND = 0, /* the content, by rank */
    PLACE_CALLS = 2, /* calls of the victim, if it has survived */
};

/* The forked workers inherit these. */
static struct {
    unsigned number; /* of the round */
    uint32_t victim;
    unsigned n_calls;
    uint64_t before; /* a content; 0: no checkpoint yet */
    uint64_t tried;
} round_now;

/* One tensor is cut, and the other one has replicas. */
static const struct hoop_shape shapes[] = {{2, {50, 3}}, {1, {1000}}};
static const struct hoop_sharding shardings[] = {{.dims = {{1, {1}}}},
                                                 {.is_uneven = false}};
static const char *const names[] = {"cut", "replica"};

static int
save(hoop_mesh_t *mesh, uint64_t content, enum hoop_status *out_status)
{
    struct hoop_named_dtensor tensors[COUNT_OF(names)];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct hoop_tensor_spec spec = {mesh, shardings[i], NULL};

        tensors[i] = (struct hoop_named_dtensor){
            names[i],
            case_tensor(HOOP_FLOAT64, &shapes[i], &spec, content + i)};
        WORKER_CHECK(tensors[i].dtensor);
    }
    *out_status = hoop_checkpoint_save(case_folder, tensors, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        hoop_dtensor_free(tensors[i].dtensor);
    return 0;
}

/* Checks that all tensors have the same one of the two contents. */
static int
load(const struct worker *worker, hoop_mesh_t *mesh)
{
    uint64_t found = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct hoop_tensor_spec spec = {mesh, shardings[i], NULL};
        hoop_dtensor_t *dtensor = NULL;

        WORKER_CHECK(hoop_checkpoint_load(case_folder, names[i], &spec,
                                          &dtensor) == HOOP_OK);
        const uint64_t content = case_is(dtensor, round_now.tried + i)
                                     ? round_now.tried
                                     : round_now.before;
        WORKER_CHECK(case_is(dtensor, content + i));
        WORKER_CHECK(i == 0 || content == found);
        found = content;
        hoop_dtensor_free(dtensor);
    }
    room_set(worker, PLACE_FOUND + worker->index, found);
    return 0;
}

static int
kill_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    enum hoop_status status = HOOP_OK;
    char job[32];

    snprintf(job, sizeof(job), "kill-%u", round_now.number);
    options.job = job;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_mesh_t *mesh = case_mesh(session, 1, RANKS, NULL);
    WORKER_CHECK(mesh);
    if (round_now.before != 0 && load(worker, mesh) != 0)
        return 1;
    if (worker->index == round_now.victim)
        kill_after_calls(round_now.n_calls);
    WORKER_CHECK(save(mesh, round_now.tried + 10, &status) == 0);
    if (worker->index == round_now.victim) {
        room_set(worker, PLACE_CALLS, kill_never());
        WORKER_CHECK(status == HOOP_OK);
        WORKER_CHECK(unsynced_file == 0 && !has_gone_on_unsynced);
    }
    /* The other rank cannot know whether the save was completed. */
    WORKER_CHECK(status == HOOP_OK || status == HOOP_E_PEER_LOST);
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

/* Runs one pair of processes. Returns whether the victim has survived. */
static bool
round_run(void)
{
    uint64_t room[WORKERS_ROOM];

    round_now.number++;
    assert_int_equal(workers_run(hoopd.address, RANKS, kill_body, room), 0);
    assert_int_equal(room[PLACE_FOUND], room[PLACE_FOUND + 1]);
    if (round_now.before != 0)
        round_now.before = room[PLACE_FOUND];
    else
        round_now.before = round_now.tried + 10; /* nobody dies in the first */
    round_now.tried += 10;
    return room[PLACE_CALLS] != 0;
}

/* Each round checks what the previous one has left. */
static void
kill_everywhere(uint32_t victim, unsigned n_calls_least)
{
    bool has_lived = false;

    round_now.victim = victim;
    round_now.n_calls = CALLS_MAX;
    assert_true(round_run());
    for (unsigned n = 0; !has_lived; n++) {
        assert_true(n < CALLS_MAX);
        round_now.n_calls = n;
        has_lived = round_run();
        assert_true(n >= n_calls_least || !has_lived);
    }
    /* No files of the earlier attempts are left. */
    assert_int_equal(case_count_files(case_folder, ".part"), RANKS);
    assert_int_equal(case_count_files(case_folder, ""), RANKS + 2);
    assert_ok(hoop_checkpoint_verify(case_folder));
}

static void
save_killed_anywhere_on_the_first_rank_is_whole_or_not_there(void **state)
{
    kill_everywhere(0, 12);
}

static void
save_killed_anywhere_on_another_rank_is_whole_or_not_there(void **state)
{
    kill_everywhere(1, 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            save_killed_anywhere_on_the_first_rank_is_whole_or_not_there),
        cmocka_unit_test(
            save_killed_anywhere_on_another_rank_is_whole_or_not_there),
    };

    return cmocka_run_group_tests(tests, case_setup, case_teardown);
}
