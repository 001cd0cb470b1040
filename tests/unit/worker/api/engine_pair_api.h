/*
 * tests/unit/worker/api/engine_pair_api.h - the fixture of an engine pair
 *
 * Each test gets two connected engines of its own, see engine/engine_pair.h.
 */

#ifndef TESTS_UNIT_WORKER_API_ENGINE_PAIR_API_H
#define TESTS_UNIT_WORKER_API_ENGINE_PAIR_API_H

#include <stdbool.h>
#include <string.h>

#include "hoop/hoop.h"

#include "check.h"
#include "engine_pair_fixture.h"

/* Returns rank 0's communicator of both ranks. */
static inline hoop_comm_t *
both(void)
{
    return &engine_pair.sides[0].comms[0];
}

/* Returns rank 0's communicator of itself. */
static inline hoop_comm_t *
alone(void)
{
    return &engine_pair.sides[0].alone;
}

/* Returns a communicator of which the process is no member. */
static inline hoop_comm_t *
foreign(void)
{
    static hoop_comm_t comm;

    return &comm;
}

/* Waits for a call in its _start form. */
static inline enum hoop_status
finish(enum hoop_status status, hoop_op_t *const *op)
{
    return status == HOOP_OK ? hoop_wait(*op, 20000) : status;
}

static inline bool
values_are(const int32_t *values, const int32_t *expected, size_t n)
{
    return memcmp(values, expected, n * sizeof(*values)) == 0;
}

static inline void
assert_invalid(enum hoop_status status, const char *text)
{
    assert_int_equal(status, HOOP_E_INVALID);
    if (!strstr(hoop_error_text(), text))
        fail_msg("the text is: %s", hoop_error_text());
}

#endif
