/*
 * bench/counts/steps.c - repeats one call, so that its steps can be counted
 *
 * Usage: hooprun -n 2 steps CALL BYTES N_CALLS N_BATCHES, where CALL is
 * allreduce, broadcast, reduce, pingpong or barrier. Rank 0 is the root, so it
 * only sends or only receives. The program measures no time: valgrind and
 * strace count what rank 0 does, while the other rank, which nothing slows
 * down, always arrives first. After each batch a rank calls batch_end(), which
 * makes a system call that nothing else here makes, so that a batch in which
 * the other rank was late can be told from the rest. At the end rank 0 prints
 * the page faults and sleeps per call that getrusage() reports.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hoop/hoop.h"

enum {
    N_WARMUPS = 64,
    PAGE_BYTES = 4096,
};

struct steps {
    hoop_comm_t *comm;
    uint32_t rank;
    float *values;
    size_t n_bytes;
};

typedef enum hoop_status
call_fn(const struct steps *steps);

static enum hoop_status
call_allreduce(const struct steps *steps)
{
    return hoop_allreduce(HOOP_IN_PLACE, steps->values,
                          steps->n_bytes / sizeof(float), HOOP_FLOAT32,
                          HOOP_MAX, steps->comm);
}

static enum hoop_status
call_broadcast(const struct steps *steps)
{
    return hoop_broadcast(HOOP_IN_PLACE, steps->values,
                          steps->n_bytes / sizeof(float), HOOP_FLOAT32, 0,
                          steps->comm);
}

static enum hoop_status
call_reduce(const struct steps *steps)
{
    const void *send = steps->rank == 0 ? HOOP_IN_PLACE : steps->values;

    return hoop_reduce(send, steps->values, steps->n_bytes / sizeof(float),
                       HOOP_FLOAT32, HOOP_MAX, 0, steps->comm);
}

/* Sends the values to rank 1 and back. */
static enum hoop_status
call_pingpong(const struct steps *steps)
{
    const uint32_t peer = 1 - steps->rank;
    enum hoop_status status = HOOP_OK;

    if (steps->rank == 0)
        status = hoop_send(steps->values, steps->n_bytes, HOOP_UINT8, peer, 0,
                           steps->comm);
    if (status == HOOP_OK)
        status = hoop_recv(steps->values, steps->n_bytes, HOOP_UINT8, peer, 0,
                           steps->comm, NULL);
    if (status == HOOP_OK && steps->rank == 1)
        status = hoop_send(steps->values, steps->n_bytes, HOOP_UINT8, peer, 0,
                           steps->comm);
    return status;
}

static enum hoop_status
call_barrier(const struct steps *steps)
{
    return hoop_barrier(steps->comm);
}

static const struct {
    const char *name;
    call_fn *call;
} calls[] = {
    {"allreduce", call_allreduce}, {"broadcast", call_broadcast},
    {"reduce", call_reduce},       {"pingpong", call_pingpong},
    {"barrier", call_barrier},
};

static call_fn *
call_find(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].call;
    }
    fprintf(stderr, "steps: no call %s\n", name);
    exit(64);
}

static void
must(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "steps: %s\n", hoop_error_text());
    exit(1);
}

/* valgrind finds this place by the function, and strace by the system call. */
__attribute__((noinline)) void
batch_end(void);

void
batch_end(void)
{
    (void)getppid();
}

__attribute__((noinline)) void
batch_run(const struct steps *steps, call_fn *call, long n_calls);

void
batch_run(const struct steps *steps, call_fn *call, long n_calls)
{
    for (long i = 0; i < n_calls; i++)
        must(call(steps));
}

static void
usage_print(const struct rusage *before, long n_calls)
{
    struct rusage after;

    getrusage(RUSAGE_SELF, &after);
    printf("faults %.4f\nsleeps %.4f\n",
           (double)(after.ru_minflt - before->ru_minflt) / (double)n_calls,
           (double)(after.ru_nvcsw - before->ru_nvcsw) / (double)n_calls);
}

int
main(int argc, char **argv)
{
    hoop_session_t *session = NULL;
    struct rusage before;
    void *values = NULL;

    if (argc != 5)
        return fprintf(stderr, "usage: steps CALL BYTES N_CALLS N_BATCHES\n"),
               64;
    call_fn *call = call_find(argv[1]);
    const long n_calls = strtol(argv[3], NULL, 10);
    const long n_batches = strtol(argv[4], NULL, 10);
    struct steps steps = {.n_bytes = strtoul(argv[2], NULL, 10)};

    must(hoop_join(NULL, &session));
    steps.comm = hoop_world(session);
    steps.rank = hoop_comm_rank(steps.comm);
    if (posix_memalign(&values, PAGE_BYTES, steps.n_bytes + 1) != 0)
        return 1;
    steps.values = memset(values, 0, steps.n_bytes + 1);
    batch_run(&steps, call, steps.n_bytes > (1 << 20) ? 4 : N_WARMUPS);
    getrusage(RUSAGE_SELF, &before);
    batch_end();
    for (long i = 0; i < n_batches; i++) {
        batch_run(&steps, call, n_calls);
        batch_end();
    }
    if (steps.rank == 0)
        usage_print(&before, n_calls * n_batches);
    hoop_leave(session);
    free(values);
    return 0;
}
