/*
 * tune/tuning.c - which algorithm runs a collective: decided once for all ranks
 */

#include "tune/tuning.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "tune/agreement.h"
#include "tune/benchmark.h"
#include "tune/collective_kind.h"
#include "tune/estimate.h"
#include "tune/link.h"
#include "tune/link_probe.h"
#include "tune/placement.h"
#include "tune/samples.h"
#include "tune/table.h"

struct tuning {
    struct tuner *tuner;
    struct comm_context *context;
    struct plan_nodes *nodes;
    struct table table;
};

static struct plan_shm_region
shm_region_of(const struct tuning *tuning)
{
    return context_plan_shm_region(tuning->context);
}

/* Runs on rank 0, which alone decides. */
static enum hoop_status
table_decide(struct tuning *tuning)
{
    const struct plan_shm_region shm_region = shm_region_of(tuning);
    size_t n_sample_bytes = 0;
    const enum hoop_status status = tuner_table(
        tuning->tuner, tuning->nodes, &shm_region, NULL, &tuning->table);

    if (status != HOOP_OK) {
        agreement_refuse(tuning->context);
        return error_pass(status);
    }
    tuner_samples(tuning->tuner, &n_sample_bytes);
    if (!tuner_has_agreed(tuning->tuner)) {
        tuning->table.n_sample_bytes = (uint32_t)n_sample_bytes;
        tuning->table.needs_benchmark =
            tuner_wants_samples(tuning->tuner, tuning->nodes);
    }
    return HOOP_OK;
}

/* Runs once in a session, when its world forms. */
static enum hoop_status
machine_measure(struct tuning *tuning)
{
    const bool is_needed = context_rank(tuning->context) == 0 &&
                           tuner_needs_machine(tuning->tuner);
    struct simulation_machine machine = link_usual();

    if (tuner_has_agreed(tuning->tuner))
        return HOOP_OK;
    const enum hoop_status status = link_probe_run(
        tuning->context, tuning->nodes,
        is_needed ? tuner_link_probe(tuning->tuner) : LINK_PROBE_DECLINES,
        &machine);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_needed)
        tuner_set_machine(tuning->tuner, &machine);
    return HOOP_OK;
}

/* If rank 0 chose an algorithm that needs a shared region, or reading each
 * other's memory, this rank must have that, too. */
static enum hoop_status
table_check(const struct tuning *tuning, const struct table *table)
{
    const struct plan_shm_region shm_region = shm_region_of(tuning);

    for (int i = 0; i < COLLECTIVE_KINDS * TABLE_FORMS; i++) {
        const struct table_row *row =
            &table->rows[i / TABLE_FORMS][i % TABLE_FORMS];

        for (uint32_t j = 0; j < row->n_points; j++)
            if (!plan_shm_region_suits(&shm_region,
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
cma_measure(struct tuning *tuning)
{
    bool is_faster = false;

    if (tuner_has_agreed(tuning->tuner) || !shm_region_of(tuning).has_cma)
        return HOOP_OK;
    const enum hoop_status status =
        benchmark_direct(tuning->context, tuning->nodes, &is_faster);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_faster || tuner_requires_cma(tuning->tuner))
        tuner_prefer_cma(tuning->tuner);
    return HOOP_OK;
}

/* Sends the samples that rank 0 has to all ranks, because any of them may
 * become a group's rank 0. */
static enum hoop_status
samples_agree(struct tuning *tuning)
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
        memcpy(text, tuner_samples(tuning->tuner, &n_bytes), n_bytes);
    enum hoop_status status = agreement_share(tuning->context, text, n_bytes);
    if (status == HOOP_OK && context_rank(tuning->context) > 0) {
        status = samples_parse("rank 0's HOOP_TUNING", text, n_bytes, &samples);
        if (status == HOOP_OK)
            tuner_take_samples(tuning->tuner, samples);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* All ranks run the benchmark, and rank 0 decides again. */
static enum hoop_status
benchmark_hold(struct tuning *tuning)
{
    CLEANUP(free) char *text = NULL;
    enum hoop_status status =
        benchmark_run(tuning->context, tuning->nodes, &text);

    if (status == HOOP_OK && context_rank(tuning->context) == 0) {
        tuner_add_samples(tuning->tuner, text);
        status = table_decide(tuning);
    }
    if (status == HOOP_OK)
        status = agreement_reach(tuning->context, &tuning->table);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
table_agree(struct tuning *tuning)
{
    enum hoop_status status = machine_measure(tuning);

    if (status == HOOP_OK)
        status = cma_measure(tuning);
    if (status == HOOP_OK && context_rank(tuning->context) == 0)
        status = table_decide(tuning);
    if (status == HOOP_OK)
        status = agreement_reach(tuning->context, &tuning->table);
    if (status == HOOP_OK && tuning->table.needs_benchmark)
        status = benchmark_hold(tuning);
    if (status == HOOP_OK)
        status = table_check(tuning, &tuning->table);
    if (status == HOOP_OK)
        status = samples_agree(tuning);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The context's own timeout is for the user's calls. */
static enum hoop_status
table_agree_until(struct tuning *tuning, uint64_t deadline_ns)
{
    struct comm_context *context = tuning->context;
    const uint32_t timeout_ms = context_timeout(context);

    if (deadline_ns != CLOCK_NEVER)
        context_set_timeout(context, (uint32_t)clock_left_ms(deadline_ns));
    const enum hoop_status status = table_agree(tuning);
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
    enum hoop_status status =
        placement_find(context, tuner_roster(tuner), &tuning->nodes);
    if (status == HOOP_OK)
        status = table_agree_until(tuning, deadline_ns);
    if (status != HOOP_OK)
        return error_pass(status);
    tuner_adopt(tuner, &tuning->table);
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
bytes_to_look_up(enum call_name name, size_t n_bytes)
{
    return name == CALL_ALLTOALLV ? UINT64_MAX : n_bytes;
}

static enum table_form
form_of(enum call_name name)
{
    return collective_kind_is_uneven(name) ? TABLE_UNEVEN : TABLE_EVEN;
}

const struct algorithm *
tuning_find(const struct tuning *tuning, enum call_name name, size_t n_bytes)
{
    const enum collective_kind collective = collective_kind_of(name);
    size_t n_entries;
    const struct registry_entry *entry = registry_of(collective, &n_entries);

    assert(n_entries > 0);
    if (tuning)
        entry = table_find(&tuning->table, collective, form_of(name),
                           bytes_to_look_up(name, n_bytes));
    assert(entry);
    return entry->algorithm;
}

/* Runs on rank 0. If it cannot decide, it tells the others. */
static enum hoop_status
table_force_here(struct tuning *tuning,
                 const char *algorithms,
                 struct table *out_table)
{
    struct overrides overrides;

    const struct plan_shm_region shm_region = shm_region_of(tuning);
    enum hoop_status status =
        overrides_parse("algorithms", algorithms, &overrides);
    if (status == HOOP_OK)
        status = tuner_table(tuning->tuner, tuning->nodes, &shm_region,
                             &overrides, out_table);
    if (status != HOOP_OK)
        agreement_refuse(tuning->context);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
tuning_force(struct tuning *tuning, const char *algorithms)
{
    struct table table;
    enum hoop_status status = HOOP_OK;

    if (context_rank(tuning->context) == 0)
        status = table_force_here(tuning, algorithms, &table);
    if (status == HOOP_OK)
        status = agreement_reach(tuning->context, &table);
    if (status == HOOP_OK)
        status = table_check(tuning, &table);
    if (status != HOOP_OK)
        return error_pass(status);
    tuning->table = table;
    return HOOP_OK;
}

static void
choice_offer(struct tuning_choice *choice,
             const struct registry_entry *entry,
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
tuning_explain(const struct tuning *tuning,
               enum call_name name,
               size_t n_bytes,
               struct tuning_choice *out_choice)
{
    const enum collective_kind collective = collective_kind_of(name);
    const struct estimate_place place = {.nodes = tuning->nodes,
                                         .machine = &tuning->table.machine,
                                         .shm_region = shm_region_of(tuning)};
    struct tuning_choice choice = {.algorithm =
                                       tuning_find(tuning, name, n_bytes)};
    size_t n_entries;
    const struct registry_entry *entries = registry_of(collective, &n_entries);

    for (size_t i = 0; i < n_entries; i++) {
        const bool is_chosen = entries[i].algorithm == choice.algorithm;
        double ns = 0;

        if (!is_chosen &&
            (!estimate_suits(&place, &entries[i]) ||
             (collective_kind_is_uneven(name) && entries[i].is_even_only)))
            continue;
        const enum hoop_status status =
            estimate_cost(&place, &entries[i], n_bytes, &ns);
        if (status != HOOP_OK)
            return error_pass(status);
        choice_offer(&choice, &entries[i], ns);
    }
    const struct registry_entry *overrides =
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
tuning_loss(const struct tuning *tuning)
{
    return tuning ? tuning->table.loss : LOSS_NONE;
}
