/* examples/hello_allreduce.c - joins, sums one number over all ranks, leaves */

#include <stdio.h>

#include "hoop/hoop.h"

int
main(void)
{
    hoop_session_t *session = NULL;
    if (hoop_join(NULL, &session) != HOOP_OK)
        return fprintf(stderr, "hello: %s\n", hoop_error_text()), 1;

    hoop_comm_t *world = hoop_world(session);
    float sum = (float)hoop_comm_rank(world);
    if (hoop_allreduce(HOOP_IN_PLACE, &sum, 1, HOOP_FLOAT32, HOOP_SUM, world) !=
        HOOP_OK)
        return fprintf(stderr, "hello: %s\n", hoop_error_text()), 1;

    printf("rank %u of %u: the ranks sum to %g\n", hoop_comm_rank(world),
           hoop_comm_size(world), sum);
    hoop_leave(session);
    return 0;
}
