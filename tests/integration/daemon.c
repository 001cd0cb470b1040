/* tests/integration/daemon.c - runs a real hoopd and workers that use it */

#include "integration/daemon.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "child.h"
#include "temporary.h"

enum {
    ARGUMENTS_MAX = 16,
    RUNNING_MAX = 8,
    WAIT_MS = 30000,
    LOOK_US = 5000,
};

extern char **environ;

/* The daemons that are killed at exit, since a test that fails skips its
 * daemon_stop(). */
static struct running {
    pid_t pid; /* 0: not in use */
    pid_t starter;
} running[RUNNING_MAX];

/* Forked ranks exit, too, but must not kill the daemons of their parent. */
static void
running_kill(void)
{
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        if (running[i].pid > 0 && running[i].starter == getpid())
            kill(running[i].pid, SIGKILL);
    }
}

static struct running *
running_find(pid_t pid)
{
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        if (running[i].pid == pid)
            return &running[i];
    }
    fail_msg("more than %d daemons at once", RUNNING_MAX);
    return NULL;
}

static void
running_add(pid_t pid)
{
    static bool is_registered = false;

    if (!is_registered)
        atexit(running_kill);
    is_registered = true;
    *running_find(0) = (struct running){pid, getpid()};
}

static const char *
daemon_path(void)
{
    const char *path = getenv("HOOPD");

    assert_non_null(path);
    return path;
}

/* Returns the whole log; the caller frees it. */
static char *
log_read(const struct daemon *daemon)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    FILE *in = fopen(daemon->log_path, "r");
    int c;

    assert_non_null(in);
    while ((c = fgetc(in)) != EOF)
        fputc(c, out);
    fclose(in);
    fclose(out);
    return text;
}

static bool
log_holds(const struct daemon *daemon, const char *text)
{
    CLEANUP(free) char *log = log_read(daemon);

    return strstr(log, text) != NULL;
}

/* No event tells that a file has grown, so the log is read repeatedly until a
 * deadline. */
static bool
log_await(const struct daemon *daemon, const char *text)
{
    const uint64_t deadline_ns = clock_deadline_ns(WAIT_MS);

    while (!log_holds(daemon, text)) {
        if (clock_is_past(deadline_ns))
            return false;
        usleep(LOOK_US);
    }
    return true;
}

static pid_t
program_spawn(char *const *arguments, const char *log_path)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(
        posix_spawn(&pid, daemon_path(), &actions, NULL, arguments, environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static void
addresses_read(struct daemon *daemon)
{
    CLEANUP(free) char *log = log_read(daemon);
    const char *line = strstr(log, "serves workers on ");

    assert_non_null(line);
    assert_int_equal(sscanf(line,
                            "serves workers on %287[^,], http on %287[^,]",
                            daemon->address, daemon->http_address),
                     2);
}

static void
token_write(struct daemon *daemon)
{
    static const char token[] = "secret\n";

    snprintf(daemon->token_path, sizeof(daemon->token_path),
             "hoopd_token.XXXXXX");
    const int fd =
        temporary_file(daemon->token_path, sizeof(daemon->token_path));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, token, sizeof(token) - 1), sizeof(token) - 1);
    close(fd);
}

void
daemon_start(struct daemon *daemon, const char *const *arguments)
{
    const char *all[ARGUMENTS_MAX] = {"hoopd", "--listen=127.0.0.1:0",
                                      "--http=127.0.0.1:0"};
    char token_option[TEMPORARY_PATH + 32];
    size_t n_all = 3;
    bool says_token = false;

    for (size_t i = 0; arguments && arguments[i]; i++) {
        assert_true(n_all + 2 < ARGUMENTS_MAX);
        says_token |= strncmp(arguments[i], "--token-file", 12) == 0;
        if (strcmp(arguments[i], "--token-file=") != 0)
            all[n_all++] = arguments[i];
    }
    daemon->token_path[0] = '\0';
    if (!says_token) {
        token_write(daemon);
        snprintf(token_option, sizeof(token_option), "--token-file=%s",
                 daemon->token_path);
        all[n_all] = token_option;
    }
    snprintf(daemon->log_path, sizeof(daemon->log_path), "hoopd_test.XXXXXX");
    const int fd = temporary_file(daemon->log_path, sizeof(daemon->log_path));
    assert_true(fd >= 0);
    close(fd);

    daemon->pid = program_spawn((char *const *)all, daemon->log_path);
    running_add(daemon->pid);
    assert_true(log_await(daemon, "serves workers on "));
    addresses_read(daemon);
    /* hoopd has read the token by now. */
    if (daemon->token_path[0])
        unlink(daemon->token_path);
}

void
daemon_expect_log(const struct daemon *daemon, const char *text)
{
    if (log_await(daemon, text))
        return;
    CLEANUP(free) char *log = log_read(daemon);
    fail_msg("the log does not say '%s':\n%s", text, log);
}

static int
program_wait(pid_t pid)
{
    const uint64_t deadline_ns = clock_deadline_ns(WAIT_MS);
    int state = 0;

    while (waitpid(pid, &state, WNOHANG) == 0) {
        if (clock_is_past(deadline_ns)) {
            kill(pid, SIGKILL);
            waitpid(pid, &state, 0);
            fail_msg("process %d did not end in time", (int)pid);
        }
        usleep(LOOK_US);
    }
    return state;
}

void
daemon_stop(struct daemon *daemon)
{
    /* If hoopd was never started, pid is 0, which would mean this process
     * group. */
    assert_true(daemon->pid > 0);
    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    const int state = program_wait(daemon->pid);
    running_find(daemon->pid)->pid = 0;

    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
        CLEANUP(free) char *log = log_read(daemon);
        fail_msg("hoopd ended with %#x:\n%s", (unsigned)state, log);
    }
    unlink(daemon->log_path);
}

static bool
thread_is_stopped(const char *stat_path)
{
    char text[512] = "";
    FILE *file = fopen(stat_path, "r");
    const char *end = NULL;

    if (!file)
        return false;
    if (fgets(text, sizeof(text), file))
        end = strrchr(text, ')');
    fclose(file);
    return end && strncmp(end, ") T", 3) == 0;
}

/* After a SIGSTOP each thread runs until it notices that it has to stop. */
static bool
threads_are_stopped(pid_t pid)
{
    glob_t paths = {0};
    char pattern[64];
    bool are_stopped = false;

    snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stat", (int)pid);
    if (glob(pattern, 0, NULL, &paths) == 0) {
        are_stopped = true;
        for (size_t i = 0; i < paths.gl_pathc; i++)
            are_stopped &= thread_is_stopped(paths.gl_pathv[i]);
    }
    globfree(&paths);
    return are_stopped;
}

bool
daemon_freeze(const struct daemon *daemon)
{
    const uint64_t deadline_ns = clock_deadline_ns(WAIT_MS);

    if (kill(daemon->pid, SIGSTOP) != 0)
        return false;
    while (!threads_are_stopped(daemon->pid)) {
        if (clock_is_past(deadline_ns))
            return false;
        usleep(LOOK_US);
    }
    return true;
}

int
daemon_check(const char *address)
{
    const char *arguments[] = {"hoopd", "--check", address, NULL};
    const int state =
        program_wait(program_spawn((char *const *)arguments, "/dev/null"));

    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

struct daemon hoopd;

int
daemon_setup(void **state)
{
    daemon_start(&hoopd, (const char *[]){NULL});
    return 0;
}

int
daemon_teardown(void **state)
{
    daemon_stop(&hoopd);
    return 0;
}

/* The rest of the file runs forked workers that use hoop as users do. */

enum {
    EXIT_LOOK_US = 500,
    ROOM_MS = 20000,
};

/* Programs with a sanitizer are slow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static uint64_t auth_timeout_ms = 240000;
#else
static uint64_t auth_timeout_ms = 100000;
#endif

void
workers_allow(uint32_t seconds)
{
    auth_timeout_ms = seconds * 1000ULL;
}

static volatile uint64_t *
room_create(void)
{
    void *room =
        mmap(NULL, WORKERS_ROOM * sizeof(uint64_t), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(room != MAP_FAILED);
    return room;
}

/* Waits for all processes of pids, and returns how many of them failed. */
static uint32_t
workers_wait(pid_t *pids, uint32_t n_workers)
{
    const uint64_t deadline_ns = clock_deadline_ns(auth_timeout_ms);
    uint32_t n_bad = 0;

    for (uint32_t i = 0; i < n_workers; i++) {
        int how = 0;

        while (waitpid(pids[i], &how, WNOHANG) == 0) {
            if (clock_is_past(deadline_ns)) {
                kill(pids[i], SIGABRT);
                /* A stopped process must be continued to end. */
                kill(pids[i], SIGCONT);
            }
            usleep(EXIT_LOOK_US);
        }
        if (how == 0 || (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL))
            continue;
        fprintf(stderr, "worker %u ended with %#x\n", i, (unsigned)how);
        n_bad++;
    }
    return n_bad;
}

/* Pretends to be on one of the nodes of tests/ranks.h. The worker's own process
 * calls it. */
static void
worker_settle(const struct worker *worker)
{
    const char *n_nodes = getenv("HOOP_TEST_NODES");
    char node[16];

    if (!n_nodes)
        return;
    snprintf(node, sizeof(node), "node%lu",
             worker->index * strtoul(n_nodes, NULL, 10) / worker->n_workers);
    setenv("HOOP_NODE", node, 1);
}

uint32_t
workers_run(const char *coordinator,
            uint32_t n_workers,
            worker_fn *body,
            uint64_t out_room[WORKERS_ROOM])
{
    volatile uint64_t *room = room_create();
    pid_t pids[WORKERS_MAX];

    fflush(NULL);
    for (uint32_t i = 0; i < n_workers; i++) {
        const struct worker worker = {i, n_workers, coordinator, room};

        pids[i] = child_fork();
        assert_true(pids[i] >= 0);
        /* The child calls exit(), so that leaks are reported. */
        if (pids[i] == 0) {
            worker_settle(&worker);
            exit(body(&worker));
        }
    }
    const uint32_t n_bad = workers_wait(pids, n_workers);
    for (uint32_t i = 0; out_room && i < WORKERS_ROOM; i++)
        out_room[i] = room[i];
    munmap((void *)(uintptr_t)room, WORKERS_ROOM * sizeof(uint64_t));
    return n_bad;
}

struct hoop_join_options
worker_options(const struct worker *worker)
{
    return (struct hoop_join_options){
        .coordinator = worker->coordinator,
        .job = "test",
        .token = "secret",
        .rank = &worker->index,
        .world_size = worker->n_workers,
        .join_timeout_ms = 20000,
        .op_timeout_ms = 20000,
    };
}

int
worker_join(const struct worker *worker,
            uint32_t n_members,
            uint32_t place,
            hoop_session_t **out_session)
{
    struct hoop_join_options options = worker_options(worker);

    /* A worker that is only slow on a busy machine must not count as lost. */
    setenv("HOOP_FAILURE_TIMEOUT", "30", 0);
    options.world_size = n_members;
    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(hoop_world(*out_session)) == HOOP_OK);
    __atomic_fetch_add(&worker->room[place], 1, __ATOMIC_SEQ_CST);
    while (worker->room[place] < n_members)
        usleep(EXIT_LOOK_US);
    return 0;
}

int
worker_lose(const struct worker *worker, uint32_t victim, hoop_comm_t *world)
{
    if (worker->index == victim)
        kill(getpid(), SIGKILL);
    WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
    return 0;
}

int
worker_allreduce(hoop_comm_t *comm, size_t count)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);
    float *values = malloc(count * sizeof(*values));
    size_t n_wrong = 0;

    for (size_t i = 0; i < count; i++)
        values[i] = (float)(rank + 1) + (float)(i % 7);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, values, count, HOOP_FLOAT32, HOOP_SUM, comm);
    for (size_t i = 0; i < count; i++) {
        const float sum =
            (float)(size * (size + 1) / 2) + (float)size * (float)(i % 7);

        n_wrong += values[i] != sum;
    }
    free(values);
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(n_wrong == 0);
    return 0;
}

void
room_set(const struct worker *worker, uint32_t place, uint64_t value)
{
    __atomic_store_n(&worker->room[place], value, __ATOMIC_RELEASE);
}

uint64_t
room_await_count(const struct worker *worker, uint32_t place, uint64_t count)
{
    const uint64_t deadline_ns = clock_deadline_ns(ROOM_MS);
    uint64_t value = 0;

    while (value < count && !clock_is_past(deadline_ns)) {
        value = __atomic_load_n(&worker->room[place], __ATOMIC_ACQUIRE);
        usleep(EXIT_LOOK_US);
    }
    return value;
}

uint64_t
room_await(const struct worker *worker, uint32_t place)
{
    return room_await_count(worker, place, 1);
}

int
worker_report(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not true: %s; last error: %s\n", file, line,
            condition, hoop_error_text());
    return 1;
}

/* The workers below join and form a mesh of two axes. */

/* The forked workers inherit these. */
static struct mesh_process sizes;
static mesh_process_fn *body_of_all;

static int
worker_body(const struct worker *worker)
{
    const struct hoop_mesh_axis axes[] = {{"rows", sizes.n_rows},
                                          {"columns", sizes.n_columns}};
    const struct hoop_mesh_options options = {axes, 2, NULL};
    const struct hoop_join_options joining = worker_options(worker);
    struct mesh_process mesh_process = sizes;

    WORKER_CHECK(hoop_join(&joining, &mesh_process.session) == HOOP_OK);
    mesh_process.rank = hoop_comm_rank(hoop_world(mesh_process.session));
    WORKER_CHECK(hoop_mesh_create(mesh_process.session, &options,
                                  &mesh_process.mesh) == HOOP_OK);
    const int failure = body_of_all(&mesh_process);
    hoop_mesh_free(mesh_process.mesh);
    hoop_leave(mesh_process.session);
    return failure;
}

uint32_t
mesh_processes_run(uint32_t n_rows,
                   uint32_t n_columns,
                   uint32_t n_outside,
                   mesh_process_fn *body)
{
    sizes = (struct mesh_process){.n_rows = n_rows, .n_columns = n_columns};
    body_of_all = body;
    return workers_run(hoopd.address, n_rows * n_columns + n_outside,
                       worker_body, NULL);
}

void
workers_test_run(void **state)
{
    const struct workers_test *test = *state;

    assert_int_equal(
        workers_run(hoopd.address, test->n_workers, test->body, NULL), 0);
}

void
mesh_processes_test_run(void **state)
{
    const struct mesh_processes_test *test = *state;

    assert_int_equal(mesh_processes_run(test->n_rows, test->n_columns,
                                        test->n_outside, test->body),
                     0);
}
