/*
 * tests/fault/command_member.c - a member that does what it is told
 *
 * Joins, says "ready", then reads lines: allreduce, barrier, ring, fail, leave.
 * Says "done" behind each, or why not, which ends it. Ends with its input.
 */

#include <stdio.h>
#include <string.h>

#include "hoop/hoop.h"

enum {
    COUNT = 4,
};

/* To the next rank, and from the one before. */
static enum hoop_status
ring_shift(hoop_comm_t *comm)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);
    double given[COUNT] = {0};
    double got[COUNT];
    const struct hoop_message send = {.kind = HOOP_SEND,
                                      .buffer = given,
                                      .count = COUNT,
                                      .dtype = HOOP_FLOAT64,
                                      .peer = (rank + 1) % size};
    const struct hoop_message recv = {.kind = HOOP_RECV,
                                      .buffer = got,
                                      .count = COUNT,
                                      .dtype = HOOP_FLOAT64,
                                      .peer = (rank + size - 1) % size};

    return hoop_sendrecv(&send, &recv, comm, NULL);
}

static enum hoop_status
command_do(const char *command, hoop_session_t **session)
{
    double values[COUNT] = {0};

    if (strcmp(command, "allreduce\n") == 0)
        return hoop_allreduce(HOOP_IN_PLACE, values, COUNT, HOOP_FLOAT64,
                              HOOP_SUM, hoop_world(*session));
    if (strcmp(command, "barrier\n") == 0)
        return hoop_barrier(hoop_world(*session));
    if (strcmp(command, "ring\n") == 0)
        return ring_shift(hoop_world(*session));
    if (strcmp(command, "fail\n") == 0)
        return hoop_barrier(hoop_world(*session)) != HOOP_OK ? HOOP_OK
                                                             : HOOP_E_INTERNAL;
    hoop_leave(*session);
    *session = NULL;
    return HOOP_OK;
}

int
main(void)
{
    hoop_session_t *session = NULL;
    char line[64];

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (hoop_join(NULL, &session) != HOOP_OK)
        return fprintf(stderr, "command_member: %s\n", hoop_error_text()), 1;
    puts("ready");
    while (fgets(line, sizeof(line), stdin)) {
        if (command_do(line, &session) != HOOP_OK)
            return fprintf(stderr, "command_member: %s\n", hoop_error_text()),
                   1;
        puts("done");
    }
    hoop_leave(session);
    return 0;
}
