/* tune/contest.c - all algorithms in turns, when a world forms */

#include "tune/contest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "plan/algorithms.h"
#include "plan/catalog.h"
#include "tune/races.h"

enum {
    ELEMENT_BYTES = 4,
    GRANULE_BYTES = 64,
    /* Counted ones, of which the middle one is taken; a first one is not. */
    TURNS = 3,
    BYTES_MAX = 2 << 20,
    /* Whether to read each other's memory is decided by this much. */
    DIRECT_BYTES = 512 << 10,
};

/* ... if it takes less of the time than that. */
static const double DIRECT_GAIN = 0.87;

/* Each speaks for those around it: tune/races_apply.c. */
static const size_t sizes[] = {256, 4096, 32768, 256 << 10, BYTES_MAX};

static const enum call_name names[CATALOG_COLLECTIVES] = {
    [CATALOG_ALLREDUCE] = CALL_ALLREDUCE,
    [CATALOG_REDUCE] = CALL_REDUCE,
    [CATALOG_BROADCAST] = CALL_BROADCAST,
    [CATALOG_ALLGATHER] = CALL_ALLGATHER,
    [CATALOG_REDUCE_SCATTER] = CALL_REDUCE_SCATTER,
    [CATALOG_GATHER] = CALL_GATHER,
    [CATALOG_SCATTER] = CALL_SCATTER,
    [CATALOG_ALLTOALL] = CALL_ALLTOALL,
    [CATALOG_SCAN] = CALL_SCAN,
    [CATALOG_EXSCAN] = CALL_EXSCAN,
    [CATALOG_BARRIER] = CALL_BARRIER,
};

struct contest {
    struct channel *channel;
    const struct plan_nodes *nodes;
    struct plan_hall shm_region;
    bool is_agreement; /* each comes once with each session: no user's call */
    char *input;
    char *output;
    uint64_t end_ns; /* rank 0's counts */
    FILE *lines;     /* rank 0's; else NULL */
};

/* What all run in turns. */
struct event {
    const struct catalog_entry *entries[RACE_ENTRIES_MAX];
    size_t n;
    size_t n_bytes;
};

/* Of a race, and whether the time is over: the largest of all ranks count. */
struct tally {
    double ns[RACE_ENTRIES_MAX][TURNS];
    double is_over;
};

static struct plan_shape
shape_of(const struct contest *contest,
         enum catalog_collective collective,
         size_t n_bytes)
{
    const uint32_t size = channel_size(contest->channel);
    const size_t n_blocks = catalog_is_blockwise(collective) ? size : 1;
    const size_t count = n_bytes / ELEMENT_BYTES / n_blocks;
    const bool is_barrier = collective == CATALOG_BARRIER;

    return (struct plan_shape){
        .rank = channel_rank(contest->channel),
        .size = size,
        .count = is_barrier  ? 0
                 : count > 0 ? count
                             : 1,
        .granule = is_barrier ? GRANULE_BYTES : GRANULE_BYTES / ELEMENT_BYTES,
        .nodes = contest->nodes,
        .n_slot = contest->shm_region.n_slot / (is_barrier ? 1 : ELEMENT_BYTES),
        .is_open = contest->shm_region.is_open,
    };
}

static enum hoop_status
entry_run(const struct contest *contest,
          const struct catalog_entry *entry,
          size_t n_bytes)
{
    const struct plan_shape shape =
        shape_of(contest, entry->collective, n_bytes);
    struct engine_collective request = {
        .call = {.name = names[entry->collective], .count = shape.count},
        .algorithm = entry->algorithm,
        .shape = shape,
        .input = contest->input,
        .output = contest->output,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    if (entry->collective != CATALOG_BARRIER) {
        request.call.dtype = HOOP_FLOAT32;
        request.call.reduce_op = HOOP_SUM;
    }
    if (contest->is_agreement) {
        request.call.name = CALL_AGREE;
        request.call.root = channel_habits(contest->channel);
    }
    enum hoop_status status = engine_start(contest->channel, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
turn_run(const struct contest *contest,
         const struct catalog_entry *entry,
         size_t n_bytes,
         double *out_ns)
{
    size_t n_barriers;
    const struct catalog_entry *barrier =
        catalog_of(CATALOG_BARRIER, &n_barriers);

    enum hoop_status status = entry_run(contest, barrier, 0);
    const uint64_t begin_ns = clock_now_ns();
    if (status == HOOP_OK)
        status = entry_run(contest, entry, n_bytes);
    *out_ns = (double)(clock_now_ns() - begin_ns);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The largest of all ranks, for each. */
static enum hoop_status
tally_share(const struct contest *contest, struct tally *tally)
{
    const struct engine_collective request = {
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_FLOAT64,
                 .reduce_op = HOOP_MAX,
                 .count = sizeof(*tally) / sizeof(double)},
        .algorithm = &algorithm_allreduce_recursive_doubling,
        .shape = {.rank = channel_rank(contest->channel),
                  .size = channel_size(contest->channel),
                  .is_in_place = true,
                  .count = sizeof(*tally) / sizeof(double),
                  .granule = GRANULE_BYTES / sizeof(double)},
        .input = tally,
        .output = tally,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    enum hoop_status status = engine_start(contest->channel, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static int
by_size(const void *left, const void *right)
{
    const double one = *(const double *)left;
    const double other = *(const double *)right;

    return (one > other) - (one < other);
}

static void
line_add(const struct contest *contest,
         const struct event *event,
         struct tally *tally)
{
    if (!contest->lines)
        return;
    fprintf(contest->lines, "%u %u %s %zu", contest->nodes->n_ranks,
            contest->nodes->n_nodes,
            catalog_name(event->entries[0]->collective), event->n_bytes);
    for (size_t i = 0; i < event->n; i++) {
        qsort(tally->ns[i], TURNS, sizeof(tally->ns[i][0]), by_size);
        fprintf(contest->lines, " %s=%.0f", event->entries[i]->algorithm->name,
                tally->ns[i][TURNS / 2] + 1);
    }
    fputc('\n', contest->lines);
}

/* Each round begins with another one; the first is not counted. */
static enum hoop_status
event_run(const struct contest *contest,
          const struct event *event,
          bool *out_is_over)
{
    struct tally tally = {.is_over = clock_now_ns() >= contest->end_ns};
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; i < (TURNS + 1) * event->n && status == HOOP_OK; i++) {
        const size_t round = i / event->n;
        const size_t at = (i + round) % event->n;
        double ns = 0;

        status = turn_run(contest, event->entries[at], event->n_bytes, &ns);
        if (round > 0)
            tally.ns[at][round - 1] = ns;
    }
    if (channel_rank(contest->channel) > 0)
        tally.is_over = 0;
    if (status == HOOP_OK)
        status = tally_share(contest, &tally);
    if (status != HOOP_OK)
        return error_pass(status);
    line_add(contest, event, &tally);
    *out_is_over = tally.is_over > 0;
    return HOOP_OK;
}

/* Those that suit; fewer than two: no race. */
static struct event
event_of(const struct contest *contest,
         enum catalog_collective collective,
         size_t n_bytes)
{
    const struct plan_shape shape = shape_of(contest, collective, n_bytes);
    size_t n_entries;
    const struct catalog_entry *entries = catalog_of(collective, &n_entries);
    struct event event = {
        .n_bytes = collective == CATALOG_BARRIER ? 0 : n_bytes,
    };

    for (size_t i = 0; i < n_entries && i < RACE_ENTRIES_MAX; i++)
        if ((!entries[i].is_for_who_asks || entries[i].algorithm->is_direct) &&
            catalog_entry_suits(&entries[i], &shape))
            event.entries[event.n++] = &entries[i];
    return event;
}

static enum hoop_status
events_run(const struct contest *contest)
{
    enum hoop_status status = HOOP_OK;
    bool is_over = false;

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (unsigned j = 0; j < CATALOG_COLLECTIVES; j++) {
            const struct event event = event_of(contest, j, sizes[i]);

            if (event.n < 2 || is_over || (j == CATALOG_BARRIER && i > 0))
                continue;
            status = event_run(contest, &event, &is_over);
            if (status != HOOP_OK)
                return error_pass(status);
        }
    return HOOP_OK;
}

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

/* Small ones first: whatever there is time for. */
enum hoop_status
contest_run(struct channel *channel,
            const struct plan_nodes *nodes,
            char **out_text)
{
    const size_t n_bytes =
        BYTES_MAX + (size_t)channel_size(channel) * ELEMENT_BYTES;
    CLEANUP(free) char *input = calloc(1, n_bytes);
    CLEANUP(free) char *output = calloc(1, n_bytes);
    CLEANUP(free) char *text = NULL;
    CLEANUP(stream_close) FILE *lines = NULL;
    const uint64_t begin_ns = clock_now_ns();
    size_t n_text = 0;

    lines = open_memstream(&text, &n_text);
    if (!input || !output || !lines)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to race algorithms");
    const struct contest contest = {
        .channel = channel,
        .nodes = nodes,
        .shm_region = channel_hall(channel),
        .input = input,
        .output = output,
        .end_ns = begin_ns + LIMIT_CONTEST_MS * CLOCK_NS_PER_MS,
        .lines = channel_rank(channel) == 0 ? lines : NULL,
    };
    const enum hoop_status status = events_run(&contest);
    if (status != HOOP_OK)
        return error_pass(status);
    if (fclose(STEAL(lines)) != 0 || !text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to race algorithms");
    log_debug("tune", "raced all algorithms: %zu bytes of times, %.1f ms",
              n_text, (double)(clock_now_ns() - begin_ns) / 1e6);
    *out_text = STEAL(text);
    return HOOP_OK;
}

/* Rank 0's clock counts: behind a barrier all begin with it, and who reads of
 * others is not through before they are. */
static enum hoop_status
direct_race(const struct contest *contest, double *out_quotient)
{
    const struct catalog_entry *ways[] = {
        catalog_entry_of(&algorithm_alltoall_flat),
        catalog_entry_of(&algorithm_alltoall_direct),
    };
    double ns[COUNT_OF(ways)][TURNS + 1];

    for (size_t i = 0; i < (TURNS + 1) * COUNT_OF(ways); i++) {
        const size_t way = i % COUNT_OF(ways);
        const enum hoop_status status = turn_run(
            contest, ways[way], DIRECT_BYTES, &ns[way][i / COUNT_OF(ways)]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    for (size_t way = 0; way < COUNT_OF(ways); way++)
        qsort(ns[way] + 1, TURNS, sizeof(ns[way][0]), by_size);
    log_debug("tune", "an alltoall of %d KiB takes %.1f us, direct %.1f",
              DIRECT_BYTES >> 10, ns[0][1 + TURNS / 2] / 1e3,
              ns[1][1 + TURNS / 2] / 1e3);
    *out_quotient = ns[1][1 + TURNS / 2] / ns[0][1 + TURNS / 2];
    return HOOP_OK;
}

enum hoop_status
contest_direct(struct channel *channel,
               const struct plan_nodes *nodes,
               bool *out_is_faster)
{
    const size_t n_bytes =
        DIRECT_BYTES + (size_t)channel_size(channel) * ELEMENT_BYTES;
    CLEANUP(free) char *input = calloc(1, n_bytes);
    CLEANUP(free) char *output = calloc(1, n_bytes);
    const struct contest contest = {
        .channel = channel,
        .nodes = nodes,
        .shm_region = channel_hall(channel),
        .is_agreement = true,
        .input = input,
        .output = output,
    };
    double quotient = 1;

    if (!input || !output)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to race algorithms");
    const enum hoop_status status = direct_race(&contest, &quotient);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_is_faster = quotient < DIRECT_GAIN;
    return HOOP_OK;
}
