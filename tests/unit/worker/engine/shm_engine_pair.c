/* tests/unit/worker/engine/shm_engine_pair.c - two engines that share shared
 * regions */

#include "shm_engine_pair.h"

#include <string.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "transport/shm/region.h"

/* Both are in this process. */
static void
halls_attach(struct shm_region *regions[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        struct cma_address place;

        assert_ok(engine_publish_cma_address(engine_pair.sides[1 - i].engine,
                                             &place));
        assert_ok(shm_region_cma_attach(regions[i], 1 - i, (uint32_t)getpid(),
                                        &place));
        assert_ok(shm_region_enable_cma(regions[i]));
    }
}

/* Channels 0 and 1 of both get a shared region. */
static void
halls_enter(bool are_open)
{
    struct wakeup_handle bells[2];

    for (uint32_t i = 0; i < 2; i++)
        assert_ok(engine_wakeup_handle(engine_pair.sides[i].engine, &bells[i]));
    for (uint32_t i = 0; i < 2; i++)
        assert_ok(engine_import_wakeup(engine_pair.sides[i].engine, 1 - i,
                                       &bells[1 - i]));
    for (unsigned k = 0; k < 2; k++) {
        struct shared_memory_handle place;
        struct shm_region *regions[2];

        assert_ok(shm_region_create(2, FLAT_SLOT, &place, &regions[0]));
        assert_ok(shm_region_open(&place, 1, 2, &regions[1]));
        shm_region_close_fd(regions[0]);
        if (are_open)
            halls_attach(regions);
        for (uint32_t i = 0; i < 2; i++)
            context_set_shm_region(engine_pair.sides[i].comms[k].context,
                                   regions[i]);
    }
}

static void
engine_pair_begin(enum engine_call_checking checking)
{
    engine_pair_open_checking(&engine_pair, checking);
    engine_pair_connect(&engine_pair);
    halls_enter(false);
}

int
shm_pair_set_up_unconnected(void **state)
{
    engine_pair_open(&engine_pair);
    halls_enter(false);
    return 0;
}

int
shm_pair_set_up_open(void **state)
{
    engine_pair_open(&engine_pair);
    engine_pair_connect(&engine_pair);
    halls_enter(true);
    engine_pair_start_backgrounds(&engine_pair);
    return 0;
}

int
shm_pair_set_up(void **state)
{
    engine_pair_begin(ENGINE_CHECK_FRAMES);
    engine_pair_start_backgrounds(&engine_pair);
    return 0;
}

int
shm_pair_set_up_checked(void **state)
{
    engine_pair_begin(ENGINE_CHECK_BEFORE_DATA);
    engine_pair_start_backgrounds(&engine_pair);
    return 0;
}

int
shm_pair_set_up_idle(void **state)
{
    engine_pair_begin(ENGINE_CHECK_FRAMES);
    return 0;
}

bool
says(const char *phrase)
{
    return strstr(error_text(), phrase) != NULL;
}

struct engine_collective
flat_sum_of(const struct comm_context *context, int32_t *values, size_t count)
{
    return (struct engine_collective){
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_INT32,
                 .reduce_op = HOOP_SUM,
                 .count = count},
        .algorithm = &algorithm_allreduce_flat,
        .shape = {.rank = context_rank(context),
                  .size = 2,
                  .is_in_place = true,
                  .count = count,
                  .granule = 16,
                  .slot_capacity = context_shm_slot_bytes(context) / 4},
        .input = values,
        .output = values,
    };
}

enum hoop_status
flat_run(struct engine_collective collective, struct comm_context *context)
{
    static _Thread_local unsigned n_calls;
    struct op *op = NULL;

    collective.mode = ENGINE_START_AND_WAIT;
    if (n_calls++ % 3 != 2)
        return engine_run_collective(context, &collective);
    const enum hoop_status status =
        engine_start_collective(context, &collective, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER) : status;
}

enum hoop_status
flat_sum(struct comm_context *context, int32_t *values, size_t count)
{
    return flat_run(flat_sum_of(context, values, count), context);
}
