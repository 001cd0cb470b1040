/*
 * select/tuning.c - which algorithm runs a collective: decided once for all
 * ranks
 */

#include "select/tuning.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/status.h"

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/engine.h"
#include "select/benchmark.h"
#include "select/estimate.h"
#include "select/link.h"
#include "select/link_probe.h"
#include "select/overrides.h"
#include "select/samples.h"
#include "select/table.h"

/* Find the ranks of a context that share a host. */

struct rank_host {
    const char *host_id;
    uint32_t rank;
};

static int
rank_host_compare(const void *left, const void *right)
{
    const struct rank_host *one = left;
    const struct rank_host *other = right;

    return strcmp(one->host_id, other->host_id);
}

enum hoop_status
placement_nodes_from_roster(const struct comm_context *context,
                            const struct roster *roster,
                            struct plan_nodes **out_nodes)
{
    const uint32_t size = context_size(context);
    CLEANUP(free)
    struct rank_host *placed = calloc(size, sizeof(*placed));
    CLEANUP(free)
    uint32_t *names = calloc(size, sizeof(*names));
    uint32_t n_hosts = 0;

    if (!placed || !names)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the nodes of %u ranks", size);
    for (uint32_t rank = 0; rank < size; rank++)
        placed[rank] = (struct rank_host){
            .host_id =
                roster->members[context_world_rank(context, rank)].host_id,
            .rank = rank,
        };
    qsort(placed, size, sizeof(*placed), rank_host_compare);
    for (uint32_t i = 0; i < size; i++) {
        if (i > 0 && rank_host_compare(&placed[i - 1], &placed[i]) != 0)
            n_hosts++;
        names[placed[i].rank] = n_hosts;
    }
    return plan_nodes_create(names, size, out_nodes);
}

/*
 * Send the table of a context's rank 0 to all its ranks.
 *
 * The broadcast has a fixed algorithm, because there is no table yet to choose
 * one.
 */

enum {
    /* Up to this size a chain is used, whose connections exist already; beyond
     * it, connecting a tree is worth its cost. */
    BROADCAST_CHAIN_RANKS_MAX = 64,
};

/* Broadcast rank 0's n_bytes of additional data after the world's table. All
 * ranks know n_bytes from the table. Handle: HOOP_E_TIMEOUT (the context's),
 * HOOP_E_PEER_LOST. */
static enum hoop_status
agreement_broadcast_bytes(struct comm_context *context,
                          void *bytes,
                          size_t n_bytes)
{
    const struct engine_collective request = {
        .call =
            {
                .name = CALL_AGREE,
                .dtype = HOOP_UINT8,
                .root = context_agreed_settings(context),
                .count = n_bytes,
            },
        .algorithm = context_size(context) > BROADCAST_CHAIN_RANKS_MAX
                         ? &algorithm_broadcast_binomial
                         : &algorithm_broadcast_chain,
        .shape =
            {
                .rank = context_rank(context),
                .size = context_size(context),
                .is_in_place = true,
                .count = n_bytes,
                .granule = 1,
            },
        .input = bytes,
        .output = bytes,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    enum hoop_status status = engine_start_collective(context, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/*
 * Rank 0 gives table to the others, which overwrite theirs. In a context of one
 * rank, nothing happens. All ranks must call this or, on rank 0,
 * agreement_broadcast_refusal().
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST, HOOP_E_DATA_LOSS,
 * HOOP_E_INVALID (rank 0 has refused).
 */
static enum hoop_status
agreement_broadcast_table(struct comm_context *context, struct table *table)
{
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    enum hoop_status status = HOOP_OK;

    if (context_size(context) == 1)
        return HOOP_OK;
    if (context_rank(context) == 0)
        status = tuning_table_encode(table, bytes);
    if (status == HOOP_OK)
        status = agreement_broadcast_bytes(context, bytes, sizeof(bytes));
    if (status != HOOP_OK)
        return error_pass(status);
    if (bytes[0] == 0)
        return error_raise(HOOP_E_INVALID,
                           "rank 0 refused what it was to decide: see its "
                           "error");
    /* Rank 0 decodes, too, because encoding has rounded the costs. */
    return tuning_table_decode(bytes, table);
}

/* Called by rank 0 instead of agreement_broadcast_table() when it has no table
 * to give. The others' agreement_broadcast_table() then returns
 * HOOP_E_INVALID. */
static void
agreement_broadcast_refusal(struct comm_context *context)
{
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    char text[LIMIT_ERROR_TEXT];

    if (context_size(context) == 1)
        return;
    /* The caller reports its own error, not a failure to send the refusal. */
    snprintf(text, sizeof(text), "%s", error_text());
    if (agreement_broadcast_bytes(context, bytes, sizeof(bytes)) != HOOP_OK)
        log_debug("tune", "the other ranks were not told: %s", error_text());
    (void)error_raise(HOOP_E_INVALID, "%s", text);
}

/* Agree on the table of a context, and look up algorithms in it. */

struct tuning {
    struct tuner *tuner;
    struct comm_context *context;
    struct plan_nodes *nodes;
    struct table table;
};

static struct plan_shm_region
tuning_shm_region(const struct tuning *tuning)
{
    return context_plan_shm_region(tuning->context);
}

/* Runs on rank 0, which alone decides. */
static enum hoop_status
tuning_decide_table(struct tuning *tuning)
{
    const struct plan_shm_region shm_region = tuning_shm_region(tuning);
    size_t n_sample_bytes = 0;
    const enum hoop_status status = tuner_build_table(
        tuning->tuner, tuning->nodes, &shm_region, NULL, &tuning->table);

    if (status != HOOP_OK) {
        agreement_broadcast_refusal(tuning->context);
        return error_pass(status);
    }
    tuner_samples_text(tuning->tuner, &n_sample_bytes);
    if (!tuner_has_agreed(tuning->tuner)) {
        tuning->table.n_sample_bytes = (uint32_t)n_sample_bytes;
        tuning->table.needs_benchmark =
            tuner_wants_samples(tuning->tuner, tuning->nodes);
    }
    return HOOP_OK;
}

/* Runs once in a session, when its world forms. */
static enum hoop_status
tuning_measure_machine(struct tuning *tuning)
{
    const bool is_needed = context_rank(tuning->context) == 0 &&
                           tuner_needs_machine_costs(tuning->tuner);
    struct simulation_machine machine = link_typical_machine();

    if (tuner_has_agreed(tuning->tuner))
        return HOOP_OK;
    const enum hoop_status status = link_probe_run(
        tuning->context, tuning->nodes,
        is_needed ? tuner_measuring_role(tuning->tuner) : LINK_PROBE_SKIPS,
        &machine);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_needed)
        tuner_set_machine_costs(tuning->tuner, &machine);
    return HOOP_OK;
}

/* If rank 0 chose an algorithm that needs a shared region, or reading each
 * other's memory, this rank must have that, too. */
static enum hoop_status
tuning_check_table(const struct tuning *tuning, const struct table *table)
{
    const struct plan_shm_region shm_region = tuning_shm_region(tuning);

    for (int i = 0; i < COLLECTIVE_KINDS * N_TABLE_FORMS; i++) {
        const struct tuning_table_row *row =
            &table->rows[i / N_TABLE_FORMS][i % N_TABLE_FORMS];

        for (uint32_t j = 0; j < row->n_points; j++)
            if (!plan_shm_region_can_run(&shm_region,
                                         row->points[j].entry->algorithm))
                return error_raise(HOOP_E_DATA_LOSS,
                                   "rank 0 chose %s, which needs memory that "
                                   "all ranks share, and there is none",
                                   row->points[j].entry->algorithm->name);
    }
    return HOOP_OK;
}

/* Runs once in a session, too: which way of exchanging data between two
 * processes is faster depends on the processor. */
static enum hoop_status
tuning_measure_cma(struct tuning *tuning)
{
    bool is_faster = false;

    if (tuner_has_agreed(tuning->tuner) || !tuning_shm_region(tuning).has_cma)
        return HOOP_OK;
    const enum hoop_status status =
        benchmark_compare_cma(tuning->context, tuning->nodes, &is_faster);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_faster || tuner_requires_cma(tuning->tuner))
        tuner_prefer_cma(tuning->tuner);
    return HOOP_OK;
}

/* Sends the samples that rank 0 has to all ranks, because any of them may
 * become a group's rank 0. */
static enum hoop_status
tuning_share_samples(struct tuning *tuning)
{
    CLEANUP(free) char *text = NULL;
    struct samples *samples = NULL;
    size_t n_bytes = tuning->table.n_sample_bytes;

    if (n_bytes == 0 || context_size(tuning->context) == 1)
        return HOOP_OK;
    text = malloc(n_bytes);
    if (!text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu bytes",
                           n_bytes);
    if (context_rank(tuning->context) == 0)
        memcpy(text, tuner_samples_text(tuning->tuner, &n_bytes), n_bytes);
    enum hoop_status status =
        agreement_broadcast_bytes(tuning->context, text, n_bytes);
    if (status == HOOP_OK && context_rank(tuning->context) > 0) {
        status = samples_parse("rank 0's HOOP_TUNING", text, n_bytes, &samples);
        if (status == HOOP_OK)
            tuner_replace_samples(tuning->tuner, samples);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* All ranks run the benchmark, and rank 0 decides again. */
static enum hoop_status
tuning_run_benchmark(struct tuning *tuning)
{
    CLEANUP(free) char *text = NULL;
    enum hoop_status status =
        benchmark_run(tuning->context, tuning->nodes, &text);

    if (status == HOOP_OK && context_rank(tuning->context) == 0) {
        tuner_add_samples(tuning->tuner, text);
        status = tuning_decide_table(tuning);
    }
    if (status == HOOP_OK)
        status = agreement_broadcast_table(tuning->context, &tuning->table);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
tuning_agree_table(struct tuning *tuning)
{
    enum hoop_status status = tuning_measure_machine(tuning);

    if (status == HOOP_OK)
        status = tuning_measure_cma(tuning);
    if (status == HOOP_OK && context_rank(tuning->context) == 0)
        status = tuning_decide_table(tuning);
    if (status == HOOP_OK)
        status = agreement_broadcast_table(tuning->context, &tuning->table);
    if (status == HOOP_OK && tuning->table.needs_benchmark)
        status = tuning_run_benchmark(tuning);
    if (status == HOOP_OK)
        status = tuning_check_table(tuning, &tuning->table);
    if (status == HOOP_OK)
        status = tuning_share_samples(tuning);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The context's own timeout is for the user's calls. */
static enum hoop_status
tuning_agree_table_until(struct tuning *tuning, uint64_t deadline_ns)
{
    struct comm_context *context = tuning->context;
    const uint32_t timeout_ms = context_timeout(context);

    if (deadline_ns != CLOCK_NEVER)
        context_set_timeout(context, (uint32_t)clock_left_ms(deadline_ns));
    const enum hoop_status status = tuning_agree_table(tuning);
    context_set_timeout(context, timeout_ms);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
tuning_agree(struct tuner *tuner,
             struct comm_context *context,
             uint64_t deadline_ns,
             struct tuning **out_tuning)
{
    CLEANUP(tuning_destroy) struct tuning *tuning = calloc(1, sizeof(*tuning));

    if (!tuning)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tuning");
    tuning->tuner = tuner;
    tuning->context = context;
    enum hoop_status status = placement_nodes_from_roster(
        context, tuner_roster(tuner), &tuning->nodes);
    if (status == HOOP_OK)
        status = tuning_agree_table_until(tuning, deadline_ns);
    if (status != HOOP_OK)
        return error_pass(status);
    tuner_adopt_agreed_table(tuner, &tuning->table);
    *out_tuning = STEAL(tuning);
    return HOOP_OK;
}

void
tuning_destroy(struct tuning *tuning)
{
    if (!tuning)
        return;
    plan_nodes_destroy(tuning->nodes);
    free(tuning);
}

/* Ranks of an alltoallv know only their own part of the bytes. */
static uint64_t
table_lookup_bytes(enum call_name name, size_t n_bytes)
{
    return name == CALL_ALLTOALLV ? UINT64_MAX : n_bytes;
}

static enum tuning_table_form
table_form_of_call(enum call_name name)
{
    return collective_has_uneven_blocks(name) ? TABLE_FORM_UNEVEN_BLOCKS
                                              : TABLE_FORM_EVEN_BLOCKS;
}

const struct algorithm *
tuning_find_algorithm(const struct tuning *tuning,
                      enum call_name name,
                      size_t n_bytes)
{
    const enum collective_kind collective = collective_kind_of(name);
    size_t n_entries;
    const struct registry_algorithm *entry =
        registry_collective_entries(collective, &n_entries);

    assert(n_entries > 0);
    if (tuning)
        entry = tuning_table_find_algorithm(&tuning->table, collective,
                                            table_form_of_call(name),
                                            table_lookup_bytes(name, n_bytes));
    assert(entry);
    return entry->algorithm;
}

/* Runs on rank 0. If it cannot decide, it tells the others. */
static enum hoop_status
tuning_build_forced_table(struct tuning *tuning,
                          const char *algorithms,
                          struct table *out_table)
{
    struct overrides overrides;

    const struct plan_shm_region shm_region = tuning_shm_region(tuning);
    enum hoop_status status =
        overrides_parse("algorithms", algorithms, &overrides);
    if (status == HOOP_OK)
        status = tuner_build_table(tuning->tuner, tuning->nodes, &shm_region,
                                   &overrides, out_table);
    if (status != HOOP_OK)
        agreement_broadcast_refusal(tuning->context);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
tuning_override_algorithms(struct tuning *tuning, const char *algorithms)
{
    struct table table;
    enum hoop_status status = HOOP_OK;

    if (context_rank(tuning->context) == 0)
        status = tuning_build_forced_table(tuning, algorithms, &table);
    if (status == HOOP_OK)
        status = agreement_broadcast_table(tuning->context, &table);
    if (status == HOOP_OK)
        status = tuning_check_table(tuning, &table);
    if (status != HOOP_OK)
        return error_pass(status);
    tuning->table = table;
    return HOOP_OK;
}

static void
tuning_choice_add_candidate(struct tuning_choice *choice,
                            const struct registry_algorithm *entry,
                            double ns)
{
    if (entry->algorithm == choice->algorithm) {
        choice->estimate_ns = ns;
    } else if (!choice->runner_up || ns < choice->runner_up_ns) {
        choice->runner_up = entry->algorithm;
        choice->runner_up_ns = ns;
    }
}

enum hoop_status
tuning_explain_choice(const struct tuning *tuning,
                      enum call_name name,
                      size_t n_bytes,
                      struct tuning_choice *out_choice)
{
    const enum collective_kind collective = collective_kind_of(name);
    const struct estimate_environment place = {
        .nodes = tuning->nodes,
        .machine = &tuning->table.machine,
        .shm_region = tuning_shm_region(tuning)};
    struct tuning_choice choice = {
        .algorithm = tuning_find_algorithm(tuning, name, n_bytes)};
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(collective, &n_entries);

    for (size_t i = 0; i < n_entries; i++) {
        const bool is_chosen = entries[i].algorithm == choice.algorithm;
        double ns = 0;

        if (!is_chosen &&
            (!estimate_can_choose(&place, &entries[i]) ||
             (collective_has_uneven_blocks(name) && entries[i].is_even_only)))
            continue;
        const enum hoop_status status =
            estimate_cost(&place, &entries[i], n_bytes, &ns);
        if (status != HOOP_OK)
            return error_pass(status);
        tuning_choice_add_candidate(&choice, &entries[i], ns);
    }
    const struct registry_algorithm *overrides =
        tuning->table.overrides.entries[collective];
    choice.is_forced = overrides && overrides->algorithm == choice.algorithm;
    *out_choice = choice;
    return HOOP_OK;
}

const struct plan_nodes *
tuning_nodes(const struct tuning *tuning)
{
    return tuning ? tuning->nodes : NULL;
}

enum codec_loss
tuning_codec_loss(const struct tuning *tuning)
{
    return tuning ? tuning->table.loss : LOSS_NONE;
}
