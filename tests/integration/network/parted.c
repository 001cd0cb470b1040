/*
 * tests/integration/network/parted.c - a worker of a job whose network is split
 *
 * Usage: parted MS HEALED_FILE STOP_FILE. It reduces until a rank is lost,
 * shrinks for at most MS milliseconds, and continues with the ranks that are
 * left until STOP_FILE exists. If it is not allowed to shrink, it waits for
 * HEALED_FILE and tries again. It prints a line for each of these.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hoop/hoop.h"

enum {
    PAUSE_US = 2000,
};

static void
say(const char *what, const char *text)
{
    printf("%s%s\n", what, text);
    fflush(stdout);
}

/* Repeats a reduction until it fails, or all ranks have seen the file. */
static enum hoop_status
reduce(hoop_comm_t *comm, const char *stop_file)
{
    const int64_t size = hoop_comm_size(comm);
    enum hoop_status status = HOOP_OK;
    int64_t values[2] = {0};

    while (status == HOOP_OK && values[1] < size) {
        values[0] = 1;
        values[1] = stop_file && access(stop_file, F_OK) == 0;
        status = hoop_allreduce(HOOP_IN_PLACE, values, 2, HOOP_INT64, HOOP_SUM,
                                comm);
        if (status == HOOP_OK && values[0] != size)
            return HOOP_E_DATA_LOSS;
        usleep(PAUSE_US);
    }
    return status;
}

static int
go_on(hoop_comm_t *comm, const char *stop_file)
{
    char text[64];

    snprintf(text, sizeof(text), "%" PRIu32, hoop_comm_size(comm));
    say("goes on with ", text);
    if (reduce(comm, stop_file) != HOOP_OK)
        return say("failed: ", hoop_error_text()), 1;
    say("went on", "");
    return 0;
}

/* This side is cut off: its shrink has failed, and must fail again when the
 * network works and the reason can be told. */
static int
stand_back(hoop_comm_t *world, const char *healed)
{
    hoop_comm_t *rest = NULL;

    say("may not go on: ", hoop_error_text());
    while (access(healed, F_OK) != 0)
        usleep(PAUSE_US);
    hoop_comm_set_timeout(world, 0);
    if (hoop_comm_shrink(world, &rest) == HOOP_OK)
        return say("went on all the same", ""), 1;
    say("was told: ", hoop_error_text());
    return 0;
}

static int
live(hoop_comm_t *world, char **arguments)
{
    hoop_comm_t *rest = NULL;

    if (hoop_barrier(world) != HOOP_OK)
        return say("failed: ", hoop_error_text()), 1;
    say("ready", "");
    if (reduce(world, NULL) != HOOP_E_PEER_LOST)
        return say("failed: ", hoop_error_text()), 1;
    say("was cut: ", hoop_error_text());
    hoop_comm_set_timeout(world, (uint32_t)strtoul(arguments[0], NULL, 10));
    if (hoop_comm_shrink(world, &rest) != HOOP_OK)
        return stand_back(world, arguments[1]);
    return go_on(rest, arguments[2]);
}

int
main(int argc, char **argv)
{
    hoop_session_t *session = NULL;

    if (argc != 4)
        return fprintf(stderr, "usage: parted MS HEALED_FILE STOP_FILE\n"), 64;
    if (hoop_join(NULL, &session) != HOOP_OK)
        return fprintf(stderr, "parted: %s\n", hoop_error_text()), 1;
    const int code = live(hoop_world(session), argv + 1);
    hoop_leave(session);
    return code;
}
