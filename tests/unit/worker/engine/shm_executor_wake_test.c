/* tests/unit/worker/engine/shm_executor_wake_test.c - engine/shm_executor.c */

#include <poll.h>
#include <unistd.h>

#include "check.h"
#include "engine/shm_executor.h"
#include "engine/state.h"
#include "transport/shm/region.h"

enum {
    N_RANKS = 5,
    WORLD_SIZE = 7,
};

static bool
descriptor_is_readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, 0) == 1;
}

/* Ranks of a communicator have other numbers in the world. */
static void
wake_peers_wakes_every_rank_that_sleeps_and_no_other(void **state)
{
    static const bool sleeps[N_RANKS] = {false, true, true, false, true};
    static uint32_t ranks[N_RANKS] = {4, 6, 0, 5, 2};
    struct shared_memory_handle place;
    struct shm_region *regions[N_RANKS];
    int pipes[WORLD_SIZE][2];
    _Atomic int wakeup_fds[WORLD_SIZE];
    struct engine engine = {.wakeup_fds = wakeup_fds};
    struct comm_context context = {.engine = &engine, .ranks = ranks};

    for (unsigned i = 0; i < WORLD_SIZE; i++) {
        assert_int_equal(pipe(pipes[i]), 0);
        atomic_init(&wakeup_fds[i], pipes[i][1]);
    }
    assert_ok(shm_region_create(N_RANKS, 4096, &place, &regions[0]));
    for (uint32_t i = 1; i < N_RANKS; i++)
        assert_ok(shm_region_open(&place, i, N_RANKS, &regions[i]));
    shm_region_close_fd(regions[0]);
    for (unsigned i = 0; i < N_RANKS; i++) {
        if (sleeps[i])
            shm_region_set_sleeping(regions[i]);
    }

    context.shm_region = regions[0];
    struct op op = {
        .run = {.context = &context, .rounds = {.is_wake_pending = true}}};
    shm_executor_wake_peers(&op);
    for (unsigned i = 0; i < N_RANKS; i++)
        assert_int_equal(descriptor_is_readable(pipes[ranks[i]][0]), sleeps[i]);
    assert_false(descriptor_is_readable(pipes[1][0]));
    assert_false(descriptor_is_readable(pipes[3][0]));

    for (unsigned i = 0; i < N_RANKS; i++)
        shm_region_destroy(regions[i]);
    for (unsigned i = 0; i < WORLD_SIZE; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(wake_peers_wakes_every_rank_that_sleeps_and_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
