/*
 * bench/peers/bench_mpi.c - runs an MPI library in the measuring loop
 *
 * mpirun -n N bench_mpi PEER TRANSPORT OPS SCHEDULE
 */

#include <mpi.h>

#include "driver.h"

/* Rank 0 sends first. Ranks other than 0 and 1 do nothing. */
static void
mpi_pingpong(const struct driver *driver, int count)
{
    const int peer = 1 - driver->rank;

    if (driver->rank > 1)
        return;
    if (driver->rank == 0)
        MPI_Send(driver->buffer, count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(driver->buffer, count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (driver->rank == 1)
        MPI_Send(driver->buffer, count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD);
}

static void
mpi_run(struct driver *driver, const char *op, size_t count)
{
    const int part = (int)count / driver->size;

    if (strcmp(op, "allreduce") == 0)
        MPI_Allreduce(MPI_IN_PLACE, driver->buffer, (int)count, MPI_FLOAT,
                      MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(op, "allgather") == 0)
        MPI_Allgather(driver->other, part, MPI_FLOAT, driver->buffer, part,
                      MPI_FLOAT, MPI_COMM_WORLD);
    else if (strcmp(op, "alltoall") == 0)
        MPI_Alltoall(driver->other, part, MPI_FLOAT, driver->buffer, part,
                     MPI_FLOAT, MPI_COMM_WORLD);
    else if (strcmp(op, "reduce") == 0)
        MPI_Reduce(driver->other, driver->buffer, (int)count, MPI_FLOAT,
                   MPI_SUM, 0, MPI_COMM_WORLD);
    else if (strcmp(op, "reduce_scatter") == 0)
        MPI_Reduce_scatter_block(driver->buffer, driver->other, part, MPI_FLOAT,
                                 MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(op, "broadcast") == 0)
        MPI_Bcast(driver->buffer, (int)count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    else if (strcmp(op, "pingpong") == 0)
        mpi_pingpong(driver, (int)count);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

static void
mpi_barrier(struct driver *driver)
{
    (void)driver;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void
mpi_maximize(struct driver *driver, double *numbers, int n)
{
    (void)driver;
    MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
}

int
main(int argc, char **argv)
{
    struct driver driver = {
        .run = mpi_run,
        .barrier = mpi_barrier,
        .maximize = mpi_maximize,
    };

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &driver.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &driver.size);
    if (argc != 5)
        MPI_Abort(MPI_COMM_WORLD, 64);
    driver_run(&driver, argv + 1);
    MPI_Finalize();
    return 0;
}
