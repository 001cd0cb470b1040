/* tests/check.h - cmocka, after the headers that it wants before it */

#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* The signature of a case or of a callback is fixed; tests ignore what they do
 * not need of it without a statement that says so. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* A call that returns an enum hoop_status has succeeded. */
#define assert_ok(status) assert_int_equal((status), HOOP_OK)

#endif
