/*
 * tests/integration/schedule_run_test.c - schedules run, on processes
 *
 * Every kind on 1 to 4 processes, compared to the bit with one process that
 * computes in turn. 64 micro-batches in flight go round under random delays;
 * SCHEDULE_RUN_ROUNDS=1000 SCHEDULE_RUN_SEED=7 does so longer, and the same once
 * more.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "chain.h"
#include "check.h"
#include "ranks.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const uint32_t counts[] = {1, 3, 8, 20};
static const uint64_t n_rounds_usual = 1;
#else
static const uint32_t counts[] = {1, 2, 3, 4, 7, 16, 64};
static const uint64_t n_rounds_usual = 3;
#endif

struct trial {
    struct hoop_schedule_options shape;
    uint32_t delay_us;
    uint64_t seed;
};

static int
result_check(struct rank *rank, const struct chain *chain)
{
    const struct hoop_schedule_options *shape = chain->shape;
    uint64_t sums[CHAIN_VIRTUAL_MAX];
    uint64_t losses;

    chain_reference(shape, sums, &losses);
    for (uint32_t chunk = 0; chunk < shape->n_chunks; chunk++)
        RANK_CHECK(chain->sums[chunk] ==
                   sums[chunk * shape->n_stages + chain->stage]);
    if (chain->stage == shape->n_stages - 1)
        RANK_CHECK(chain->losses == losses);
    return 0;
}

static int
stats_check(struct rank *rank,
            const hoop_schedule_t *schedule,
            const struct chain *chain,
            const struct hoop_run_stats *stats)
{
    struct hoop_schedule_cost cost = {0};
    size_t n_tasks;

    RANK_CHECK(hoop_schedule_check(schedule, &cost) == HOOP_OK);
    RANK_CHECK(hoop_schedule_tasks(schedule, chain->stage, &n_tasks));
    RANK_CHECK(chain->n_tasks == n_tasks);
    RANK_CHECK(!chain->is_out_of_order);
    RANK_CHECK(stats->n_live_max <= cost.n_live);
    RANK_CHECK(chain->stage > 0 || stats->n_live_max == cost.n_live);
    RANK_CHECK(stats->compute_ns + stats->wait_ns <= stats->total_ns);
    RANK_CHECK((stats->bytes_sent > 0) == (rank->size > 1));
    RANK_CHECK((stats->bytes_received > 0) == (rank->size > 1));
    return 0;
}

static int
trial_run(struct rank *rank,
          hoop_pipeline_t *pipeline,
          const struct trial *trial)
{
    hoop_schedule_t *schedule;
    struct hoop_run_stats stats = {0};
    struct chain chain = {
        .shape = &trial->shape,
        .stage = rank->rank,
        .delay_us = trial->delay_us,
        .chance = trial->seed + rank->rank,
    };
    const struct hoop_stage_work work = chain_work(&chain);

    RANK_CHECK(hoop_schedule_create(&trial->shape, &schedule) == HOOP_OK);
    const enum hoop_status status =
        hoop_schedule_run(schedule, pipeline, &work, &stats);
    if (status != HOOP_OK)
        fprintf(stderr, "rank %u: %s\n", rank->rank, hoop_error_text());
    RANK_CHECK(status == HOOP_OK);
    RANK_CHECK(result_check(rank, &chain) == 0);
    RANK_CHECK(stats_check(rank, schedule, &chain, &stats) == 0);
    hoop_schedule_free(schedule);
    return 0;
}

/* One pipeline, all runs after each other, nothing between. */
static int
all_body(struct rank *rank)
{
    hoop_pipeline_t *pipeline;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct trial trial = {.shape = {HOOP_GPIPE, rank->size, counts[i], 1}};

        RANK_CHECK(trial_run(rank, pipeline, &trial) == 0);
        trial.shape.kind = HOOP_1F1B;
        RANK_CHECK(trial_run(rank, pipeline, &trial) == 0);
        trial.shape.kind = HOOP_INTERLEAVED;
        for (uint32_t n_chunks = 1; n_chunks <= 3; n_chunks++) {
            trial.shape.n_chunks = n_chunks;
            RANK_CHECK(trial_run(rank, pipeline, &trial) == 0);
        }
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
run_of_every_kind_computes_what_one_process_does(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++)
        assert_int_equal(ranks_run_all(size, all_body), 0);
}

static uint64_t
number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* All micro-batches are in flight with GPipe; interleaved, both directions and
 * the way round the ring are. */
static int
delayed_body(struct rank *rank)
{
    const uint64_t n_rounds = number_of("SCHEDULE_RUN_ROUNDS", n_rounds_usual);
    const uint64_t seed = number_of("SCHEDULE_RUN_SEED", 1);
    hoop_pipeline_t *pipeline;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (uint64_t round = 0; round < n_rounds; round++) {
        struct trial trial = {
            .shape = {HOOP_GPIPE, rank->size, 64, 1},
            .delay_us = 100,
            .seed = seed + 1000 * round,
        };

        RANK_CHECK(trial_run(rank, pipeline, &trial) == 0);
        trial.shape.kind = HOOP_INTERLEAVED;
        trial.shape.n_chunks = 2;
        RANK_CHECK(trial_run(rank, pipeline, &trial) == 0);
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
run_under_random_delays_computes_the_same(void **state)
{
    const uint64_t n_rounds = number_of("SCHEDULE_RUN_ROUNDS", n_rounds_usual);

    (void)state;
    for (uint32_t size = 2; size <= 3; size++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = delayed_body,
                             .deadline_s = (uint32_t)(240 + n_rounds),
                         }),
                         0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_of_every_kind_computes_what_one_process_does),
        cmocka_unit_test(run_under_random_delays_computes_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
