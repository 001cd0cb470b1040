/*
 * tests/integration/program.h - run a program, see what it says and returns
 *
 * Every wait has a deadline, after which the program is killed and the test
 * fails with what it had said.
 */

#ifndef TESTS_INTEGRATION_PROGRAM_H
#define TESTS_INTEGRATION_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

enum {
    PROGRAM_TEXT_MAX = 256 * 1024,
    PROGRAM_ARGUMENTS_MAX = 40,
    PROGRAM_KILLED = 1000, /* plus the signal */
};

struct program_text {
    int fd; /* -1: ended */
    size_t n_bytes;
    char text[PROGRAM_TEXT_MAX]; /* ends with 0 */
};

struct program {
    pid_t pid;
    struct program_text out;
    struct program_text err;
};

/*
 * Start arguments[0] with its arguments, up to NULL. input becomes its stdin;
 * NULL: empty. Undo with program_destroy().
 */
struct program *
program_start(const char *const *arguments, const char *input);

/* As program_start(), in a process group of its own. The kernel stops no
 * process by SIGTSTP whose group has no parent in another one of the
 * session. */
struct program *
program_start_group(const char *const *arguments);

/* hooprun --no-prefix -n n_ranks program options..., up to NULL. */
struct program *
program_start_ranks(const char *hooprun,
                    const char *n_ranks,
                    const char *program,
                    const char *const *options);

/* As program_start(), but stdin, stdout and stderr are one terminal. */
struct program *
program_start_on_terminal(const char *const *arguments);

/* Until stdout holds text. */
void
program_await(struct program *program, const char *text);

/* Until it has ended and all is read: its exit code, or PROGRAM_KILLED + n. */
int
program_wait(struct program *program);

/* Kills it if it still runs. */
void
program_destroy(struct program *program);
/* Of a test whose state it is. */
int
program_teardown(void **state);

/* Whether the process exists and is no zombie. */
int
process_is_alive(pid_t pid);

/* Until it is stopped. */
void
process_await_stop(pid_t pid);

/* Until it does not exist or is a zombie. */
void
process_await_end(pid_t pid);

/* A file of that name is made in the folder, for which programs wait there. */
void
event_happens(const char *folder, const char *name);

/* What a test has started is its state: program_teardown() ends it. */

/* The path of hooprun. A test program sets it first. */
extern const char *launcher;

/* -n 3, and nothing else. */
extern const char *const launcher_three[];

/* launcher [options...] sh -c script; options end with NULL. */
struct program *
launcher_start(const char *const *options, const char *script);

/* Run it to its end: its exit code. The program is kept for its texts. */
int
launcher_code(void **state, const char *const *options, const char *script);

const char *
out_of(void **state);
const char *
err_of(void **state);

#endif
