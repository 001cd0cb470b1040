/*
 * tests/fault/command_member.c - a member that does what it is told
 *
 * The program joins, says "ready" and then reads lines: allreduce, barrier or
 * leave. After each it says "done". If a call fails, it says why and exits. It
 * also exits at the end of its input.
 */

#include <stdio.h>
#include <string.h>

#include "hoop/hoop.h"

enum {
    COUNT = 4,
};

static enum hoop_status
command_do(const char *command, hoop_session_t **session)
{
    double values[COUNT] = {0};

    if (strcmp(command, "allreduce\n") == 0)
        return hoop_allreduce(HOOP_IN_PLACE, values, COUNT, HOOP_FLOAT64,
                              HOOP_SUM, hoop_world(*session));
    if (strcmp(command, "barrier\n") == 0)
        return hoop_barrier(hoop_world(*session));
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
