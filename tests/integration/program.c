/* tests/integration/program.c - runs a program, and reads its output and
 * code */

#include "integration/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"

enum {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    DEADLINE_MS = 240000,
#else
    DEADLINE_MS = 100000,
#endif
    LOOK_MS = 5,
};

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int
input_open(const char *input)
{
    if (!input)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fd = memfd_create("input", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, input, strlen(input)), strlen(input));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void
program_exec(const char *const *arguments)
{
    char *copy[PROGRAM_ARGUMENTS_MAX] = {NULL};

    for (size_t i = 0; arguments[i] && i + 1 < PROGRAM_ARGUMENTS_MAX; i++)
        copy[i] = strdup(arguments[i]);
    execvp(copy[0], copy);
    _exit(99);
}

static struct program *
program_create(void)
{
    struct program *program = calloc(1, sizeof(*program));

    assert_non_null(program);
    program->out.fd = program->err.fd = -1;
    return program;
}

/* Returns whether this is hooprun --no-prefix -n N PROGRAM... Then the ranks
 * pretend to be on the nodes of tests/ranks.h; with more options the nodes stay
 * as they are. */
static bool
has_nodes(const char *const *arguments)
{
    static const char *const options[] = {"--no-prefix", "-n"};
    const char *name = strrchr(arguments[0], '/');

    if (!getenv("HOOP_TEST_NODES") || !name || strcmp(name, "/hooprun") != 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (!arguments[1 + i] || strcmp(arguments[1 + i], options[i]) != 0)
            return false;
    }
    return arguments[3] && arguments[4] && arguments[4][0] != '-';
}

/* Returns the arguments to execute instead. */
static const char *const *
nodes_play(const char *const *arguments)
{
    static const char *changed[PROGRAM_ARGUMENTS_MAX];
    static const char *const shell[] = {
        "sh", "-c",
        "HOOP_NODE=node$((HOOP_RANK * HOOP_TEST_NODES / HOOP_WORLD_SIZE)) "
        "exec \"$0\" \"$@\"",
        NULL};
    size_t n = 0;

    if (!has_nodes(arguments))
        return arguments;
    for (size_t i = 0; i < 4; i++)
        changed[n++] = arguments[i];
    for (size_t i = 0; shell[i]; i++)
        changed[n++] = shell[i];
    for (size_t i = 4; arguments[i] && n + 1 < PROGRAM_ARGUMENTS_MAX; i++)
        changed[n++] = arguments[i];
    changed[n] = NULL;
    return changed;
}

enum program_group {
    GROUP_INHERITED,
    GROUP_OWN,
};

static struct program *
program_fork(const char *const *arguments,
             const char *input,
             enum program_group group)
{
    struct program *program = program_create();
    const int in = input_open(input);
    int out[2];
    int err[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    fflush(NULL);
    program->pid = fork();
    assert_true(program->pid >= 0);
    if (program->pid == 0) {
        if (group == GROUP_OWN)
            setpgid(0, 0);
        dup2(in, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        program_exec(nodes_play(arguments));
    }
    close(in);
    close(out[1]);
    close(err[1]);
    program->out.fd = out[0];
    program->err.fd = err[0];
    return program;
}

struct program *
program_start(const char *const *arguments, const char *input)
{
    return program_fork(arguments, input, GROUP_INHERITED);
}

struct program *
program_start_group(const char *const *arguments)
{
    return program_fork(arguments, NULL, GROUP_OWN);
}

/* Runs in the child, and starts a session with this terminal. */
static void
terminal_take(const char *path)
{
    setsid();
    const int fd = open(path, O_RDWR);
    if (fd < 0)
        _exit(98);
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

struct program *
program_start_ranks(const char *hooprun,
                    const char *n_ranks,
                    const char *program,
                    const char *const *options)
{
    const char *arguments[PROGRAM_ARGUMENTS_MAX] = {hooprun, "--no-prefix",
                                                    "-n", n_ranks, program};
    size_t n = 5;

    for (size_t i = 0; options[i]; i++) {
        assert_true(n + 1 < PROGRAM_ARGUMENTS_MAX);
        arguments[n++] = options[i];
    }
    return program_start(arguments, NULL);
}

struct program *
program_start_on_terminal(const char *const *arguments)
{
    struct program *program = program_create();
    char path[64];

    program->out.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(program->out.fd >= 0);
    assert_int_equal(grantpt(program->out.fd), 0);
    assert_int_equal(unlockpt(program->out.fd), 0);
    assert_int_equal(ptsname_r(program->out.fd, path, sizeof(path)), 0);
    fflush(NULL);
    program->pid = fork();
    assert_true(program->pid >= 0);
    if (program->pid == 0) {
        terminal_take(path);
        program_exec(arguments);
    }
    return program;
}

static void
text_read(struct program_text *text)
{
    assert_true(text->n_bytes < sizeof(text->text) - 1);
    const ssize_t n = read(text->fd, text->text + text->n_bytes,
                           sizeof(text->text) - 1 - text->n_bytes);

    /* Reading a terminal fails with EIO if the other side is closed. */
    if (n <= 0) {
        close(text->fd);
        text->fd = -1;
        return;
    }
    text->n_bytes += (size_t)n;
    text->text[text->n_bytes] = '\0';
}

static void
deadline_passed(const struct program *program, const char *reason)
{
    kill(program->pid, SIGKILL);
    fail_msg("%s; stdout: %s; stderr: %s", reason, program->out.text,
             program->err.text);
}

/* Reads what has come, and waits a little if nothing has. */
static void
program_look(struct program *program)
{
    struct pollfd polls[] = {
        {program->out.fd, POLLIN, 0},
        {program->err.fd, POLLIN, 0},
    };

    poll(polls, 2, LOOK_MS);
    if (polls[0].revents != 0)
        text_read(&program->out);
    if (polls[1].revents != 0)
        text_read(&program->err);
}

void
program_await(struct program *program, const char *text)
{
    const int64_t end_ms = now_ms() + DEADLINE_MS;

    while (!strstr(program->out.text, text)) {
        if (now_ms() > end_ms || program->out.fd < 0)
            deadline_passed(program, text);
        program_look(program);
    }
}

int
program_wait(struct program *program)
{
    const int64_t end_ms = now_ms() + DEADLINE_MS;
    int status = 0;

    while (program->out.fd >= 0 || program->err.fd >= 0) {
        if (now_ms() > end_ms)
            deadline_passed(program, "it did not end");
        program_look(program);
    }
    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
    program->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : PROGRAM_KILLED + WTERMSIG(status);
}

void
program_destroy(struct program *program)
{
    if (!program)
        return;
    if (program->pid > 0) {
        kill(program->pid, SIGKILL);
        waitpid(program->pid, NULL, 0);
    }
    if (program->out.fd >= 0)
        close(program->out.fd);
    if (program->err.fd >= 0)
        close(program->err.fd);
    free(program);
}

int
program_teardown(void **state)
{
    program_destroy(*state);
    *state = NULL;
    return 0;
}

/* Returns the state in /proc, which is 'T' for a stopped process, or 0 if there
 * is no such process. */
static char
process_state(pid_t pid)
{
    char path[64];
    char text[512] = {0};

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);

    /* The line is "pid (name) state", and the name may contain anything. */
    const char *name_end = n > 0 ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] ? name_end[2] : 0;
}

int
process_is_alive(pid_t pid)
{
    const char state = process_state(pid);

    return state != 0 && state != 'Z' && state != 'X';
}

void
process_await_stop(pid_t pid)
{
    const int64_t end_ms = now_ms() + DEADLINE_MS;

    while (process_state(pid) != 'T') {
        if (now_ms() > end_ms)
            fail_msg("process %d is not stopped", pid);
        poll(NULL, 0, LOOK_MS);
    }
}

void
process_await_end(pid_t pid)
{
    const int64_t end_ms = now_ms() + DEADLINE_MS;

    while (process_is_alive(pid)) {
        if (now_ms() > end_ms)
            fail_msg("process %d is still alive", pid);
        poll(NULL, 0, LOOK_MS);
    }
}

void
event_happens(const char *folder, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* The functions below run hooprun with shells as workers. */

const char *launcher;

const char *const launcher_three[] = {"-n", "3", NULL};

struct program *
launcher_start(const char *const *options, const char *script)
{
    const char *arguments[PROGRAM_ARGUMENTS_MAX] = {launcher};
    size_t n = 1;

    for (size_t i = 0; options[i]; i++) {
        assert_true(n + 4 < PROGRAM_ARGUMENTS_MAX);
        arguments[n++] = options[i];
    }
    arguments[n++] = "sh";
    arguments[n++] = "-c";
    arguments[n++] = script;
    return program_start(arguments, NULL);
}

int
launcher_code(void **state, const char *const *options, const char *script)
{
    struct program *program = launcher_start(options, script);

    *state = program;
    return program_wait(program);
}

const char *
out_of(void **state)
{
    return ((struct program *)*state)->out.text;
}

const char *
err_of(void **state)
{
    return ((struct program *)*state)->err.text;
}
