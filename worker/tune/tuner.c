/* tune/tuner.c - what a session knows for its tables of switch points */

#include "tune/tuner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "tune/builder.h"
#include "tune/link.h"
#include "tune/race_store.h"
#include "tune/record.h"

static const char FROM_ALGORITHM[] = "HOOP_ALGORITHM";
static const char FROM_LINK[] = "HOOP_DEBUG_LINK";

/* A table that was built, without what is forced. */
struct kept {
    TAILQ_ENTRY(kept) link;
    uint64_t layout;
    struct table table;
};

TAILQ_HEAD(kept_list, kept);

struct tuner {
    const struct roster *roster;
    pthread_mutex_t lock; /* for all below */
    struct forced forced;
    enum codec_loss loss;
    bool is_coded;
    struct simulation_machine machine;
    bool has_machine;
    bool may_share;
    bool must_read; /* since it was created */
    bool has_agreed;
    enum record_kind record;
    char *store;           /* HOOP_TUNING=auto: a path; else NULL */
    struct races *races;   /* NULL: none were read */
    struct kept_list kept; /* the last used first */
    unsigned n_kept;
};

/* The model alone shall decide. */
static bool
is_model_only(const struct tuner_options *options)
{
    return options->races && strcmp(options->races, "model") == 0;
}

static bool
has_races(const struct tuner_options *options)
{
    return options->races && options->races[0] && !is_model_only(options);
}

static bool
is_automatic(const struct tuner_options *options)
{
    return has_races(options) && strcmp(options->races, "auto") == 0;
}

/* Who says what links cost wants to see what follows from that. */
static enum record_kind
record_of(const struct tuner_options *options)
{
    if (!options->transport || options->link[0] || is_model_only(options))
        return RECORD_NONE;
    return strcmp(options->transport, "tcp") == 0 ? RECORD_TCP : RECORD_SHM;
}

/* Who has no folder to keep races in goes without: it is no reason to fail. */
static enum hoop_status
races_open(struct tuner *tuner, const struct tuner_options *options)
{
    const char *transport = options->transport ? options->transport : "";

    if (!has_races(options))
        return HOOP_OK;
    if (!is_automatic(options))
        return races_read(options->races, &tuner->races);
    if (race_store_path(transport, &tuner->store) == HOOP_OK)
        tuner->races = race_store_read(tuner->store);
    else
        log_debug("tune", "%s", error_text());
    return HOOP_OK;
}

enum hoop_status
tuner_check(const struct tuner_options *options)
{
    CLEANUP(races_destroy) struct races *races = NULL;
    struct simulation_machine machine = link_usual();
    struct forced forced;

    enum hoop_status status =
        forced_parse(FROM_ALGORITHM, options->algorithms, &forced);
    if (status == HOOP_OK)
        status = link_parse(FROM_LINK, options->link, &machine);
    if (status == HOOP_OK && has_races(options) && !is_automatic(options))
        status = races_read(options->races, &races);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
tuner_create(const struct tuner_options *options, struct tuner **out_tuner)
{
    CLEANUP(tuner_destroy) struct tuner *tuner = calloc(1, sizeof(*tuner));

    if (!tuner)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tuner");
    pthread_mutex_init(&tuner->lock, NULL);
    TAILQ_INIT(&tuner->kept);
    tuner->roster = options->roster;
    tuner->machine = link_usual();
    tuner->loss = options->loss;
    tuner->is_coded = options->is_coded;
    tuner->may_share =
        options->transport && strcmp(options->transport, "shm") == 0;
    tuner->has_machine = options->link[0] != '\0';
    tuner->record = record_of(options);
    tuner->must_read = options->must_read;
    enum hoop_status status =
        forced_parse(FROM_ALGORITHM, options->algorithms, &tuner->forced);
    if (status == HOOP_OK)
        status = link_parse(FROM_LINK, options->link, &tuner->machine);
    if (status == HOOP_OK)
        status = races_open(tuner, options);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_tuner = STEAL(tuner);
    return HOOP_OK;
}

static void
kept_clear(struct tuner *tuner)
{
    struct kept *kept;

    while ((kept = TAILQ_FIRST(&tuner->kept))) {
        TAILQ_REMOVE(&tuner->kept, kept, link);
        free(kept);
    }
    tuner->n_kept = 0;
}

void
tuner_destroy(struct tuner *tuner)
{
    if (!tuner)
        return;
    kept_clear(tuner);
    races_destroy(tuner->races);
    free(tuner->store);
    pthread_mutex_destroy(&tuner->lock);
    free(tuner);
}

const struct roster *
tuner_roster(const struct tuner *tuner)
{
    return tuner->roster;
}

enum gauge_part
tuner_gauge(const struct tuner *tuner)
{
    return tuner->may_share ? GAUGE_MEASURES_MEMORY : GAUGE_MEASURES;
}

bool
tuner_needs_machine(struct tuner *tuner)
{
    pthread_mutex_lock(&tuner->lock);
    const bool needs = !tuner->has_machine;
    pthread_mutex_unlock(&tuner->lock);
    return needs;
}

bool
tuner_has_agreed(struct tuner *tuner)
{
    pthread_mutex_lock(&tuner->lock);
    const bool has_agreed = tuner->has_agreed;
    pthread_mutex_unlock(&tuner->lock);
    return has_agreed;
}

void
tuner_set_machine(struct tuner *tuner, const struct simulation_machine *machine)
{
    pthread_mutex_lock(&tuner->lock);
    tuner->machine = *machine;
    tuner->has_machine = true;
    kept_clear(tuner);
    pthread_mutex_unlock(&tuner->lock);
}

bool
tuner_must_read(struct tuner *tuner)
{
    return tuner->must_read;
}

void
tuner_prefer_reading(struct tuner *tuner)
{
    pthread_mutex_lock(&tuner->lock);
    if (tuner->record == RECORD_SHM)
        tuner->record = RECORD_DIRECT;
    kept_clear(tuner);
    pthread_mutex_unlock(&tuner->lock);
}

void
tuner_adopt(struct tuner *tuner, const struct table *agreed)
{
    pthread_mutex_lock(&tuner->lock);
    if (!tuner->has_agreed) {
        tuner->machine = agreed->machine;
        tuner->forced = agreed->forced;
        tuner->loss = agreed->loss;
        tuner->record = agreed->record;
        tuner->has_machine = true;
        tuner->has_agreed = true;
        if (agreed->n_race_bytes == 0)
            races_destroy(STEAL(tuner->races));
        kept_clear(tuner);
    }
    pthread_mutex_unlock(&tuner->lock);
}

void
tuner_terms(struct tuner *tuner,
            struct simulation_machine *out_machine,
            struct forced *out_forced)
{
    pthread_mutex_lock(&tuner->lock);
    *out_machine = tuner->machine;
    *out_forced = tuner->forced;
    pthread_mutex_unlock(&tuner->lock);
}

const char *
tuner_races(struct tuner *tuner, size_t *out_n_bytes)
{
    pthread_mutex_lock(&tuner->lock);
    const char *text = tuner->races ? tuner->races->text : "";
    *out_n_bytes = tuner->races ? tuner->races->n_bytes : 0;
    pthread_mutex_unlock(&tuner->lock);
    return text;
}

void
tuner_take_races(struct tuner *tuner, struct races *races)
{
    pthread_mutex_lock(&tuner->lock);
    races_destroy(tuner->races);
    tuner->races = races;
    kept_clear(tuner);
    pthread_mutex_unlock(&tuner->lock);
}

bool
tuner_wants_races(struct tuner *tuner, const struct plan_nodes *nodes)
{
    pthread_mutex_lock(&tuner->lock);
    const bool wants = tuner->store && nodes->n_ranks > 1 &&
                       nodes->n_ranks <= LIMIT_CONTEST_RANKS &&
                       races_count(tuner->races, nodes) < LIMIT_CONTESTS;
    pthread_mutex_unlock(&tuner->lock);
    return wants;
}

/* The caller holds the lock. Too many are as before: these are not kept. */
static enum hoop_status
races_append(struct tuner *tuner, const char *text)
{
    CLEANUP(free) char *all = NULL;
    struct races *races = NULL;

    if (asprintf(&all, "%s%s", tuner->races ? tuner->races->text : "", text) <
        0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for races");
    const enum hoop_status status =
        races_parse(tuner->store, all, strlen(all), &races);
    if (status != HOOP_OK)
        return error_pass(status);
    races_destroy(tuner->races);
    tuner->races = races;
    kept_clear(tuner);
    return race_store_write(tuner->store, races->text, races->n_bytes);
}

void
tuner_add_races(struct tuner *tuner, const char *text)
{
    pthread_mutex_lock(&tuner->lock);
    const enum hoop_status status = races_append(tuner, text);
    pthread_mutex_unlock(&tuner->lock);
    if (status != HOOP_OK)
        log_debug("tune", "races are not kept: %s", error_text());
}

/* FNV-1a: equal layouts are equal tables. */
static uint64_t
layout_of(const struct plan_nodes *nodes, const struct plan_hall *shm_region)
{
    uint64_t hash = 0xcbf29ce484222325u ^ nodes->n_ranks ^
                    shm_region->n_slot << 16 ^
                    (uint64_t)shm_region->is_open << 63;

    for (uint32_t rank = 0; rank < nodes->n_ranks; rank++)
        hash = (hash ^ nodes->node_of[rank]) * 0x100000001b3u;
    return hash;
}

/* To the front. NULL: not there. The caller holds the lock. */
static struct kept *
kept_find(struct tuner *tuner, uint64_t layout)
{
    struct kept *kept;

    TAILQ_FOREACH(kept, &tuner->kept, link)
    {
        if (kept->layout != layout)
            continue;
        TAILQ_REMOVE(&tuner->kept, kept, link);
        TAILQ_INSERT_HEAD(&tuner->kept, kept, link);
        return kept;
    }
    return NULL;
}

/* In place of the one that was not used for longest. */
static struct kept *
kept_add(struct tuner *tuner, uint64_t layout)
{
    struct kept *kept;

    if (tuner->n_kept < LIMIT_TUNE_TABLES) {
        kept = malloc(sizeof(*kept));
        if (!kept)
            return NULL;
        tuner->n_kept++;
    } else {
        kept = TAILQ_LAST(&tuner->kept, kept_list);
        TAILQ_REMOVE(&tuner->kept, kept, link);
    }
    kept->layout = layout;
    TAILQ_INSERT_HEAD(&tuner->kept, kept, link);
    return kept;
}

/* The caller holds the lock. */
static enum hoop_status
table_make(struct tuner *tuner,
           const struct plan_nodes *nodes,
           const struct plan_hall *shm_region,
           struct table *out_table)
{
    const struct estimate_place place = {.nodes = nodes,
                                         .machine = &tuner->machine,
                                         .shm_region = *shm_region,
                                         .is_coded = tuner->is_coded};
    const uint64_t layout = layout_of(nodes, shm_region);
    struct kept *kept = kept_find(tuner, layout);

    if (!kept) {
        const enum hoop_status status = builder_run(&place, out_table);

        if (status != HOOP_OK)
            return error_pass(status);
        record_apply(tuner->record, &place, out_table);
        if (tuner->races)
            races_apply(tuner->races, nodes, shm_region, out_table);
        kept = kept_add(tuner, layout);
        if (kept)
            kept->table = *out_table;
    } else {
        *out_table = kept->table;
    }
    return HOOP_OK;
}

enum hoop_status
tuner_table(struct tuner *tuner,
            const struct plan_nodes *nodes,
            const struct plan_hall *shm_region,
            const struct forced *forced,
            struct table *out_table)
{
    static const struct plan_hall none = {0};
    const struct plan_hall *shared = shm_region ? shm_region : &none;

    pthread_mutex_lock(&tuner->lock);
    struct forced wanted = forced ? *forced : tuner->forced;
    const bool must = forced || !tuner->has_agreed;
    enum hoop_status status = table_make(tuner, nodes, shared, out_table);
    if (status == HOOP_OK && must)
        status = forced_check_hall(&wanted, nodes, shared);
    forced_drop_unshared(&wanted, shared);
    if (status == HOOP_OK) {
        table_force(out_table, &wanted);
        out_table->loss = tuner->loss;
        out_table->record = tuner->record;
    }
    pthread_mutex_unlock(&tuner->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
