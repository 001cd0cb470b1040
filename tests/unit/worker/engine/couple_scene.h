/*
 * tests/unit/worker/engine/couple_scene.h - the couple that a test begins with
 *
 * Each test gets two engines of its own, see couple.h: apart, connected, or with
 * backgrounds that drive them, too.
 */

#ifndef TESTS_COUPLE_SCENE_H
#define TESTS_COUPLE_SCENE_H

#include "check.h"
#include "couple.h"

static struct couple couple;

static inline int
couple_set_up_apart(void **state)
{
    (void)state;
    couple_open(&couple);
    return 0;
}

static inline int
couple_set_up(void **state)
{
    couple_set_up_apart(state);
    couple_connect(&couple);
    return 0;
}

static inline int
couple_set_up_driven(void **state)
{
    couple_set_up(state);
    couple_start_backgrounds(&couple);
    return 0;
}

static inline int
couple_tear_down(void **state)
{
    (void)state;
    couple_close(&couple);
    return 0;
}

#define COUPLE_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, couple_set_up, couple_tear_down)
#define COUPLE_APART_TEST(name)                                                \
    cmocka_unit_test_setup_teardown(name, couple_set_up_apart, couple_tear_down)
#define COUPLE_DRIVEN_TEST(name)                                               \
    cmocka_unit_test_setup_teardown(name, couple_set_up_driven,                \
                                    couple_tear_down)

#endif
