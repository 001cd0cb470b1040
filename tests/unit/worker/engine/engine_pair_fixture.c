/* tests/unit/worker/engine/engine_pair_fixture.c - a pair of engines for
 * each test */

#include "engine_pair_fixture.h"

struct engine_pair engine_pair;

int
engine_pair_set_up_unconnected(void **state)
{
    engine_pair_open(&engine_pair);
    return 0;
}

int
engine_pair_set_up(void **state)
{
    engine_pair_open(&engine_pair);
    engine_pair_connect(&engine_pair);
    return 0;
}

int
engine_pair_set_up_background(void **state)
{
    engine_pair_set_up(state);
    engine_pair_start_backgrounds(&engine_pair);
    return 0;
}

int
engine_pair_tear_down(void **state)
{
    engine_pair_close(&engine_pair);
    return 0;
}

void
sides_test_run(void **state)
{
    const struct sides_test *test = *state;

    engine_pair_run(&engine_pair, test->body);
}
