/*
 * hoopctl/record_fetch.c - the records that ranks of other hosts keep, through
 * the coordinator
 *
 * The coordinator asks one member for a record. A rank is asked for its own;
 * if it does not answer, another one of its host is, which reads the same
 * folder. Who does not answer is asked no more.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hoopctl/command.h"
#include "hoopctl/record.h"
#include "hoopctl/shown.h"

enum {
    /* More lines would push the records out of sight. */
    LINES_MAX = 20,
    /* Members of a host that are asked for one record: they usually share a
     * folder. */
    SOURCES_MAX = 8,
};

/* A member of the job. */
struct source {
    uint32_t rank;
    uint32_t pid;
    char host[128];
    char silence[512]; /* why it cannot be asked; "": it can */
    bool has_record;   /* of its own, in the set */
};

struct fetch {
    hoop_control_t *control;
    struct record_set *set;
    uint64_t epoch;
    struct source *sources;
    size_t n_sources;
    unsigned n_missing;
};

/* Say why a member cannot be asked. */
static void
silence_write(const struct hoop_control_rank *rank, struct source *out_source)
{
    const char *silence = rank->activity ? rank->activity->silence : "";

    if (strcmp(rank->state, "active") == 0)
        snprintf(out_source->silence, sizeof(out_source->silence), "%s",
                 silence);
    else
        snprintf(out_source->silence, sizeof(out_source->silence),
                 "it is %s%s%s", rank->state, rank->reason[0] ? ": " : "",
                 rank->reason);
}

/* Ask the coordinator for the members, and them for a sign of life. */
static enum hoop_status
sources_find(struct fetch *fetch)
{
    const struct hoop_control_roster *roster = NULL;
    const enum hoop_status status =
        hoop_control_activities(fetch->control, &roster);

    if (status != HOOP_OK)
        return status;
    fetch->sources = calloc(roster->n_ranks > 0 ? roster->n_ranks : 1,
                            sizeof(*fetch->sources));
    if (!fetch->sources)
        return record_no_memory();
    fetch->n_sources = roster->n_ranks;
    fetch->epoch = roster->job.epoch;
    for (size_t i = 0; i < roster->n_ranks; i++) {
        struct source *source = &fetch->sources[i];

        source->rank = roster->ranks[i].rank;
        source->pid = roster->ranks[i].pid;
        snprintf(source->host, sizeof(source->host), "%s",
                 roster->ranks[i].host);
        silence_write(&roster->ranks[i], source);
    }
    return HOOP_OK;
}

/* Return the member that has written a record, or NULL: none has. */
static struct source *
source_of(const struct fetch *fetch, const struct hoop_recorded_rank *origin)
{
    for (size_t i = 0; i < fetch->n_sources; i++) {
        struct source *source = &fetch->sources[i];

        if (source->rank == origin->rank && source->pid == origin->pid &&
            origin->epoch == fetch->epoch &&
            strcmp(source->host, origin->host) == 0)
            return source;
    }
    return NULL;
}

/* Keep those records of the set that members have written. */
static void
local_keep(struct fetch *fetch)
{
    struct record_set *set = fetch->set;
    size_t n_kept = 0;

    for (size_t i = 0; i < set->n_ranks; i++) {
        struct source *source = source_of(fetch, set->ranks[i].origin);

        if (source && !source->has_record) {
            source->has_record = true;
            set->ranks[n_kept++] = set->ranks[i];
        } else
            hoop_recording_destroy(set->ranks[i].recording);
    }
    set->n_ranks = n_kept;
}

/* Return the next member of wanted's host that can be asked, wanted itself
 * first, or NULL. after is the last one, or NULL. */
static struct source *
source_next(const struct fetch *fetch,
            const struct source *wanted,
            const struct source *after)
{
    size_t i =
        after && after != wanted ? (size_t)(after - fetch->sources) + 1 : 0;

    if (!after && !wanted->silence[0])
        return &fetch->sources[wanted - fetch->sources];
    for (; i < fetch->n_sources; i++) {
        struct source *source = &fetch->sources[i];

        if (source != wanted && !source->silence[0] &&
            strcmp(source->host, wanted->host) == 0)
            return source;
    }
    return NULL;
}

static void
missing_tell(struct fetch *fetch, const struct source *wanted, const char *why)
{
    struct shown host;
    struct shown reason;

    if (++fetch->n_missing > LINES_MAX)
        return;
    fprintf(stderr,
            "hoopctl: the record of rank %u (%s:%u) cannot be had: %s\n",
            wanted->rank, show(wanted->host, &host), wanted->pid,
            show(why, &reason));
}

/* Ask one member after the other for the record of wanted. Whatever else than
 * their answers goes wrong is passed on. */
static enum hoop_status
record_fetch_one(struct fetch *fetch, struct source *wanted)
{
    struct hoop_control_recording_source place = {.rank = wanted->rank};
    hoop_recording_t *recording = NULL;
    char why[sizeof(wanted->silence)];
    struct source *via = NULL;

    snprintf(why, sizeof(why), "%s", wanted->silence);
    for (unsigned i = 0;
         i < SOURCES_MAX && (via = source_next(fetch, wanted, via)); i++) {
        place.via = via->rank;
        const enum hoop_status status =
            hoop_control_recording(fetch->control, &place, &recording);

        if (status == HOOP_OK)
            return record_set_add(fetch->set, recording);
        if (status != HOOP_E_ABORTED && status != HOOP_E_NOT_FOUND &&
            status != HOOP_E_INVALID && status != HOOP_E_DATA_LOSS)
            return status;
        if (status == HOOP_E_ABORTED)
            snprintf(via->silence, sizeof(via->silence), "%s",
                     hoop_error_text());
        if (!why[0] || via == wanted)
            snprintf(why, sizeof(why), "%s", hoop_error_text());
    }
    missing_tell(fetch, wanted, why);
    return HOOP_OK;
}

static enum hoop_status
records_fetch_all(struct fetch *fetch)
{
    enum hoop_status status = sources_find(fetch);

    if (status != HOOP_OK)
        return status;
    if (fetch->epoch == 0) {
        fprintf(stderr, "hoopctl: the job forms, and has recorded nothing\n");
        return HOOP_OK;
    }
    local_keep(fetch);
    fetch->set->is_of_world = true;
    for (size_t i = 0; status == HOOP_OK && i < fetch->n_sources; i++) {
        if (!fetch->sources[i].has_record)
            status = record_fetch_one(fetch, &fetch->sources[i]);
    }
    if (fetch->n_missing > LINES_MAX)
        fprintf(stderr, "hoopctl: and those of %u more\n",
                fetch->n_missing - LINES_MAX);
    return status;
}

enum hoop_status
record_fetch(const struct hoop_control_options *options, struct record_set *set)
{
    struct fetch fetch = {.set = set};
    enum hoop_status status = hoop_control_create(options, &fetch.control);

    if (status == HOOP_OK)
        status = records_fetch_all(&fetch);
    if (status != HOOP_OK)
        fprintf(stderr, "hoopctl: %s: %s\n", hoop_status_name(status),
                hoop_error_text());
    hoop_control_destroy(fetch.control);
    free(fetch.sources);
    return status;
}
