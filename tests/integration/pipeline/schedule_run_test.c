/*
 * tests/integration/pipeline/schedule_run_test.c - runs schedules on processes
 *
 * Every kind of schedule runs on 1 to 4 processes, and must give the same bits
 * as a single process that computes everything in turn. Then 64 micro-batches
 * are in flight with random delays. SCHEDULE_RUN_ROUNDS=1000 makes this longer,
 * and SCHEDULE_RUN_SEED=7 repeats a run.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/pipeline/chain.h"
#include "pseudo_random.h"
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

/* All runs use one pipeline and follow each other without a barrier. */
static int
run_of_every_kind_computes_what_one_process_does(struct rank *rank)
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

/* With GPipe all micro-batches are in flight at the same time. The interleaved
 * schedule uses both directions and the whole ring. */
static int
delayed_body(struct rank *rank)
{
    const uint64_t n_rounds =
        number_from_environment("SCHEDULE_RUN_ROUNDS", n_rounds_usual);
    const uint64_t seed = number_from_environment("SCHEDULE_RUN_SEED", 1);
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
    const uint64_t n_rounds =
        number_from_environment("SCHEDULE_RUN_ROUNDS", n_rounds_usual);

    for (uint32_t size = 2; size <= 3; size++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = delayed_body,
                             .deadline_s = (uint32_t)(240 + n_rounds),
                         }),
                         0);
}

/*
 * The cases below test schedules that end early.
 *
 * A callback fails, a stage dies, stages run different schedules, or calls are
 * wrong. Every stage must return, and say why.
 */

struct loss {
    struct hoop_schedule_options shape;
    uint32_t bad_stage;
    struct hoop_task bad_task;
};

/* Runs one stage, and releases its chain and its schedule afterwards. */
static enum hoop_status
loss_run(const struct loss *loss,
         uint32_t stage,
         hoop_pipeline_t *pipeline,
         void (*on_bad)(void))
{
    hoop_schedule_t *schedule;
    struct chain chain = {
        .shape = &loss->shape,
        .stage = stage,
        .bad_task = loss->bad_task,
        .on_bad = on_bad,
        .bad_status = stage == loss->bad_stage ? HOOP_E_RANGE : HOOP_OK,
    };
    const struct hoop_stage_work work = chain_work(&chain);

    if (hoop_schedule_create(&loss->shape, &schedule) != HOOP_OK)
        return HOOP_E_UNKNOWN;
    const enum hoop_status status =
        hoop_schedule_run(schedule, pipeline, &work, NULL);
    hoop_schedule_free(schedule);
    return status;
}

/* When all forwards are done, later stages do not wait for earlier ones. */
static bool
is_told(const struct rank *rank, const struct loss *loss)
{
    return rank->rank <= loss->bad_stage ||
           loss->bad_task.kind == HOOP_TASK_FORWARD ||
           loss->shape.kind != HOOP_GPIPE;
}

static int
failing_check(struct rank *rank,
              const struct loss *loss,
              hoop_pipeline_t *pipeline)
{
    const bool is_forward = loss->bad_task.kind == HOOP_TASK_FORWARD;
    char text[128];

    const enum hoop_status status = loss_run(loss, rank->rank, pipeline, NULL);
    if (!is_told(rank, loss)) {
        RANK_CHECK(status == HOOP_OK);
        return 0;
    }
    RANK_CHECK(status == HOOP_E_RANGE);
    snprintf(text, sizeof(text),
             "stage %u: the %s of micro-batch %u, chunk %u failed "
             "(OUT_OF_RANGE)",
             loss->bad_stage, is_forward ? "forward" : "backward",
             loss->bad_task.micro_batch, loss->bad_task.chunk);
    RANK_CHECK(strcmp(hoop_error_text(), text) == 0);
    return 0;
}

/* The run fails on all stages with one text. Afterwards the pipeline can be
 * used again, also for a failure in another place. */
static int
failing_body(struct rank *rank)
{
    const struct loss *loss = rank->input;
    const uint32_t n = loss->shape.n_stages;
    hoop_pipeline_t *pipeline;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (uint32_t i = 0; i < 2 * n; i++) {
        struct loss next = *loss;

        next.bad_stage = i % n;
        next.bad_task.kind = i < n ? HOOP_TASK_FORWARD : HOOP_TASK_BACKWARD;
        RANK_CHECK(failing_check(rank, &next, pipeline) == 0);
        next.bad_stage = n;
        RANK_CHECK(loss_run(&next, rank->rank, pipeline, NULL) == HOOP_OK);
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
failing_callback_ends_the_run_everywhere(void **state)
{
    struct loss loss = {.bad_task = {.micro_batch = 2}};

    for (uint32_t size = 1; size <= 4; size++) {
        for (uint32_t kind = 0; kind <= HOOP_INTERLEAVED; kind++) {
            loss.shape = (struct hoop_schedule_options){
                (enum hoop_schedule_kind)kind, size, 20,
                kind == HOOP_INTERLEAVED ? 2 : 1};
            loss.bad_task.chunk = loss.shape.n_chunks - 1;
            assert_int_equal(ranks_run(&(struct ranks_options){
                                 .size = size,
                                 .body = failing_body,
                                 .input = &loss,
                             }),
                             0);
        }
    }
}

/* Only the first stage is still busy, with its last backward. */
static int
failure_behind_the_last_message_is_the_stages_own(struct rank *rank)
{
    const struct loss loss = {
        .shape = {HOOP_1F1B, rank->size, 4, 1},
        .bad_stage = 0,
        .bad_task = {HOOP_TASK_BACKWARD, 3, 0},
    };
    hoop_pipeline_t *pipeline;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(loss_run(&loss, rank->rank, pipeline, NULL) ==
               (rank->rank == 0 ? HOOP_E_RANGE : HOOP_OK));
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
die(void)
{
    raise(SIGKILL);
}

static int
dying_body(struct rank *rank)
{
    const struct loss *loss = rank->input;
    hoop_pipeline_t *pipeline;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(loss_run(loss, rank->rank, pipeline, die) == HOOP_E_PEER_LOST);
    RANK_CHECK(strstr(hoop_error_text(), "stage "));
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
killed_stage_ends_the_run_of_all_others(void **state)
{
    struct loss loss = {
        .shape = {HOOP_INTERLEAVED, 4, 16, 2},
        .bad_task = {HOOP_TASK_BACKWARD, 5, 1},
    };

    for (loss.bad_stage = 0; loss.bad_stage < 4; loss.bad_stage++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = 4, .body = dying_body, .input = &loss}),
                         0);
}

/* The second stage runs this instead of 1F1B with 5 micro-batches. All stages
 * are told long before a deadline. */
static int
mismatched_body(struct rank *rank)
{
    const struct hoop_schedule_options *other = rank->input;
    struct loss loss = {
        .shape = {HOOP_1F1B, rank->size, 5, 1},
        .bad_stage = rank->size,
    };
    hoop_pipeline_t *pipeline;

    if (rank->rank == 1)
        loss.shape = *other;
    loss.shape.n_stages = rank->size;
    hoop_comm_set_timeout(rank->comm, 60000);
    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    const uint64_t soon_ns = clock_deadline_ns(30000);
    RANK_CHECK(loss_run(&loss, rank->rank, pipeline, NULL) == HOOP_E_MISMATCH);
    RANK_CHECK(!clock_is_past(soon_ns));
    RANK_CHECK(strstr(hoop_error_text(), "recv_tensor of any shape"));
    RANK_CHECK(strstr(hoop_error_text(), " of 5"));
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
different_schedules_are_told_to_all(void **state)
{
    struct hoop_schedule_options others[] = {
        {HOOP_1F1B, 0, 6, 1},
        {HOOP_1F1B, 0, 2, 1},
        {HOOP_INTERLEAVED, 0, 5, 2},
    };

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        for (uint32_t size = 2; size <= 4; size++)
            assert_int_equal(
                ranks_run(&(struct ranks_options){.size = size,
                                                  .body = mismatched_body,
                                                  .input = &others[i]}),
                0);
    }
}

static enum hoop_status
give_back(void *owner,
          const struct hoop_task *task,
          const struct hoop_tensor *input,
          struct hoop_tensor *out)
{
    if (input)
        *out = *input;
    return HOOP_OK;
}

static enum hoop_status
make_nothing(void *owner,
             const struct hoop_task *task,
             const struct hoop_tensor *input,
             const struct hoop_tensor *output_grad,
             struct hoop_tensor *out_input_grad)
{
    return HOOP_OK;
}

/* Two callbacks are wrong on all ranks: the first stage makes no tensor, and
 * the second chunk of a stage returns the tensor that it was given. */
static int
careless_body(struct rank *rank)
{
    const struct hoop_schedule_options shape = {HOOP_1F1B, rank->size, 3, 1};
    const struct hoop_stage_work work = {give_back, make_nothing, NULL, NULL};
    hoop_pipeline_t *pipeline;
    hoop_schedule_t *schedule;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(hoop_schedule_create(&shape, &schedule) == HOOP_OK);
    RANK_CHECK(hoop_schedule_run(schedule, pipeline, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(),
                      "stage 0: the forward of micro-batch 0, chunk 0 went "
                      "wrong (INVALID_ARGUMENT): what it made"));
    hoop_schedule_free(schedule);
    hoop_pipeline_free(pipeline);
    return 0;
}

static enum hoop_status
make_or_give_back(void *owner,
                  const struct hoop_task *task,
                  const struct hoop_tensor *input,
                  struct hoop_tensor *out)
{
    const struct hoop_shape shape = {1, {3}};

    if (input)
        return give_back(owner, task, input, out);
    return hoop_tensor_create(HOOP_FLOAT32, &shape, out);
}

static int
giving_back_body(struct rank *rank)
{
    const struct hoop_schedule_options shape = {HOOP_INTERLEAVED, rank->size, 3,
                                                2};
    const struct hoop_stage_work work = {make_or_give_back, make_nothing, NULL,
                                         NULL};
    hoop_pipeline_t *pipeline;
    hoop_schedule_t *schedule;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(hoop_schedule_create(&shape, &schedule) == HOOP_OK);
    RANK_CHECK(hoop_schedule_run(schedule, pipeline, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(),
                      "made a tensor of the memory that it was given"));
    hoop_schedule_free(schedule);
    hoop_pipeline_free(pipeline);
    return 0;
}

static void
careless_callback_is_told_what_it_made(void **state)
{
    for (uint32_t size = 2; size <= 3; size++)
        assert_int_equal(ranks_run_all(size, careless_body), 0);
    for (uint32_t size = 1; size <= 3; size++)
        assert_int_equal(ranks_run_all(size, giving_back_body), 0);
}

static int
invalid_calls_are_refused_on_all_ranks(struct rank *rank)
{
    const struct hoop_schedule_options shape = {HOOP_1F1B, rank->size, 3, 1};
    const struct hoop_schedule_options larger = {HOOP_1F1B, rank->size + 1, 3,
                                                 1};
    struct hoop_stage_work work = {NULL, make_nothing, NULL, NULL};
    hoop_pipeline_t *pipeline;
    hoop_schedule_t *schedule;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(hoop_schedule_create(&shape, &schedule) == HOOP_OK);
    RANK_CHECK(hoop_schedule_run(NULL, pipeline, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strcmp(hoop_error_text(), "schedule is NULL") == 0);
    RANK_CHECK(hoop_schedule_run(schedule, NULL, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strcmp(hoop_error_text(), "pipeline is NULL") == 0);
    RANK_CHECK(hoop_schedule_run(schedule, pipeline, NULL, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_schedule_run(schedule, pipeline, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strcmp(hoop_error_text(), "work has no forward") == 0);
    work = (struct hoop_stage_work){give_back, NULL, NULL, NULL};
    RANK_CHECK(hoop_schedule_run(schedule, pipeline, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strcmp(hoop_error_text(), "work has no backward") == 0);
    hoop_schedule_free(schedule);
    work.backward = make_nothing;
    RANK_CHECK(hoop_schedule_create(&larger, &schedule) == HOOP_OK);
    RANK_CHECK(hoop_schedule_run(schedule, pipeline, &work, NULL) ==
               HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "but the pipeline has"));
    hoop_schedule_free(schedule);
    hoop_pipeline_free(pipeline);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(run_of_every_kind_computes_what_one_process_does, 1, 4),
        cmocka_unit_test(run_under_random_delays_computes_the_same),
        cmocka_unit_test(failing_callback_ends_the_run_everywhere),
        RANKS_TEST(failure_behind_the_last_message_is_the_stages_own, 3, 3),
        cmocka_unit_test(killed_stage_ends_the_run_of_all_others),
        cmocka_unit_test(different_schedules_are_told_to_all),
        cmocka_unit_test(careless_callback_is_told_what_it_made),
        RANKS_TEST(invalid_calls_are_refused_on_all_ranks, 1, 4),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
