/*
 * tests/integration/recovery/churn_test.c - many communicators leave nothing
 * behind
 *
 * Ten thousand communicators are formed, sometimes used, and freed. Afterwards
 * the memory and the descriptors of the workers and of hoopd must be as before,
 * and hoopd must list no communicator. A sanitizer keeps freed memory, so there
 * the leak checker decides, with fewer communicators.
 */

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoop/control.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "proc_state.h"

enum {
    WARM_UP = 500,
    /* The limits are for the heap in use of a worker, and for the size of a
     * process, in each half of the time. What is kept for reuse (spare
     * operations, the first large buffer of a connection) grows only once, but
     * a leak grows in both halves. A leak of 50 bytes per communicator would
     * exceed them. */
    HEAP_GROWTH_KIB = 64,
    RSS_GROWTH_KIB = 128,
    /* The connection that asks hoopd for its list opens and closes. */
    DESCRIPTORS_GROWTH = 8,
    SETTLE_MS = 20000,
};

struct list {
    uint32_t n_ranks;
    uint32_t ranks[4];
};

struct churn {
    uint32_t n_rounds;
    uint32_t n_lists;
    struct list lists[8];
};

static const struct churn pair = {
    6000,
    2,
    {{2, {0, 1}}, {2, {1, 0}}},
};

static const struct churn overlapping = {
    4000,
    8,
    {{2, {0, 1}},
     {3, {0, 1, 2}},
     {2, {2, 3}},
     {4, {3, 2, 1, 0}},
     {3, {3, 0, 1}},
     {1, {2}},
     {2, {3, 1}},
     {4, {0, 1, 2, 3}}},
};

struct footprint {
    uint64_t heap_kib;
    uint64_t rss_kib;
    uint64_t n_descriptors;
};

static uint64_t
rss_kib(pid_t pid)
{
    char path[64];
    char line[128];
    uint64_t kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmRSS: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static struct footprint
footprint_of(pid_t pid)
{
    return (struct footprint){
        .heap_kib = pid == getpid() ? mallinfo2().uordblks / 1024 : 0,
        .rss_kib = rss_kib(pid),
        .n_descriptors = descriptors_count(pid),
    };
}

static bool
is_instrumented(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

/* The measurements are at the beginning, in the middle and at the end. */
enum {
    N_LOOKS = 3
};

static bool
has_grown(const struct footprint *before, const struct footprint *after)
{
    return after->heap_kib > before->heap_kib + HEAP_GROWTH_KIB ||
           after->rss_kib > before->rss_kib + RSS_GROWTH_KIB;
}

static int
footprint_holds(const char *who, const struct footprint looks[N_LOOKS])
{
    const bool is_growing =
        has_grown(&looks[0], &looks[1]) && has_grown(&looks[1], &looks[2]);

    if ((is_instrumented() || !is_growing) &&
        looks[2].n_descriptors <= looks[0].n_descriptors + DESCRIPTORS_GROWTH)
        return 0;
    for (int i = 0; i < N_LOOKS; i++)
        fprintf(stderr,
                "%s: heap %" PRIu64 " KiB, resident %" PRIu64
                " KiB, descriptors %" PRIu64 "\n",
                who, looks[i].heap_kib, looks[i].rss_kib,
                looks[i].n_descriptors);
    return 1;
}

static int
round_run(hoop_session_t *session, const struct list *list, uint32_t round)
{
    const uint32_t here = hoop_comm_rank(hoop_world(session));
    hoop_comm_t *comm = NULL;
    bool is_member = false;
    int32_t value = 1;

    for (uint32_t i = 0; i < list->n_ranks; i++)
        is_member |= list->ranks[i] == here;
    if (!is_member)
        return 0;
    WORKER_CHECK(hoop_comm_create(session, list->ranks, list->n_ranks, &comm) ==
                 HOOP_OK);
    if (round % 5 == 0) {
        WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32,
                                    HOOP_SUM, comm) == HOOP_OK);
        WORKER_CHECK(value == (int32_t)list->n_ranks);
    }
    /* No rank receives this message, which must be freed with its
     * communicator. */
    if (round % 7 == 0)
        WORKER_CHECK(hoop_send(&value, 1, HOOP_INT32,
                               (hoop_comm_rank(comm) + 1) % list->n_ranks, 3,
                               comm) == HOOP_OK);
    hoop_comm_free(comm);
    return 0;
}

/* hoopd learns shortly afterwards that a communicator was left. */
static int
nothing_is_listed(const struct worker *worker)
{
    const struct hoop_control_options options = {
        .coordinator = worker->coordinator, .job = "test", .token = "secret"};
    const uint64_t deadline_ns = clock_deadline_ns(SETTLE_MS);
    const struct hoop_control_group_list *groups = NULL;
    hoop_control_t *control = NULL;

    WORKER_CHECK(hoop_control_create(&options, &control) == HOOP_OK);
    do {
        WORKER_CHECK(hoop_control_groups(control, NULL, &groups) == HOOP_OK);
    } while (groups->n_groups > 0 && !clock_is_past(deadline_ns));
    WORKER_CHECK(groups->n_groups == 0);
    hoop_control_destroy(control);
    return 0;
}

static int
rounds_run(hoop_session_t *session,
           const struct churn *churn,
           uint32_t first,
           uint32_t n_rounds)
{
    for (uint32_t i = first; i < first + n_rounds; i++) {
        const int failed =
            round_run(session, &churn->lists[i % churn->n_lists], i);

        if (failed)
            return failed;
    }
    return 0;
}

static int
churn_run(const struct worker *worker, const struct churn *churn)
{
    const struct hoop_join_options options = worker_options(worker);
    const uint32_t half = churn->n_rounds / (is_instrumented() ? 8 : 2);
    struct footprint here[N_LOOKS];
    struct footprint there[N_LOOKS];
    hoop_session_t *session = NULL;
    uint32_t first = WARM_UP;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(rounds_run(session, churn, 0, WARM_UP) == 0);
    const uint64_t begin_ns = clock_now_ns();
    for (int look = 0; look < N_LOOKS; look++) {
        WORKER_CHECK(nothing_is_listed(worker) == 0);
        WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
        here[look] = footprint_of(getpid());
        there[look] = footprint_of(hoopd.pid);
        if (look + 1 < N_LOOKS)
            WORKER_CHECK(rounds_run(session, churn, first, half) == 0);
        first += half;
    }
    const uint64_t taken_ns = clock_now_ns() - begin_ns;
    WORKER_CHECK(footprint_holds("worker", here) == 0);
    WORKER_CHECK(footprint_holds("hoopd", there) == 0);
    if (worker->index == 0)
        printf("%u ranks: %.0f us for each of %u\n", worker->n_workers,
               (double)taken_ns / 1000 / (2 * half), 2 * half);
    hoop_leave(session);
    return 0;
}

static int
comms_of_two_come_and_go_without_a_trace(const struct worker *worker)
{
    return churn_run(worker, &pair);
}

static int
overlapping_comms_come_and_go_without_a_trace(const struct worker *worker)
{
    return churn_run(worker, &overlapping);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(comms_of_two_come_and_go_without_a_trace, 2),
        WORKERS_TEST(overlapping_comms_come_and_go_without_a_trace, 4),
    };
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
