/*
 * tests/unit/worker/engine/engine_pair_fixture.h - fixtures of engine pairs
 *
 * Each test gets two engines of its own, see engine_pair.h. They are
 * unconnected, connected, or also driven by background threads. A case is a
 * function of cmocka or a body that both sides run at once.
 */

#ifndef TESTS_UNIT_WORKER_ENGINE_ENGINE_PAIR_FIXTURE_H
#define TESTS_UNIT_WORKER_ENGINE_ENGINE_PAIR_FIXTURE_H

#include "check.h"
#include "engine_pair.h"

extern struct engine_pair engine_pair;

int
engine_pair_set_up_unconnected(void **state);
int
engine_pair_set_up(void **state);
int
engine_pair_set_up_background(void **state);
int
engine_pair_tear_down(void **state);

#define ENGINE_PAIR_TEST(name)                                                 \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up,                  \
                                    engine_pair_tear_down)
#define ENGINE_PAIR_UNCONNECTED_TEST(name)                                     \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up_unconnected,      \
                                    engine_pair_tear_down)
#define ENGINE_PAIR_BACKGROUND_TEST(name)                                      \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up_background,       \
                                    engine_pair_tear_down)

struct sides_test {
    side_fn *body;
};

void
sides_test_run(void **state);

#define SIDES_TEST(body) SIDES_TEST_WITH(engine_pair_set_up, body)
#define SIDES_BACKGROUND_TEST(body)                                            \
    SIDES_TEST_WITH(engine_pair_set_up_background, body)
#define SIDES_TEST_WITH(set_up, body)                                          \
    {                                                                          \
        .name = #body, .test_func = sides_test_run, .setup_func = (set_up),    \
        .teardown_func = engine_pair_tear_down,                                \
        .initial_state = &(struct sides_test)                                  \
        {                                                                      \
            body                                                               \
        }                                                                      \
    }

#endif
