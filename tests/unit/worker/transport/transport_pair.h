/*
 * tests/unit/worker/transport/transport_pair.h - two connected transports
 *
 * Each test gets a pair of its own, in its own thread.
 */

#ifndef TESTS_UNIT_WORKER_TRANSPORT_TRANSPORT_PAIR_H
#define TESTS_UNIT_WORKER_TRANSPORT_TRANSPORT_PAIR_H

#include "check.h"
#include "test_transport.h"

static struct test_transport here;  /* rank 0 */
static struct test_transport there; /* rank 1 */

static inline void
transport_pair_open_with(enum codec_id codec)
{
    test_transport_open(&here, 0, codec);
    test_transport_open(&there, 1, codec);
    test_transport_connect(&here, &there);
}

static inline int
transport_pair_open(void **state)
{
    transport_pair_open_with(CODEC_NONE);
    return 0;
}

static inline int
transport_pair_close(void **state)
{
    test_transport_close(&here);
    test_transport_close(&there);
    return 0;
}

#define TRANSPORT_PAIR_TEST(name)                                              \
    cmocka_unit_test_setup_teardown(name, transport_pair_open,                 \
                                    transport_pair_close)

#endif
