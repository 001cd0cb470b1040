/* tests/integration/recorder/recorded.c - a job that ends as its argument says:
 * good, mismatch, missing, killed, retried, or not at all: hangs, and stays, which
 * does not leave when a call has failed */

#include <hoop/hoop.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SUMS = 20,
    LARGE_COUNT = 262144,
    TIMEOUT_MS = 1500,
    READY_TAG = 77,
    MISSING_RANK = 2,
    OTHER_RANK = 1,
};

static float large[LARGE_COUNT];

/* One rank dies when all others are behind their last call, or they would repeat
 * that one, too. */
static enum hoop_status
others_await(uint32_t rank, hoop_comm_t *world)
{
    enum hoop_status status = HOOP_OK;
    float value = 1;

    if (rank != MISSING_RANK)
        return hoop_send(&value, 1, HOOP_FLOAT32, MISSING_RANK, READY_TAG,
                         world);
    for (uint32_t i = 1; i < hoop_comm_size(world) && status == HOOP_OK; i++)
        status = hoop_recv(&value, 1, HOOP_FLOAT32, HOOP_ANY_SOURCE, READY_TAG,
                           world, NULL);
    if (status == HOOP_OK)
        raise(SIGKILL);
    return status;
}

/* Exits the process for a rank that an ending asks to. */
static enum hoop_status
end_make(const char *ending, uint32_t rank, hoop_comm_t *world)
{
    float value = 1;

    if (strcmp(ending, "mismatch") == 0 && rank == OTHER_RANK)
        return hoop_broadcast(&value, &value, 1, HOOP_FLOAT32, 0, world);
    if (strcmp(ending, "missing") == 0 || strcmp(ending, "killed") == 0)
        hoop_comm_set_timeout(world, TIMEOUT_MS);
    if (strcmp(ending, "killed") == 0 && rank == MISSING_RANK)
        raise(SIGKILL);
    if ((strcmp(ending, "hangs") == 0 || strcmp(ending, "stays") == 0) &&
        rank == MISSING_RANK) {
        printf("rank %u: pauses\n", rank);
        fflush(stdout);
        pause();
    }
    /* The others' time limit ends this wait, too. */
    if (strcmp(ending, "missing") == 0 && rank == MISSING_RANK)
        return hoop_recv(&value, 1, HOOP_FLOAT32, HOOP_ANY_SOURCE, 99, world,
                         NULL);
    if (strcmp(ending, "good") == 0)
        return HOOP_OK;
    if (strcmp(ending, "retried") == 0) {
        const enum hoop_status status = others_await(rank, world);

        if (status != HOOP_OK)
            return status;
    }
    return hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_SUM, world);
}

/* Forms a communicator of this rank alone, and calls on it. */
static enum hoop_status
alone_call(uint32_t rank, hoop_comm_t *world)
{
    hoop_comm_t *alone = NULL;
    float value = 1;
    enum hoop_status status = hoop_comm_split(world, rank, 0, &alone);

    if (status == HOOP_OK)
        status =
            hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_SUM, alone);
    return status;
}

static enum hoop_status
calls_make(uint32_t rank, uint32_t size, hoop_comm_t *world)
{
    enum hoop_status status = HOOP_OK;
    hoop_op_t *op = NULL;
    float value = 1;

    for (int i = 0; i < SUMS && status == HOOP_OK; i++)
        status =
            hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_MAX, world);
    if (status == HOOP_OK)
        status = hoop_allreduce(large, large, LARGE_COUNT, HOOP_FLOAT32,
                                HOOP_SUM, world);
    for (int tag = 0; tag < 3 && status == HOOP_OK; tag++) {
        float got;

        status = hoop_send_start(&value, 1, HOOP_FLOAT32, (rank + 1) % size,
                                 tag, world, &op);
        if (status == HOOP_OK)
            status = hoop_recv(&got, 1, HOOP_FLOAT32, (rank + size - 1) % size,
                               tag, world, NULL);
        if (status == HOOP_OK)
            status = hoop_wait(op, HOOP_FOREVER);
    }
    if (status == HOOP_OK)
        status = alone_call(rank, world);
    return status == HOOP_OK ? hoop_barrier(world) : status;
}

int
main(int argc, char **argv)
{
    if (argc != 2 || hoop_init(NULL) != HOOP_OK) {
        fprintf(stderr, "%s\n", hoop_error_text());
        return 1;
    }
    hoop_comm_t *world = hoop_world(hoop_default_session());
    const uint32_t rank = hoop_comm_rank(world);
    enum hoop_status status = calls_make(rank, hoop_comm_size(world), world);

    if (status == HOOP_OK)
        status = end_make(argv[1], rank, world);
    printf("rank %u: %s\n", rank, hoop_status_name(status));
    if (strcmp(argv[1], "stays") == 0)
        pause();
    hoop_shutdown();
    return status != HOOP_OK;
}
