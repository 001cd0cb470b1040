/*
 * tests/integration/small_stack_test.c - calls from threads with little stack
 *
 * Below the bound of hoop/hoop.h a call fails with a text that says how much
 * there is and how much it takes; at the bound all kinds of calls do their work.
 * Each thread is looked at by itself.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "daemon.h"
#include "workers.h"

enum {
    N_ELEMENTS = 200000,
/* Which makes frames several times as large. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    SANITIZED = 1,
#else
    SANITIZED = 0,
#endif
};

struct caller {
    const struct worker *worker;
    hoop_session_t *session;
    size_t n_stack;
    const char *job; /* of the work */
    int result;
};

static void *
small_run(void *owner)
{
    struct caller *caller = owner;
    hoop_comm_t *world = hoop_world(caller->session);
    hoop_comm_t *comm = NULL;
    const uint32_t both[] = {0, 1};
    int32_t x = 1;

    const enum hoop_status statuses[] = {
        hoop_barrier(world),
        hoop_allreduce(&x, &x, 1, HOOP_INT32, HOOP_SUM, world),
        hoop_send(&x, 1, HOOP_INT32, 1, 0, world),
        hoop_comm_create(caller->session, both, 2, &comm),
    };
    caller->result = strstr(hoop_error_text(), "bytes of stack left") == NULL;
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        caller->result += statuses[i] != HOOP_E_EXHAUSTED;
    return NULL;
}

/* What takes most of it: joining, planning, logging, combining. */
static int
work(struct caller *caller)
{
    struct hoop_join_options options = worker_options(caller->worker);
    const struct hoop_mesh_axis axes[] = {{"a", 2}, {"b", 1}};
    static float values[N_ELEMENTS];
    static float sums[N_ELEMENTS];
    const struct hoop_tensor whole = {
        values, HOOP_FLOAT32, {2, {500, 400}}, NULL};
    struct hoop_tensor_spec rows = {.sharding = {.dims = {{1, {0}}}}};
    struct hoop_tensor_spec columns = {
        .sharding = {.dims = {{0, {0}}, {1, {0}}}}};
    hoop_session_t *session = NULL;
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *moved = NULL;
    hoop_mesh_t *mesh = NULL;

    options.job = caller->job;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (size_t n = 1; n <= N_ELEMENTS; n *= 7)
        WORKER_CHECK(hoop_allreduce(values, sums, n, HOOP_FLOAT32, HOOP_SUM,
                                    hoop_world(session)) == HOOP_OK);
    WORKER_CHECK(
        hoop_mesh_create(session,
                         &(struct hoop_mesh_options){.axes = axes, .n_axes = 2},
                         &mesh) == HOOP_OK);
    rows.mesh = mesh;
    columns.mesh = mesh;
    WORKER_CHECK(hoop_dtensor_from_global(&whole, &rows, &dtensor) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &columns, &moved) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_send(values, 1, HOOP_FLOAT32, 5, 0,
                           hoop_world(session)) == HOOP_E_INVALID);
    hoop_dtensor_free(dtensor);
    hoop_dtensor_free(moved);
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

static void *
work_run(void *owner)
{
    struct caller *caller = owner;

    caller->result = work(caller);
    return NULL;
}

enum {
    MARK = 0xa5,
    ROOMY = 1 << 20,
};

/* Most that calls have used, of a stack whose other bytes are as they were: it
 * grows downwards. */
static size_t
used_at_most(const uint8_t *stack)
{
    size_t n_unused = 0;

    while (n_unused < ROOMY && stack[n_unused] == MARK)
        n_unused++;
    return ROOMY - n_unused;
}

static int
work_in_bounds(struct caller *caller)
{
    pthread_attr_t attributes;
    pthread_t thread;
    uint8_t *stack = aligned_alloc(4096, ROOMY);

    WORKER_CHECK(stack);
    memset(stack, MARK, ROOMY);
    pthread_attr_init(&attributes);
    WORKER_CHECK(pthread_attr_setstack(&attributes, stack, ROOMY) == 0);
    WORKER_CHECK(pthread_create(&thread, &attributes, work_run, caller) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    const size_t n_used = used_at_most(stack);
    free(stack);
    WORKER_CHECK(caller->result == 0);
    if (n_used > LIMIT_STACK || getenv("SMALL_STACK_TELL"))
        fprintf(stderr, "calls used %zu bytes of stack\n", n_used);
    WORKER_CHECK(SANITIZED || n_used <= LIMIT_STACK);
    return 0;
}

static int
thread_run(void *(*run)(void *), struct caller *caller)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    WORKER_CHECK(pthread_attr_setstacksize(&attributes, caller->n_stack) == 0);
    WORKER_CHECK(pthread_create(&thread, &attributes, run, caller) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return caller->result;
}

static int
body(const struct worker *worker)
{
    static const size_t too_small[] = {32 << 10, 64 << 10, 128 << 10};
    const struct hoop_join_options options = worker_options(worker);
    struct caller caller = {.worker = worker, .job = "small-stacks"};

    WORKER_CHECK(hoop_join(&options, &caller.session) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(too_small); i++) {
        caller.n_stack = too_small[i];
        WORKER_CHECK(thread_run(small_run, &caller) == 0);
    }
    /* They have not been called at all: the ranks are in step. */
    WORKER_CHECK(hoop_barrier(hoop_world(caller.session)) == HOOP_OK);
    /* What a thread has before its first call comes on top. */
    caller.n_stack = LIMIT_STACK + (64 << 10);
    WORKER_CHECK(SANITIZED || thread_run(work_run, &caller) == 0);
    caller.job = "marked-stacks";
    WORKER_CHECK(work_in_bounds(&caller) == 0);
    WORKER_CHECK(hoop_barrier(hoop_world(caller.session)) == HOOP_OK);
    hoop_leave(caller.session);
    return 0;
}

static void
thread_with_a_small_stack_is_told_so(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 2, body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_with_a_small_stack_is_told_so),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
