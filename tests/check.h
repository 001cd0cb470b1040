/* tests/check.h - includes cmocka after the headers that it needs */

#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* The signatures of cases and callbacks are fixed, so tests may ignore
 * parameters that they do not need. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Asserts that a call which returns an enum hoop_status has succeeded. */
#define assert_ok(status) assert_int_equal((status), HOOP_OK)

#endif
