/*
 * keep/keep.c - what the coordinator has to remember when it is gone
 *
 * Pieces go from `step`, the loop's own, over `waiting`, which both threads
 * see, to `writing`, the writer's own.
 */

#include "keep/keep.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "keep/database.h"
#include "net/loop.h"
#include "wire/pack.h"
#include "wire/unpack.h"

enum {
    /* Of all records: how they are laid out. */
    SCHEMA = 3,
    RETRY_MS = 200,
    /* So often it is asked whether the folder is ours, also when idle. */
    CHECK_MS = 1000,
    TERM_BYTES = 64,
};

static const char term_key[] = "term";
static const char product[] = "hoopd";

struct keep {
    struct keep_options options;
    struct claim *claim;
    struct database *database;
    struct keep_term term;

    /* The loop's. */
    struct changeset step;
    uint64_t n_pieces; /* made so far */
    uint64_t n_told;

    pthread_mutex_t lock;
    pthread_cond_t stir;
    pthread_t writer;
    bool has_writer;
    /* Under the lock. */
    struct changeset waiting;
    uint64_t n_waiting; /* the number of the last piece in it */
    size_t n_bytes;     /* of what waits, and of what is being written */
    uint64_t n_kept;
    bool is_told; /* a post to the loop is under way */
    bool is_ending;
    bool is_well;
    bool is_taken; /* by another process */

    /* The writer's. */
    struct changeset writing;
};

static struct keep_bytes
text_bytes(const char *text)
{
    return (struct keep_bytes){text, strlen(text)};
}

/* The term. */

static enum hoop_status
term_read(void *owner, struct keep_bytes key, struct keep_bytes value)
{
    struct keep *keep = owner;
    struct unpack unpack;
    char name[LIMIT_NAME] = {0};

    unpack_init(&unpack, value.bytes, value.n_bytes, LIMIT_NAME);
    unpack_array(&unpack, 4);
    unpack_text(&unpack, name, sizeof(name));

    const uint64_t schema = unpack_uint(&unpack, UINT64_MAX);

    keep->term.lineage = unpack_uint(&unpack, UINT64_MAX);
    keep->term.generation = unpack_uint(&unpack, UINT64_MAX - 1);
    if (key.n_bytes != strlen(term_key) ||
        memcmp(key.bytes, term_key, key.n_bytes) != 0 ||
        unpack_status(&unpack) != HOOP_OK || strcmp(name, product) != 0)
        return error_raise(HOOP_E_DATA_LOSS, "its first record is unknown");
    if (schema != SCHEMA)
        return error_raise(HOOP_E_PRECONDITION,
                           "it is of version %" PRIu64 ", this hoopd knows "
                           "%d: use the release that wrote it, or an empty "
                           "folder",
                           schema, SCHEMA);
    return HOOP_OK;
}

static enum hoop_status
term_write(struct keep *keep)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, TERM_BYTES);
    pack_array(&pack, 4);
    pack_str(&pack, product);
    pack_uint(&pack, SCHEMA);
    pack_uint(&pack, keep->term.lineage);
    pack_uint(&pack, keep->term.generation);
    enum hoop_status status = pack_take(&pack, &bytes, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    changeset_put(&changes, KEEP_OWN, text_bytes(term_key),
                  (struct keep_bytes){bytes, n_bytes});
    status = database_apply(keep->database, &changes);
    if (status == HOOP_OK)
        status = database_settle(keep->database);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A lineage of 0 is none; so the file is new, or not ours. */
static enum hoop_status
term_begin(struct keep *keep)
{
    enum hoop_status status = keep_read(keep, KEEP_OWN, term_read, keep);

    while (status == HOOP_OK && !keep->term.lineage)
        status = random_fill(&keep->term.lineage, sizeof(keep->term.lineage));
    if (status != HOOP_OK)
        return error_pass(status);
    keep->term.generation++;
    status = term_write(keep);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The writer. */

static void
kept_tell(void *owner)
{
    struct keep *keep = owner;

    pthread_mutex_lock(&keep->lock);
    const uint64_t n_kept = keep->n_kept;
    keep->is_told = false;
    pthread_mutex_unlock(&keep->lock);
    if (n_kept == keep->n_told)
        return;
    keep->n_told = n_kept;
    keep->options.on_kept(keep->options.owner, n_kept);
}

static void
taken_tell(void *owner)
{
    struct keep *keep = owner;

    if (keep->options.on_taken)
        keep->options.on_taken(keep->options.owner);
}

/* Under the lock. It is the end: what is in memory is old. */
static void
taken_note(struct keep *keep)
{
    keep->is_taken = true;
    keep->is_well = false;
    log_error("keep", "%s; this one writes and acknowledges nothing any more",
              error_text());
    /* Without memory for the post, it only falls silent. */
    (void)loop_post(keep->options.loop, taken_tell, keep);
}

/* Under the lock. Without memory for the post the next piece tells it. */
static void
kept_post(struct keep *keep)
{
    if (!keep->is_told)
        keep->is_told =
            loop_post(keep->options.loop, kept_tell, keep) == HOOP_OK;
}

static void
health_tell(void *owner)
{
    struct keep *keep = owner;

    if (keep->options.on_health)
        keep->options.on_health(keep->options.owner);
}

/* Under the lock. One line when the disk takes nothing, one when it does. */
static void
health_note(struct keep *keep, enum hoop_status status)
{
    const bool is_well = status == HOOP_OK;

    if (keep->is_well == is_well)
        return;
    keep->is_well = is_well;
    if (is_well)
        log_info("keep", "the disk takes data again");
    else
        log_error("keep",
                  "the disk takes no data: %s; reads are answered, and no "
                  "request that changed something until that can be written: "
                  "workers go on, make room",
                  error_text());
    /* Without memory for the post, reads wait like changes. */
    (void)loop_post(keep->options.loop, health_tell, keep);
}

/* Under the lock, which it leaves meanwhile. */
static void
stir_await(struct keep *keep, uint64_t until_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(until_ns % CLOCK_NS_PER_S),
    };

    pthread_cond_timedwait(&keep->stir, &keep->lock, &until);
}

/* Likewise. */
static void
pause_take(struct keep *keep)
{
    const uint64_t until_ns = clock_deadline_ns(RETRY_MS);

    while (!keep->is_ending && !clock_is_past(until_ns))
        stir_await(keep, until_ns);
}

/* Likewise: until there is something to write, or the folder is taken. */
static void
pieces_await(struct keep *keep)
{
    uint64_t check_ns = clock_deadline_ns(CHECK_MS);

    while (keep->n_kept == keep->n_waiting && !keep->is_ending &&
           !keep->is_taken) {
        stir_await(keep, check_ns);
        if (!clock_is_past(check_ns))
            continue;
        if (claim_check(keep->claim) != HOOP_OK)
            taken_note(keep);
        check_ns = clock_deadline_ns(CHECK_MS);
    }
}

/* Under the lock, which it leaves meanwhile. What waits is written as one. */
static void
pieces_write(struct keep *keep)
{
    const uint64_t n_waiting = keep->n_waiting;

    changeset_move(&keep->writing, &keep->waiting);
    pthread_mutex_unlock(&keep->lock);
    enum hoop_status status = claim_check(keep->claim);
    if (status == HOOP_OK)
        status = database_apply(keep->database, &keep->writing);
    if (status == HOOP_OK)
        status = claim_check(keep->claim);
    if (status == HOOP_OK)
        changeset_clear(&keep->writing);
    pthread_mutex_lock(&keep->lock);
    if (status == HOOP_E_ABORTED) {
        taken_note(keep);
        return;
    }
    health_note(keep, status);
    if (status == HOOP_OK) {
        keep->n_kept = n_waiting;
        keep->n_bytes = keep->waiting.n_bytes;
        kept_post(keep);
        pthread_cond_broadcast(&keep->stir);
    }
}

static void *
writer_run(void *owner)
{
    struct keep *keep = owner;

    pthread_mutex_lock(&keep->lock);
    for (;;) {
        pieces_await(keep);
        if (keep->n_kept < keep->n_waiting && !keep->is_taken)
            pieces_write(keep);
        if (keep->is_ending || keep->is_taken)
            break;
        if (!keep->is_well)
            pause_take(keep);
    }
    pthread_mutex_unlock(&keep->lock);
    return NULL;
}

static void
stir_init(struct keep *keep)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&keep->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&keep->stir, &attributes);
    pthread_condattr_destroy(&attributes);
}

static enum hoop_status
parts_open(struct keep *keep)
{
    const struct keep_options *options = &keep->options;

    enum hoop_status status =
        claim_take(options->folder, options->durability, &keep->claim);
    if (status == HOOP_OK)
        status = database_open(options->folder, options->durability,
                               &keep->database);
    if (status != HOOP_OK)
        return error_pass(status);
    status = term_begin(keep);
    if (status == HOOP_E_DATA_LOSS || status == HOOP_E_PRECONDITION)
        return error_raise(status, "cannot use %s: %s",
                           database_path(keep->database), error_text());
    if (status != HOOP_OK)
        return error_pass(status);
    if (pthread_create(&keep->writer, NULL, writer_run, keep) != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no thread to write data");
    keep->has_writer = true;
    return HOOP_OK;
}

enum hoop_status
keep_open(const struct keep_options *options, struct keep **out_keep)
{
    CLEANUP(keep_close) struct keep *keep = calloc(1, sizeof(*keep));

    assert(options->on_kept);
    if (!keep)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a keep");
    keep->options = *options;
    if (!keep->options.n_room)
        keep->options.n_room = LIMIT_KEEP_WAITING;
    keep->is_well = true;
    stir_init(keep);

    const enum hoop_status status = parts_open(keep);
    if (status != HOOP_OK)
        return error_pass(status);
    keep->options.folder = NULL;
    *out_keep = STEAL(keep);
    return HOOP_OK;
}

/* Those of one owner among all. */
struct reading {
    enum keep_owner whose;
    keep_fn *fn;
    void *owner;
};

static enum hoop_status
record_sift(void *owner, struct keep_bytes key, struct keep_bytes value)
{
    const struct reading *reading = owner;
    const uint8_t *first = key.bytes;

    if (key.n_bytes == 0 || *first > KEEP_REPLIES)
        return error_raise(HOOP_E_DATA_LOSS, "a record is nobody's");
    if (*first != (uint8_t)reading->whose)
        return HOOP_OK;
    return reading->fn(reading->owner,
                       (struct keep_bytes){first + 1, key.n_bytes - 1}, value);
}

enum hoop_status
keep_read(struct keep *keep, enum keep_owner whose, keep_fn *fn, void *owner)
{
    struct reading reading = {whose, fn, owner};
    const enum hoop_status status =
        database_read(keep->database, record_sift, &reading);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

struct keep_term
keep_term(const struct keep *keep)
{
    return keep->term;
}

void
keep_put(struct keep *keep,
         enum keep_owner whose,
         struct keep_bytes key,
         struct keep_bytes value)
{
    changeset_put(&keep->step, (uint8_t)whose, key, value);
}

void
keep_erase(struct keep *keep, enum keep_owner whose, struct keep_bytes key)
{
    changeset_erase(&keep->step, (uint8_t)whose, key);
}

void
keep_commit(struct keep *keep)
{
    if (keep->step.n_bytes == 0)
        return;
    keep->n_pieces++;
    pthread_mutex_lock(&keep->lock);
    keep->n_bytes += keep->step.n_bytes;
    changeset_move(&keep->waiting, &keep->step);
    keep->n_waiting = keep->n_pieces;
    pthread_cond_broadcast(&keep->stir);
    pthread_mutex_unlock(&keep->lock);
}

uint64_t
keep_number(const struct keep *keep)
{
    return keep->n_pieces + (keep->step.n_bytes > 0);
}

void
keep_flush(struct keep *keep, uint64_t timeout_ms)
{
    const uint64_t until_ns = clock_deadline_ns(timeout_ms);
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(until_ns % CLOCK_NS_PER_S),
    };
    int error = 0;

    pthread_mutex_lock(&keep->lock);
    while (keep->n_kept < keep->n_waiting && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&keep->stir, &keep->lock, &until);
    pthread_mutex_unlock(&keep->lock);
    kept_tell(keep);
}

bool
keep_is_well(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    const bool is_well = keep->is_well;
    pthread_mutex_unlock(&keep->lock);
    return is_well;
}

bool
keep_has_room(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    const bool has_room = keep->n_bytes < keep->options.n_room;
    pthread_mutex_unlock(&keep->lock);
    return has_room;
}

static void
writer_stop(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    keep->is_ending = true;
    pthread_cond_broadcast(&keep->stir);
    pthread_mutex_unlock(&keep->lock);
    pthread_join(keep->writer, NULL);
    loop_cancel_posts(keep->options.loop, keep);
}

void
keep_close(struct keep *keep)
{
    if (!keep)
        return;
    if (keep->has_writer)
        writer_stop(keep);
    if (keep->database && !keep->is_taken &&
        database_settle(keep->database) == HOOP_OK &&
        keep->n_kept == keep->n_waiting)
        claim_settle(keep->claim);
    database_close(keep->database);
    claim_drop(keep->claim);
    changeset_deinit(&keep->step);
    changeset_deinit(&keep->waiting);
    changeset_deinit(&keep->writing);
    pthread_cond_destroy(&keep->stir);
    pthread_mutex_destroy(&keep->lock);
    free(keep);
}
