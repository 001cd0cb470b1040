/*
 * tests/integration/launcher.h - runs of hooprun with shells as workers
 *
 * What a test has started is its state: program_teardown() ends it.
 */

#ifndef TESTS_INTEGRATION_LAUNCHER_H
#define TESTS_INTEGRATION_LAUNCHER_H

#include "integration/program.h"

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
