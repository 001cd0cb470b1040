/*
 * tests/fault/command_member.c - a member that does what it is told
 *
 * The program joins, says "ready" and then reads lines: the names in the table
 * of commands. After each it says "done". If a call fails, it says why and
 * exits. It also exits at the end of its input.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hoop/hoop.h"

enum {
    COUNT = 4,
    WIDE_COUNT = 1 << 21,
    REPEAT_COUNT = 1 << 15,
    COMMS = 2,
};

struct member {
    hoop_session_t *session;
    hoop_comm_t *comms[COMMS]; /* 'a' and 'b', of all ranks */
};

static enum hoop_status
allreduce(hoop_comm_t *comm, size_t count)
{
    double *values = calloc(count, sizeof(*values));
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, values, count, HOOP_FLOAT64, HOOP_SUM, comm);

    free(values);
    return status;
}

static enum hoop_status
allreduce_do(struct member *member)
{
    return allreduce(hoop_world(member->session), COUNT);
}

static enum hoop_status
a_do(struct member *member)
{
    return allreduce(member->comms[0], COUNT);
}

static enum hoop_status
b_do(struct member *member)
{
    return allreduce(member->comms[1], COUNT);
}

static enum hoop_status
wide_do(struct member *member)
{
    return allreduce(hoop_world(member->session), WIDE_COUNT);
}

static enum hoop_status
barrier_do(struct member *member)
{
    return hoop_barrier(hoop_world(member->session));
}

/* To the next rank, and from the one before. */
static enum hoop_status
ring_do(struct member *member)
{
    hoop_comm_t *comm = hoop_world(member->session);
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

/* A barrier that must fail, after which this goes on. */
static enum hoop_status
fail_do(struct member *member)
{
    return barrier_do(member) != HOOP_OK ? HOOP_OK : HOOP_E_INTERNAL;
}

/* Fails where others call something else, and goes on. */
static enum hoop_status
differ_do(struct member *member)
{
    float values[COUNT] = {0};

    if (hoop_allreduce(HOOP_IN_PLACE, values, COUNT, HOOP_FLOAT32, HOOP_SUM,
                       hoop_world(member->session)) != HOOP_OK)
        fprintf(stderr, "command_member: %s\n", hoop_error_text());
    return HOOP_OK;
}

/* As differ_do(), but like those who do not differ. */
static enum hoop_status
try_do(struct member *member)
{
    if (allreduce_do(member) != HOOP_OK)
        fprintf(stderr, "command_member: %s\n", hoop_error_text());
    return HOOP_OK;
}

/* Of the world, which goes on as it is. */
static enum hoop_status
shrink_do(struct member *member)
{
    hoop_comm_t *smaller = NULL;

    return hoop_comm_shrink(hoop_world(member->session), &smaller);
}

/* Create both communicators. */
static enum hoop_status
open_do(struct member *member)
{
    const uint32_t size = hoop_comm_size(hoop_world(member->session));
    uint32_t *ranks = calloc(size, sizeof(*ranks));
    enum hoop_status status = HOOP_OK;

    for (uint32_t rank = 0; rank < size; rank++)
        ranks[rank] = rank;
    for (size_t i = 0; i < COMMS && status == HOOP_OK; i++) {
        status =
            hoop_comm_create(member->session, ranks, size, &member->comms[i]);
        if (status == HOOP_OK)
            status = hoop_comm_set_name(member->comms[i], i == 0 ? "a" : "b");
    }
    free(ranks);
    return status;
}

/* Keep a processor busy. */
static void
count_to(int n)
{
    for (volatile int i = 0; i < n; i++)
        continue;
}

/* Compute until there is more to read. */
static enum hoop_status
compute_do(struct member *member)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    (void)member;
    while (poll(&input, 1, 0) == 0)
        count_to(10000000);
    return HOOP_OK;
}

/* Compute for so long. */
static void
compute(double seconds)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    const double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end) {
        count_to(1000000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

/* Calls with so many elements, and a pause of so many seconds before each, until
 * there is more to read. */
static enum hoop_status
steps(struct member *member, double pause, size_t count)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK && poll(&input, 1, 0) == 0) {
        compute(pause);
        status = allreduce(hoop_world(member->session), count);
    }
    return status;
}

static enum hoop_status
fast_do(struct member *member)
{
    return steps(member, 0.02, COUNT);
}

static enum hoop_status
slow_do(struct member *member)
{
    return steps(member, 0.5, COUNT);
}

static enum hoop_status
repeat_do(struct member *member)
{
    return steps(member, 0, REPEAT_COUNT);
}

static enum hoop_status
leave_do(struct member *member)
{
    hoop_leave(member->session);
    member->session = NULL;
    return HOOP_OK;
}

static const struct command {
    const char *name;
    enum hoop_status (*run)(struct member *member);
} commands[] = {
    {"allreduce\n", allreduce_do},
    {"a\n", a_do},
    {"b\n", b_do},
    {"wide\n", wide_do},
    {"barrier\n", barrier_do},
    {"ring\n", ring_do},
    {"fail\n", fail_do},
    {"differ\n", differ_do},
    {"try\n", try_do},
    {"shrink\n", shrink_do},
    {"open\n", open_do},
    {"compute\n", compute_do},
    {"leave\n", leave_do},
    {"fast\n", fast_do},
    {"slow\n", slow_do},
    {"repeat\n", repeat_do},
};

static enum hoop_status
command_run(const char *line, struct member *member)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(line, commands[i].name) == 0)
            return commands[i].run(member);
    }
    fprintf(stderr, "command_member: what is %s", line);
    exit(1);
}

int
main(void)
{
    struct member member = {0};
    char line[64];

    setvbuf(stdout, NULL, _IOLBF, 0);
    /* What poll() says of the input must hold for the lines read, too. */
    setvbuf(stdin, NULL, _IONBF, 0);
    if (hoop_join(NULL, &member.session) != HOOP_OK)
        return fprintf(stderr, "command_member: %s\n", hoop_error_text()), 1;
    puts("ready");
    while (fgets(line, sizeof(line), stdin)) {
        if (command_run(line, &member) != HOOP_OK)
            return fprintf(stderr, "command_member: %s\n", hoop_error_text()),
                   1;
        puts("done");
    }
    hoop_leave(member.session);
    return 0;
}
