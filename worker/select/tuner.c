/* select/tuner.c - the inputs of a session's tables of switch points */

#include "select/tuner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "select/builder.h"
#include "select/defaults.h"
#include "select/link.h"
#include "select/samples.h"

static const char ALGORITHM_SETTING_NAME[] = "HOOP_ALGORITHM";
static const char LINK_SETTING_NAME[] = "HOOP_DEBUG_LINK";

/* A table that was built, without overrides. */
struct cached_table {
    TAILQ_ENTRY(cached_table) link;
    uint64_t layout;
    struct table table;
};

TAILQ_HEAD(cached_table_list, cached_table);

struct tuner {
    const struct roster *roster;
    pthread_mutex_t lock; /* protects all members below */
    struct overrides overrides;
    enum codec_loss loss;
    bool is_coded;
    struct simulation_machine machine;
    bool link_costs_are_known;
    bool samples_may_be_shared;
    bool requires_cma; /* never changes */
    bool has_agreed_table;
    enum defaults_kind defaults;
    /* HOOP_TUNING=auto: the path of the file; else NULL. */
    char *store;
    struct samples *samples;               /* NULL: there are none */
    struct cached_table_list cached_table; /* the most recently used first */
    unsigned n_cached_tables;
};

/* Does HOOP_TUNING exclude all measurements? */
static bool
tuning_is_model_only(const char *tuning)
{
    return strcmp(tuning, "model") == 0;
}

static bool
tuning_is_automatic(const char *tuning)
{
    return strcmp(tuning, "auto") == 0;
}

static bool
tuning_names_file(const char *tuning)
{
    return tuning[0] && !tuning_is_model_only(tuning) &&
           !tuning_is_automatic(tuning);
}

/* A user who sets HOOP_DEBUG_LINK wants to see the choices that follow from
 * it. */
static enum defaults_kind
defaults_kind_of_config(const struct config *config, const char *tuning)
{
    if (config->link[0] || tuning_is_model_only(tuning))
        return DEFAULTS_NONE;
    return config->shm_negotiation == SHM_MODE_NEVER ? DEFAULTS_TCP
                                                     : DEFAULTS_SHM;
}

/* If there is no folder to keep samples in, the job runs without; that is not
 * an error. */
static enum hoop_status
tuner_load_samples(struct tuner *tuner, const char *tuning)
{
    const char *transport = tuner->samples_may_be_shared ? "shm" : "tcp";

    if (tuning_names_file(tuning))
        return samples_read(tuning, &tuner->samples);
    if (!tuning_is_automatic(tuning))
        return HOOP_OK;
    if (sample_store_path(transport, &tuner->store) == HOOP_OK)
        tuner->samples = sample_store_read(tuner->store);
    else
        log_debug("tune", "%s", error_text());
    return HOOP_OK;
}

enum hoop_status
tuner_config_check(const struct config *config)
{
    CLEANUP(samples_destroy) struct samples *samples = NULL;
    struct simulation_machine machine = link_typical_machine();
    struct overrides overrides;

    enum hoop_status status =
        overrides_parse(ALGORITHM_SETTING_NAME, config->algorithms, &overrides);
    if (status == HOOP_OK)
        status = link_parse_settings(LINK_SETTING_NAME, config->link, &machine);
    if (status == HOOP_OK && tuning_names_file(config->tuning))
        status = samples_read(config->tuning, &samples);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
tuner_create(const struct roster *roster,
             const struct config *config,
             struct tuner **out_tuner)
{
    const char *tuning = roster->rank == 0 ? config->tuning : "";
    CLEANUP(tuner_destroy) struct tuner *tuner = calloc(1, sizeof(*tuner));

    if (!tuner)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tuner");
    pthread_mutex_init(&tuner->lock, NULL);
    TAILQ_INIT(&tuner->cached_table);
    tuner->roster = roster;
    tuner->machine = link_typical_machine();
    tuner->loss = config->loss;
    tuner->is_coded = config->codec != CODEC_NONE;
    tuner->samples_may_be_shared = config->shm_negotiation != SHM_MODE_NEVER;
    tuner->link_costs_are_known = config->link[0] != '\0';
    tuner->defaults = defaults_kind_of_config(config, tuning);
    tuner->requires_cma = config->attaching == CMA_ALWAYS;
    enum hoop_status status = overrides_parse(
        ALGORITHM_SETTING_NAME, config->algorithms, &tuner->overrides);
    if (status == HOOP_OK)
        status = link_parse_settings(LINK_SETTING_NAME, config->link,
                                     &tuner->machine);
    if (status == HOOP_OK)
        status = tuner_load_samples(tuner, tuning);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_tuner = STEAL(tuner);
    return HOOP_OK;
}

static void
cached_tables_clear(struct tuner *tuner)
{
    struct cached_table *cached_table;

    while ((cached_table = TAILQ_FIRST(&tuner->cached_table))) {
        TAILQ_REMOVE(&tuner->cached_table, cached_table, link);
        free(cached_table);
    }
    tuner->n_cached_tables = 0;
}

void
tuner_destroy(struct tuner *tuner)
{
    if (!tuner)
        return;
    cached_tables_clear(tuner);
    samples_destroy(tuner->samples);
    free(tuner->store);
    pthread_mutex_destroy(&tuner->lock);
    free(tuner);
}

const struct roster *
tuner_roster(const struct tuner *tuner)
{
    return tuner->roster;
}

enum link_probe_role
tuner_measuring_role(const struct tuner *tuner)
{
    return tuner->samples_may_be_shared ? LINK_PROBE_MEASURES_SHM
                                        : LINK_PROBE_MEASURES;
}

bool
tuner_needs_machine_costs(struct tuner *tuner)
{
    pthread_mutex_lock(&tuner->lock);
    const bool needs = !tuner->link_costs_are_known;
    pthread_mutex_unlock(&tuner->lock);
    return needs;
}

bool
tuner_has_agreed(struct tuner *tuner)
{
    pthread_mutex_lock(&tuner->lock);
    const bool has_agreed_table = tuner->has_agreed_table;
    pthread_mutex_unlock(&tuner->lock);
    return has_agreed_table;
}

void
tuner_set_machine_costs(struct tuner *tuner,
                        const struct simulation_machine *machine)
{
    pthread_mutex_lock(&tuner->lock);
    tuner->machine = *machine;
    tuner->link_costs_are_known = true;
    cached_tables_clear(tuner);
    pthread_mutex_unlock(&tuner->lock);
}

bool
tuner_requires_cma(struct tuner *tuner)
{
    return tuner->requires_cma;
}

void
tuner_prefer_cma(struct tuner *tuner)
{
    pthread_mutex_lock(&tuner->lock);
    if (tuner->defaults == DEFAULTS_SHM)
        tuner->defaults = DEFAULTS_DIRECT;
    cached_tables_clear(tuner);
    pthread_mutex_unlock(&tuner->lock);
}

void
tuner_adopt_agreed_table(struct tuner *tuner, const struct table *agreed)
{
    pthread_mutex_lock(&tuner->lock);
    if (!tuner->has_agreed_table) {
        tuner->machine = agreed->machine;
        tuner->overrides = agreed->overrides;
        tuner->loss = agreed->loss;
        tuner->defaults = agreed->defaults;
        tuner->link_costs_are_known = true;
        tuner->has_agreed_table = true;
        if (agreed->n_sample_bytes == 0)
            samples_destroy(STEAL(tuner->samples));
        cached_tables_clear(tuner);
    }
    pthread_mutex_unlock(&tuner->lock);
}

void
tuner_machine_and_overrides(struct tuner *tuner,
                            struct simulation_machine *out_machine,
                            struct overrides *out_overrides)
{
    pthread_mutex_lock(&tuner->lock);
    *out_machine = tuner->machine;
    *out_overrides = tuner->overrides;
    pthread_mutex_unlock(&tuner->lock);
}

const char *
tuner_samples_text(struct tuner *tuner, size_t *out_n_bytes)
{
    pthread_mutex_lock(&tuner->lock);
    const char *text = tuner->samples ? tuner->samples->text : "";
    *out_n_bytes = tuner->samples ? tuner->samples->n_bytes : 0;
    pthread_mutex_unlock(&tuner->lock);
    return text;
}

void
tuner_replace_samples(struct tuner *tuner, struct samples *samples)
{
    pthread_mutex_lock(&tuner->lock);
    samples_destroy(tuner->samples);
    tuner->samples = samples;
    cached_tables_clear(tuner);
    pthread_mutex_unlock(&tuner->lock);
}

bool
tuner_wants_samples(struct tuner *tuner, const struct plan_nodes *nodes)
{
    pthread_mutex_lock(&tuner->lock);
    const bool wants =
        tuner->store && nodes->n_ranks > 1 &&
        nodes->n_ranks <= LIMIT_BENCHMARK_RANKS &&
        samples_count_for_nodes(tuner->samples, nodes) < LIMIT_BENCHMARK_JOBS;
    pthread_mutex_unlock(&tuner->lock);
    return wants;
}

/* Adds the samples in text and writes the file. The caller holds the lock. If
 * the samples together exceed the limit, this fails and the new ones are not
 * kept. */
static enum hoop_status
tuner_append_samples(struct tuner *tuner, const char *text)
{
    CLEANUP(free) char *all = NULL;
    struct samples *samples = NULL;

    if (asprintf(&all, "%s%s", tuner->samples ? tuner->samples->text : "",
                 text) < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for measurements");
    const enum hoop_status status =
        samples_parse(tuner->store, all, strlen(all), &samples);
    if (status != HOOP_OK)
        return error_pass(status);
    samples_destroy(tuner->samples);
    tuner->samples = samples;
    cached_tables_clear(tuner);
    return sample_store_write(tuner->store, samples->text, samples->n_bytes);
}

void
tuner_add_samples(struct tuner *tuner, const char *text)
{
    pthread_mutex_lock(&tuner->lock);
    const enum hoop_status status = tuner_append_samples(tuner, text);
    pthread_mutex_unlock(&tuner->lock);
    if (status != HOOP_OK)
        log_debug("tune", "measurements are not stored: %s", error_text());
}

/* FNV-1a. Tables of equal layouts are equal. */
static uint64_t
layout_hash(const struct plan_nodes *nodes,
            const struct plan_shm_region *shm_region)
{
    uint64_t hash = 0xcbf29ce484222325u ^ nodes->n_ranks ^
                    shm_region->slot_capacity << 16 ^
                    (uint64_t)shm_region->has_cma << 63;

    for (uint32_t rank = 0; rank < nodes->n_ranks; rank++)
        hash = (hash ^ nodes->node_of[rank]) * 0x100000001b3u;
    return hash;
}

/* Moves the table to the front. Returns NULL if there is none. The caller holds
 * the lock. */
static struct cached_table *
cached_table_find(struct tuner *tuner, uint64_t layout)
{
    struct cached_table *cached_table;

    TAILQ_FOREACH(cached_table, &tuner->cached_table, link)
    {
        if (cached_table->layout != layout)
            continue;
        TAILQ_REMOVE(&tuner->cached_table, cached_table, link);
        TAILQ_INSERT_HEAD(&tuner->cached_table, cached_table, link);
        return cached_table;
    }
    return NULL;
}

/* Replaces the least recently used table if the cache is full. The caller holds
 * the lock. */
static struct cached_table *
cached_table_add(struct tuner *tuner, uint64_t layout)
{
    struct cached_table *cached_table;

    if (tuner->n_cached_tables < LIMIT_TUNE_TABLES) {
        cached_table = malloc(sizeof(*cached_table));
        if (!cached_table)
            return NULL;
        tuner->n_cached_tables++;
    } else {
        cached_table = TAILQ_LAST(&tuner->cached_table, cached_table_list);
        TAILQ_REMOVE(&tuner->cached_table, cached_table, link);
    }
    cached_table->layout = layout;
    TAILQ_INSERT_HEAD(&tuner->cached_table, cached_table, link);
    return cached_table;
}

/* The caller holds the lock. */
static enum hoop_status
table_build_or_get_cached(struct tuner *tuner,
                          const struct plan_nodes *nodes,
                          const struct plan_shm_region *shm_region,
                          struct table *out_table)
{
    const struct estimate_environment place = {.nodes = nodes,
                                               .machine = &tuner->machine,
                                               .shm_region = *shm_region,
                                               .is_coded = tuner->is_coded};
    const uint64_t layout = layout_hash(nodes, shm_region);
    struct cached_table *cached_table = cached_table_find(tuner, layout);

    if (!cached_table) {
        /* Each source replaces what those before it say. */
        const enum hoop_status status = builder_build_table(&place, out_table);

        if (status != HOOP_OK)
            return error_pass(status);
        defaults_apply(tuner->defaults, &place, out_table);
        if (tuner->samples)
            samples_apply(tuner->samples, nodes, shm_region, out_table);
        cached_table = cached_table_add(tuner, layout);
        if (cached_table)
            cached_table->table = *out_table;
    } else {
        *out_table = cached_table->table;
    }
    return HOOP_OK;
}

enum hoop_status
tuner_build_table(struct tuner *tuner,
                  const struct plan_nodes *nodes,
                  const struct plan_shm_region *shm_region,
                  const struct overrides *overrides,
                  struct table *out_table)
{
    static const struct plan_shm_region none = {0};
    const struct plan_shm_region *shared = shm_region ? shm_region : &none;

    pthread_mutex_lock(&tuner->lock);
    struct overrides wanted = overrides ? *overrides : tuner->overrides;
    const bool must = overrides || !tuner->has_agreed_table;
    enum hoop_status status =
        table_build_or_get_cached(tuner, nodes, shared, out_table);
    if (status == HOOP_OK && must)
        status = overrides_check_can_run(&wanted, nodes, shared);
    overrides_drop_unsupported(&wanted, shared);
    if (status == HOOP_OK) {
        tuning_table_apply_overrides(out_table, &wanted);
        out_table->loss = tuner->loss;
        out_table->defaults = tuner->defaults;
    }
    pthread_mutex_unlock(&tuner->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
