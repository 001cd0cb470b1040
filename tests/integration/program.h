/*
 * tests/integration/program.h - runs a program and reads what it prints
 *
 * Every wait has a deadline. After it the program is killed, and the test fails
 * and shows what it has printed.
 */

#ifndef TESTS_INTEGRATION_PROGRAM_H
#define TESTS_INTEGRATION_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

enum {
    PROGRAM_TEXT_MAX = 256 * 1024,
    PROGRAM_ARGUMENTS_MAX = 40,
    PROGRAM_KILLED = 1000, /* the number of the signal is added */
};

struct program_text {
    int fd; /* -1: it has ended */
    size_t n_bytes;
    char text[PROGRAM_TEXT_MAX]; /* ends with '\0' */
};

struct program {
    pid_t pid;
    struct program_text out;
    struct program_text err;
};

/*
 * Starts arguments[0] with its arguments, which NULL ends. Its standard input
 * is input, or empty if that is NULL. Call program_destroy() at the end.
 */
struct program *
program_start(const char *const *arguments, const char *input);

/* Works like program_start(), but in a process group of its own. SIGTSTP stops
 * a process only if its group has a parent in another group of the session. */
struct program *
program_start_group(const char *const *arguments);

/* Starts hooprun --no-prefix -n n_ranks program options..., which NULL ends. */
struct program *
program_start_ranks(const char *hooprun,
                    const char *n_ranks,
                    const char *program,
                    const char *const *options);

/* Works like program_start(), but one terminal is stdin, stdout and stderr. */
struct program *
program_start_on_terminal(const char *const *arguments);

/* Waits until stdout contains text. */
void
program_await(struct program *program, const char *text);

/* Waits until the program has ended and everything is read. Returns its exit
 * code, or PROGRAM_KILLED plus the signal. */
int
program_wait(struct program *program);

/* Kills the program if it still runs. */
void
program_destroy(struct program *program);
/* Destroys the program that is the state of a test. */
int
program_teardown(void **state);

/* Returns whether the process exists and is no zombie. */
int
process_is_alive(pid_t pid);

/* Waits until the process is stopped. */
void
process_await_stop(pid_t pid);

/* Waits until the process does not exist or is a zombie. */
void
process_await_end(pid_t pid);

/* Creates a file of this name in the folder, for which programs wait there. */
void
event_happens(const char *folder, const char *name);

/* The state of a test is the program that it has started. program_teardown()
 * ends it. */

/* This is the path of hooprun. A test program sets it first. */
extern const char *launcher;

/* These are the options -n 3. */
extern const char *const launcher_three[];

/* Starts launcher [options...] sh -c script; NULL ends the options. */
struct program *
launcher_start(const char *const *options, const char *script);

/* Runs the launcher to its end and returns its exit code. The program is kept,
 * so that its texts can be read. */
int
launcher_code(void **state, const char *const *options, const char *script);

const char *
out_of(void **state);
const char *
err_of(void **state);

#endif
