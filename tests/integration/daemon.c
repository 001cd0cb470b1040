/* tests/integration/daemon.c - a real hoopd under test */

#include "integration/daemon.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "temporary.h"

enum {
    ARGUMENTS_MAX = 16,
    RUNNING_MAX = 8,
    WAIT_MS = 30000,
    LOOK_US = 5000,
};

extern char **environ;

/* A test that fails jumps past its daemon_stop(). */
static struct running {
    pid_t pid; /* 0: none */
    pid_t starter;
} running[RUNNING_MAX];

/* Ranks that were forked exit, too: not theirs. */
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

/* The whole log; the caller frees it. */
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

/* A file is no event to wait for: looked at again and again, to a deadline. */
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
    /* It has been read. */
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
    /* Of one that never began, 0 would be our own process group. */
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

/* Each thread goes on until it is told to stop itself. */
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
    (void)state;
    daemon_start(&hoopd, (const char *[]){NULL});
    return 0;
}

int
daemon_teardown(void **state)
{
    (void)state;
    daemon_stop(&hoopd);
    return 0;
}
