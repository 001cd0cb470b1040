/*
 * tests/unit/worker/engine/engine_pair_fixture.h - the pair of engines that a test begins with
 *
 * Each test gets two engines of its own, see engine_pair.h: apart, connected, or with
 * backgrounds that drive them, too.
 */

#ifndef TESTS_UNIT_WORKER_ENGINE_ENGINE_PAIR_FIXTURE_H
#define TESTS_UNIT_WORKER_ENGINE_ENGINE_PAIR_FIXTURE_H

#include "check.h"
#include "engine_pair.h"

static struct engine_pair engine_pair;

static inline int
engine_pair_set_up_unconnected(void **state)
{
    engine_pair_open(&engine_pair);
    return 0;
}

static inline int
engine_pair_set_up(void **state)
{
    engine_pair_set_up_unconnected(state);
    engine_pair_connect(&engine_pair);
    return 0;
}

static inline int
engine_pair_set_up_background(void **state)
{
    engine_pair_set_up(state);
    engine_pair_start_backgrounds(&engine_pair);
    return 0;
}

static inline int
engine_pair_tear_down(void **state)
{
    engine_pair_close(&engine_pair);
    return 0;
}

#define ENGINE_PAIR_TEST(name)                                                 \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up,                  \
                                    engine_pair_tear_down)
#define ENGINE_PAIR_UNCONNECTED_TEST(name)                                     \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up_unconnected,      \
                                    engine_pair_tear_down)
#define ENGINE_PAIR_BACKGROUND_TEST(name)                                      \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up_background,       \
                                    engine_pair_tear_down)

#endif
