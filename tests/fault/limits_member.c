/*
 * tests/fault/limits_member.c - a worker that needs a connection to everybody
 *
 * limits_member [--orders]: the program joins, reduces, exchanges with all
 * ranks and sends a message to each rank in turn. It compares every result. It
 * says "well" on standard output, or the status and text of the first call that
 * failed, and then leaves. With --orders it does this work for each line of
 * standard input. Before the work, "fill" opens files until no more can be
 * opened, and "free" closes them.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hoop/hoop.h"

enum {
    RANKS_MAX = 16,
    LARGE = 40000,
    FILES_MAX = 4096,
    LINE_MAX_BYTES = 64,
    TEXT_MAX_BYTES = 2048,
};

/* Keeps the first failure of several calls, because it may cause later ones. */
struct outcome {
    enum hoop_status status;
    char text[TEXT_MAX_BYTES];
};

static void
outcome_add(struct outcome *outcome, enum hoop_status status)
{
    if (status == HOOP_OK || outcome->status != HOOP_OK)
        return;
    outcome->status = status;
    snprintf(outcome->text, sizeof(outcome->text), "%s", hoop_error_text());
}

static enum hoop_status
reduce(hoop_comm_t *comm, size_t count)
{
    static int64_t elements[LARGE];
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);

    for (size_t i = 0; i < count; i++)
        elements[i] = (int64_t)(i + 1) * (rank + 1);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, elements, count, HOOP_INT64, HOOP_SUM, comm);
    if (status != HOOP_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (elements[i] != (int64_t)(i + 1) * size * (size + 1) / 2)
            exit(3);
    }
    return HOOP_OK;
}

static enum hoop_status
exchange(hoop_comm_t *comm)
{
    int32_t from[RANKS_MAX];
    int32_t to[RANKS_MAX];
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);

    for (uint32_t i = 0; i < size; i++)
        from[i] = (int32_t)(100 * rank + i);
    const enum hoop_status status =
        hoop_alltoall(from, to, 1, HOOP_INT32, comm);
    if (status != HOOP_OK)
        return status;
    for (uint32_t i = 0; i < size; i++) {
        if (to[i] != (int32_t)(100 * i + rank))
            exit(3);
    }
    return HOOP_OK;
}

/* Sends to the rank that is `distance` ahead, and receives from the one
 * behind. */
static void
pass_on(hoop_comm_t *comm, uint32_t distance, struct outcome *outcome)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);
    const uint32_t next = (rank + distance) % size;
    const uint32_t previous = (rank + size - distance) % size;
    int32_t from = (int32_t)(rank + 1);
    int32_t to = 0;

    /* Ranks whose next rank is lower receive first, which prevents a deadlock.
     * Each rank sends even if its receive has failed. */
    if (rank < next)
        outcome_add(outcome, hoop_send(&from, 1, HOOP_INT32, next, 7, comm));
    const enum hoop_status status =
        hoop_recv(&to, 1, HOOP_INT32, previous, 7, comm, NULL);
    outcome_add(outcome, status);
    if (rank > next)
        outcome_add(outcome, hoop_send(&from, 1, HOOP_INT32, next, 7, comm));
    if (status == HOOP_OK && to != (int32_t)(previous + 1))
        exit(3);
}

/* Makes every call even after a failure, because all ranks must make the same
 * calls. */
static struct outcome
work(hoop_comm_t *comm)
{
    struct outcome outcome = {0};

    outcome_add(&outcome, reduce(comm, 4));
    outcome_add(&outcome, exchange(comm));
    outcome_add(&outcome, reduce(comm, LARGE));
    for (uint32_t i = 1; i < hoop_comm_size(comm); i++)
        pass_on(comm, i, &outcome);
    outcome_add(&outcome, hoop_barrier(comm));
    return outcome;
}

static int
outcome_say(const struct outcome *outcome)
{
    if (outcome->status == HOOP_OK)
        printf("well\n");
    else
        printf("%s: %s\n", hoop_status_name(outcome->status), outcome->text);
    fflush(stdout);
    return outcome->status == HOOP_OK ? 0 : 1;
}

/* Follows each line of standard input and then does the work. */
static int
orders_follow(hoop_comm_t *comm)
{
    static int files[FILES_MAX];
    char line[LINE_MAX_BYTES];
    size_t n_files = 0;
    int code = 0;

    while (fgets(line, sizeof(line), stdin)) {
        int fd = 0;

        while (strcmp(line, "fill\n") == 0 && n_files < FILES_MAX &&
               (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
            files[n_files++] = fd;
        while (strcmp(line, "free\n") == 0 && n_files > 0)
            close(files[--n_files]);
        const struct outcome outcome = work(comm);
        code = outcome_say(&outcome);
    }
    return code;
}

int
main(int argc, char **argv)
{
    hoop_session_t *session = NULL;
    struct outcome outcome = {0};
    int code = 0;

    outcome_add(&outcome, hoop_join(NULL, &session));
    if (outcome.status != HOOP_OK)
        return outcome_say(&outcome);
    if (argc > 1 && strcmp(argv[1], "--orders") == 0) {
        code = orders_follow(hoop_world(session));
    } else {
        outcome = work(hoop_world(session));
        code = outcome_say(&outcome);
    }
    hoop_leave(session);
    return code;
}
