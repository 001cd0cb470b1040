/* tests/fault/matrix/fault_run.c - runs one cell with real processes */

#include "fault/matrix/fault_run.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "fault/matrix/fault_rank.h"
#include "fault/matrix/fault_table.h"
#include "fault/matrix/fault_verdict.h"

/*
 * The ranks of a cell may live in namespaces of their own.
 *
 * The first process of a PID namespace ignores signals that it sends to itself,
 * as a fault does, so a rank is the second process. Between it and the bench
 * stands a keeper. It is in the bench's PID namespace, and stops and ends as
 * the rank does.
 */

static void
check(bool is_well, const char *what)
{
    if (is_well)
        return;
    perror(what);
    _exit(99);
}

static void
network_enter(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "/run/netns/%s", name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
    close(fd);
}

/* Waits as the first process of a PID namespace, which ends when it does. */
static void
first_process(int ready_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    check(mount("proc", "/proc", "proc", 0, NULL) == 0, "mount /proc");
    check(write(ready_fd, "", 1) == 1, "ready");
    close(ready_fd);
    for (;;)
        pause();
}

/* Stops and ends as the rank does. */
static void
mirror(pid_t rank_pid)
{
    int how = 0;

    while (waitpid(rank_pid, &how, WUNTRACED) == rank_pid) {
        if (!WIFSTOPPED(how))
            break;
        raise(SIGSTOP);
    }
    if (WIFSIGNALED(how))
        raise(WTERMSIG(how) == SIGKILL ? SIGKILL : SIGTERM);
    _exit(WEXITSTATUS(how));
}

/* Makes the namespace, and returns only in the process that becomes the
 * rank. */
static void
keep(void)
{
    int ready[2];
    char byte;

    check(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0, "unshare");
    check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount /");
    check(pipe2(ready, O_CLOEXEC) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0)
        first_process(ready[1]);
    close(ready[1]);
    check(pid > 0 && read(ready[0], &byte, 1) == 1, "PID namespace");
    close(ready[0]);
    pid = fork();
    check(pid >= 0, "fork");
    if (pid > 0)
        mirror(pid);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/*
 * Works like fork(), for a rank in its namespaces. The process that the caller
 * gets stops and ends as the rank does, and if it is killed the rank is killed,
 * too. If namespaces cannot be made, the child prints why and exits with 99.
 */
static pid_t
fault_spaces_fork(const struct fault_spaces *spaces, uint32_t rank)
{
    const pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (spaces->networks[rank])
        network_enter(spaces->networks[rank]);
    if (spaces->has_own_pids)
        keep();
    return 0;
}

enum {
    LOOK_US = 200,
    LEAVE_MS = 5000,
};

struct fault_bench {
    const struct fault_lab *lab;
    struct fault_cell cell;
    uint32_t number;
    unsigned turn;
    struct fault_room *room;
    int note[2];
    pid_t pids[FAULT_RANKS];
    bool is_gone[FAULT_RANKS];    /* the process has ended */
    bool is_stopped[FAULT_RANKS]; /* the process is stopped */
    uint64_t struck_ns;           /* when the fault struck; 0: not yet */
    uint32_t peer;                /* the receiver of the affected data */
};

static void
rank_start(struct fault_bench *bench, uint32_t rank)
{
    const struct fault_rank_options options = {
        .cell = &bench->cell,
        .number = bench->number,
        .turn = bench->turn,
        .rank = rank,
        .coordinator = bench->lab->coordinator,
        .failure_timeout_ms =
            bench->lab->is_default ? 0 : bench->lab->failure_timeout_ms,
        .op_ms = bench->lab->op_ms,
        .note_fd = bench->note[1],
        .room = bench->room,
    };

    bench->pids[rank] = fault_spaces_fork(&bench->lab->spaces, rank);
    if (bench->pids[rank] == 0) {
        const int result = fault_rank_main(&options);

        fflush(NULL);
        exit(result);
    }
}

static void
processes_look(struct fault_bench *bench)
{
    pid_t pid;
    int how;

    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED)) > 0) {
        for (uint32_t rank = 0; rank < bench->cell.size; rank++) {
            if (bench->pids[rank] != pid)
                continue;
            bench->is_stopped[rank] = WIFSTOPPED(how);
            bench->is_gone[rank] = !WIFSTOPPED(how);
        }
    }
}

static void
note_look(struct fault_bench *bench)
{
    struct fault_note note;

    while (read(bench->note[0], &note, sizeof(note)) == sizeof(note)) {
        if (bench->struck_ns > 0)
            continue;
        bench->struck_ns = note.when_ns;
        bench->peer = (uint32_t)note.peer;
    }
}

static bool
is_over(const struct fault_bench *bench)
{
    for (uint32_t rank = 0; rank < bench->cell.size; rank++) {
        if (!bench->is_gone[rank] && !bench->is_stopped[rank] &&
            !atomic_load(&bench->room->ranks[rank].is_done))
            return false;
    }
    return true;
}

static bool
all_are_gone(const struct fault_bench *bench)
{
    for (uint32_t rank = 0; rank < bench->cell.size; rank++) {
        if (!bench->is_gone[rank])
            return false;
    }
    return true;
}

static void
kill_those(struct fault_bench *bench,
           bool (*which)(const struct fault_bench *, uint32_t))
{
    for (uint32_t rank = 0; rank < bench->cell.size; rank++) {
        if (!bench->is_gone[rank] && which(bench, rank))
            kill(bench->pids[rank], SIGKILL);
    }
}

static bool
stands_still(const struct fault_bench *bench, uint32_t rank)
{
    return bench->is_stopped[rank];
}

static bool
is_here(const struct fault_bench *bench, uint32_t rank)
{
    return !bench->is_gone[rank];
}

/* Waits until is_reached() is true. Returns false if the time is over first. */
static bool
bench_await(struct fault_bench *bench,
            bool (*is_reached)(const struct fault_bench *),
            uint32_t n_ms)
{
    const uint64_t deadline_ns = clock_deadline_ns(n_ms);

    while (!is_reached(bench)) {
        processes_look(bench);
        note_look(bench);
        if (clock_is_past(deadline_ns))
            return is_reached(bench);
        usleep(LOOK_US);
    }
    note_look(bench);
    return true;
}

static void
bench_open(struct fault_bench *bench)
{
    bench->room = mmap(NULL, sizeof(*bench->room), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bench->room == MAP_FAILED || pipe2(bench->note, O_NONBLOCK) != 0) {
        perror("fault matrix");
        exit(99);
    }
    fflush(NULL);
    for (uint32_t rank = 0; rank < bench->cell.size; rank++)
        rank_start(bench, rank);
}

static void
bench_close(struct fault_bench *bench)
{
    kill_those(bench, is_here);
    bench_await(bench, all_are_gone, LEAVE_MS);
    close(bench->note[0]);
    close(bench->note[1]);
    munmap(bench->room, sizeof(*bench->room));
}

void
fault_run(const struct fault_lab *lab,
          uint32_t number,
          struct fault_outcome *out_outcome)
{
    static unsigned n_turns;
    struct fault_bench bench = {.lab = lab,
                                .cell = fault_cell_at(number),
                                .number = number,
                                .turn = ++n_turns};

    if (fault_cell_absence(&bench.cell)) {
        *out_outcome = (struct fault_outcome){.grade = FAULT_ABSENT};
        return;
    }

    bench_open(&bench);
    struct fault_evidence evidence = {
        .cell = &bench.cell, .lab = lab, .room = bench.room};
    evidence.is_over = bench_await(&bench, is_over, lab->cell_ms);
    evidence.struck_ns = bench.struck_ns;
    evidence.peer = bench.peer;
    for (uint32_t rank = 0; rank < bench.cell.size; rank++)
        evidence.is_present[rank] =
            !bench.is_gone[rank] && !bench.is_stopped[rank];
    atomic_store(&bench.room->may_leave, true);
    kill_those(&bench, stands_still);
    evidence.have_left =
        evidence.is_over && bench_await(&bench, all_are_gone, LEAVE_MS);
    fault_judge(&evidence, out_outcome);
    bench_close(&bench);
}
