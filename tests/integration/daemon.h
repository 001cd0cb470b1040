/*
 * tests/integration/daemon.h - a real hoopd under test
 *
 * Its path is the HOOPD of the environment. It listens on ports of the
 * system's choice on 127.0.0.1, and knows the token "secret" where no
 * --token-file says another; its log goes to a file that can be searched.
 */

#ifndef TESTS_DAEMON_H
#define TESTS_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/limits.h"

struct daemon {
    pid_t pid;
    char log_path[128];
    char token_path[128]; /* empty: it has one of its own, or none */
    char address[LIMIT_ADDRESS];
    char http_address[LIMIT_ADDRESS];
};

/* Further arguments, ended by NULL; returns when it serves. "--token-file=": it
 * knows no token. */
void
daemon_start(struct daemon *daemon, const char *const *arguments);

/* Fails the test if the log does not hold text within some seconds. */
void
daemon_expect_log(const struct daemon *daemon, const char *text);

/* SIGTERM; fails the test if it does not exit with 0 within some seconds. */
void
daemon_stop(struct daemon *daemon);

/* SIGSTOP; it does nothing any more when this returns. Any process of the test may
 * call it. False: it could not be stopped within some seconds. */
bool
daemon_freeze(const struct daemon *daemon);

/* Exit code of `hoopd --check ADDRESS`. */
int
daemon_check(const char *address);

/* One for all tests of a program: the fixtures of their group. */
extern struct daemon hoopd;
int
daemon_setup(void **state);
int
daemon_teardown(void **state);

#endif
