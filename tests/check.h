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

#endif
