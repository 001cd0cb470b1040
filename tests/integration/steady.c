/*
 * tests/integration/steady.c - a worker that reduces until a file exists
 *
 * steady STOP_FILE: every result is compared; says "reduced N times" and exits
 * with 0 when rank 0 has seen the file, so that all ranks stop after the same
 * operation.
 */

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "hoop/hoop.h"

enum {
    COUNT = 20000,
    PAUSE_US = 500,
};

/* Element 0 is the wish to stop; the others differ in every round. */
static int64_t
element_of(uint32_t rank, uint64_t round, size_t at)
{
    return (int64_t)(round * 7 + at) * (rank + 1);
}

static int
elements_compare(const int64_t *elements, uint64_t round, uint32_t size)
{
    const int64_t ranks = (int64_t)size * (size + 1) / 2;

    for (size_t at = 1; at < COUNT; at++) {
        if (elements[at] != (int64_t)(round * 7 + at) * ranks)
            return fprintf(stderr, "steady: round %" PRIu64 ": %zu is wrong\n",
                           round, at),
                   1;
    }
    return 0;
}

static int
rounds_run(hoop_comm_t *world, const char *stop_file)
{
    static int64_t elements[COUNT];
    const uint32_t rank = hoop_comm_rank(world);
    uint64_t round = 0;

    do {
        round++;
        elements[0] = rank == 0 && access(stop_file, F_OK) == 0;
        for (size_t at = 1; at < COUNT; at++)
            elements[at] = element_of(rank, round, at);
        if (hoop_allreduce(HOOP_IN_PLACE, elements, COUNT, HOOP_INT64, HOOP_SUM,
                           world) != HOOP_OK)
            return fprintf(stderr, "steady: %s\n", hoop_error_text()), 1;
        if (elements_compare(elements, round, hoop_comm_size(world)) != 0)
            return 1;
        usleep(PAUSE_US);
    } while (elements[0] == 0);
    printf("reduced %" PRIu64 " times\n", round);
    return 0;
}

int
main(int argc, char **argv)
{
    hoop_session_t *session = NULL;

    if (argc != 2)
        return fprintf(stderr, "usage: steady STOP_FILE\n"), 64;
    if (hoop_join(NULL, &session) != HOOP_OK)
        return fprintf(stderr, "steady: %s\n", hoop_error_text()), 1;
    const int code = rounds_run(hoop_world(session), argv[1]);
    hoop_leave(session);
    return code;
}
