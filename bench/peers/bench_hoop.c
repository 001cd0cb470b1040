/*
 * bench/peers/bench_hoop.c - runs hoop in the measuring loop
 *
 * hooprun -n N --no-prefix bench_hoop PEER TRANSPORT OPS SCHEDULE
 */

#include "hoop/hoop.h"

#include "driver.h"

static hoop_comm_t *world;

static void
must(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "bench_hoop: %s\n", hoop_error_text());
    exit(1);
}

/* Rank 0 sends first. Ranks other than 0 and 1 do nothing. */
static void
hoop_pingpong(const struct driver *driver, size_t count)
{
    const uint32_t peer = 1 - (uint32_t)driver->rank;

    if (driver->rank > 1)
        return;
    if (driver->rank == 0)
        must(hoop_send(driver->buffer, count, HOOP_FLOAT32, peer, 0, world));
    must(hoop_recv(driver->buffer, count, HOOP_FLOAT32, peer, 0, world, NULL));
    if (driver->rank == 1)
        must(hoop_send(driver->buffer, count, HOOP_FLOAT32, peer, 0, world));
}

static void
hoop_run(struct driver *driver, const char *op, size_t count)
{
    const size_t part = count / (size_t)driver->size;

    if (strcmp(op, "allreduce") == 0)
        must(hoop_allreduce(HOOP_IN_PLACE, driver->buffer, count, HOOP_FLOAT32,
                            HOOP_SUM, world));
    else if (strcmp(op, "allgather") == 0)
        must(hoop_allgather(driver->other, driver->buffer, part, HOOP_FLOAT32,
                            world));
    else if (strcmp(op, "alltoall") == 0)
        must(hoop_alltoall(driver->other, driver->buffer, part, HOOP_FLOAT32,
                           world));
    else if (strcmp(op, "reduce") == 0)
        must(hoop_reduce(driver->other, driver->buffer, count, HOOP_FLOAT32,
                         HOOP_SUM, 0, world));
    else if (strcmp(op, "reduce_scatter") == 0)
        must(hoop_reduce_scatter(driver->buffer, driver->other, part,
                                 HOOP_FLOAT32, HOOP_SUM, world));
    else if (strcmp(op, "broadcast") == 0)
        must(hoop_broadcast(HOOP_IN_PLACE, driver->buffer, count, HOOP_FLOAT32,
                            0, world));
    else if (strcmp(op, "pingpong") == 0)
        hoop_pingpong(driver, count);
    else
        must(hoop_barrier(world));
}

static void
world_barrier(struct driver *driver)
{
    (void)driver;
    must(hoop_barrier(world));
}

static void
world_maximize(struct driver *driver, double *numbers, int n)
{
    (void)driver;
    must(hoop_allreduce(HOOP_IN_PLACE, numbers, (size_t)n, HOOP_FLOAT64,
                        HOOP_MAX, world));
}

int
main(int argc, char **argv)
{
    hoop_session_t *session = NULL;

    if (argc != 5)
        return fprintf(stderr, "usage: bench_hoop PEER TRANSPORT OPS "
                               "SCHEDULE\n"),
               64;
    must(hoop_join(NULL, &session));
    world = hoop_world(session);
    struct driver driver = {
        .rank = (int)hoop_comm_rank(world),
        .size = (int)hoop_comm_size(world),
        .run = hoop_run,
        .barrier = world_barrier,
        .maximize = world_maximize,
    };
    driver_run(&driver, argv + 1);
    hoop_leave(session);
    return 0;
}
