/*
 * storage/storage.c - store what the coordinator must remember after it ends
 *
 * Changes move from `step`, which only the loop uses, to `waiting`, which both
 * threads share, to `writing`, which only the writer thread uses.
 */

#include "storage/storage.h"

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
#include "net/loop.h"
#include "storage/database.h"
#include "wire/pack.h"
#include "wire/unpack.h"

enum {
    /* Version of the layout of all records. */
    RECORD_SCHEMA_VERSION = 3,
    WRITER_RETRY_PAUSE_MS = 200,
    /* How often the writer checks that the folder is still ours, also when
     * idle. */
    FOLDER_CHECK_INTERVAL_MS = 1000,
    TERM_RECORD_BYTES_MAX = 64,
};

static const char term_record_key[] = "term";
static const char product[] = "hoopd";

struct storage {
    struct storage_options options;
    struct folder_lock *folder_lock;
    struct database *database;
    struct storage_term term;

    /* Used by the loop only. */
    struct changeset step;
    uint64_t n_batches_committed; /* batches made so far */
    uint64_t n_batches_notified;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t writer;
    bool has_writer_thread;
    /* Protected by the lock. */
    struct changeset waiting;
    uint64_t
        last_waiting_batch_number; /* number of the last batch in waiting */
    size_t n_bytes;                /* bytes that wait or are being written */
    uint64_t n_batches_durable;
    bool is_notify_posted; /* a post to the loop is on its way */
    bool is_writer_stopping;
    bool is_well;
    bool is_taken_by_other; /* by another process */

    /* Used by the writer thread only. */
    struct changeset writing;
};

static struct storage_span
storage_span_from_text(const char *text)
{
    return (struct storage_span){text, strlen(text)};
}

/* ---- The term. */

static enum hoop_status
term_read(void *owner, struct storage_span key, struct storage_span value)
{
    struct storage *storage = owner;
    struct unpack unpack;
    char name[LIMIT_NAME] = {0};

    unpack_init(&unpack, value.bytes, value.n_bytes, LIMIT_NAME);
    unpack_array(&unpack, 4);
    unpack_text(&unpack, name, sizeof(name));

    const uint64_t schema = unpack_uint(&unpack, UINT64_MAX);

    storage->term.lineage = unpack_uint(&unpack, UINT64_MAX);
    storage->term.generation = unpack_uint(&unpack, UINT64_MAX - 1);
    if (key.n_bytes != strlen(term_record_key) ||
        memcmp(key.bytes, term_record_key, key.n_bytes) != 0 ||
        unpack_status(&unpack) != HOOP_OK || strcmp(name, product) != 0)
        return error_raise(HOOP_E_DATA_LOSS, "its first record is unknown");
    if (schema != RECORD_SCHEMA_VERSION)
        return error_raise(HOOP_E_PRECONDITION,
                           "it is of version %" PRIu64 ", this hoopd knows "
                           "%d: use the release that wrote it, or an empty "
                           "folder",
                           schema, RECORD_SCHEMA_VERSION);
    return HOOP_OK;
}

static enum hoop_status
term_write(struct storage *storage)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, TERM_RECORD_BYTES_MAX);
    pack_array(&pack, 4);
    pack_str(&pack, product);
    pack_uint(&pack, RECORD_SCHEMA_VERSION);
    pack_uint(&pack, storage->term.lineage);
    pack_uint(&pack, storage->term.generation);
    enum hoop_status status = pack_take(&pack, &bytes, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    changeset_put(&changes, STORAGE_OWNER_STORAGE,
                  storage_span_from_text(term_record_key),
                  (struct storage_span){bytes, n_bytes});
    status = database_apply_changes(storage->database, &changes);
    if (status == HOOP_OK)
        status = database_sync(storage->database);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A lineage of 0 means that no term was read, so the file is new. */
static enum hoop_status
storage_term_start_next(struct storage *storage)
{
    enum hoop_status status = storage_visit_records(
        storage, STORAGE_OWNER_STORAGE, term_read, storage);

    while (status == HOOP_OK && !storage->term.lineage)
        status =
            random_fill(&storage->term.lineage, sizeof(storage->term.lineage));
    if (status != HOOP_OK)
        return error_pass(status);
    storage->term.generation++;
    status = term_write(storage);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* ---- The writer thread. */

static void
durable_notify_owner(void *owner)
{
    struct storage *storage = owner;

    pthread_mutex_lock(&storage->lock);
    const uint64_t n_batches_durable = storage->n_batches_durable;
    storage->is_notify_posted = false;
    pthread_mutex_unlock(&storage->lock);
    if (n_batches_durable == storage->n_batches_notified)
        return;
    storage->n_batches_notified = n_batches_durable;
    storage->options.on_durable(storage->options.owner, n_batches_durable);
}

static void
storage_on_folder_replaced(void *owner)
{
    struct storage *storage = owner;

    if (storage->options.on_replaced)
        storage->options.on_replaced(storage->options.owner);
}

/* Called with the lock. The storage stops for good, because the state in memory
 * is outdated. */
static void
storage_set_replaced(struct storage *storage)
{
    storage->is_taken_by_other = true;
    storage->is_well = false;
    log_error("keep", "%s; this one writes and acknowledges nothing any more",
              error_text());
    /* Without memory for the post, replies simply stop. */
    (void)loop_post(storage->options.loop, storage_on_folder_replaced, storage);
}

/* Called with the lock. Without memory for the post, the next batch reports
 * this one too. */
static void
durable_post_to_loop(struct storage *storage)
{
    if (!storage->is_notify_posted)
        storage->is_notify_posted =
            loop_post(storage->options.loop, durable_notify_owner, storage) ==
            HOOP_OK;
}

static void
health_notify_owner(void *owner)
{
    struct storage *storage = owner;

    if (storage->options.on_health)
        storage->options.on_health(storage->options.owner);
}

/* Called with the lock. Log one line when writes begin to fail and one when
 * they succeed again. */
static void
storage_set_health(struct storage *storage, enum hoop_status status)
{
    const bool is_well = status == HOOP_OK;

    if (storage->is_well == is_well)
        return;
    storage->is_well = is_well;
    if (is_well)
        log_info("keep", "the disk takes data again");
    else
        log_error("keep",
                  "the disk takes no data: %s; reads are answered, and no "
                  "request that changed something until that can be written: "
                  "workers go on, make room",
                  error_text());
    /* Without memory for the post, reads wait like changes. */
    (void)loop_post(storage->options.loop, health_notify_owner, storage);
}

/* Called with the lock, which is released while waiting. */
static void
writer_wait_until(struct storage *storage, uint64_t until_ns)
{
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(until_ns % CLOCK_NS_PER_S),
    };

    pthread_cond_timedwait(&storage->wake, &storage->lock, &until);
}

/* Called with the lock, which is released while waiting. */
static void
writer_pause_before_retry(struct storage *storage)
{
    const uint64_t until_ns = clock_deadline_ns(WRITER_RETRY_PAUSE_MS);

    while (!storage->is_writer_stopping && !clock_is_past(until_ns))
        writer_wait_until(storage, until_ns);
}

/* Called with the lock, which is released while waiting. Returns when there is
 * something to write, the storage ends, or another process has the folder. */
static void
writer_wait_for_batches(struct storage *storage)
{
    uint64_t check_ns = clock_deadline_ns(FOLDER_CHECK_INTERVAL_MS);

    while (storage->n_batches_durable == storage->last_waiting_batch_number &&
           !storage->is_writer_stopping && !storage->is_taken_by_other) {
        writer_wait_until(storage, check_ns);
        if (!clock_is_past(check_ns))
            continue;
        if (folder_lock_check_still_ours(storage->folder_lock) != HOOP_OK)
            storage_set_replaced(storage);
        check_ns = clock_deadline_ns(FOLDER_CHECK_INTERVAL_MS);
    }
}

/* Called with the lock, which is released while writing. Writes all waiting
 * batches as one. */
static void
writer_write_batches(struct storage *storage)
{
    const uint64_t last_waiting_batch_number =
        storage->last_waiting_batch_number;

    changeset_append_and_clear(&storage->writing, &storage->waiting);
    pthread_mutex_unlock(&storage->lock);
    enum hoop_status status =
        folder_lock_check_still_ours(storage->folder_lock);
    if (status == HOOP_OK)
        status = database_apply_changes(storage->database, &storage->writing);
    if (status == HOOP_OK)
        status = folder_lock_check_still_ours(storage->folder_lock);
    if (status == HOOP_OK)
        changeset_clear(&storage->writing);
    pthread_mutex_lock(&storage->lock);
    if (status == HOOP_E_ABORTED) {
        storage_set_replaced(storage);
        return;
    }
    storage_set_health(storage, status);
    if (status == HOOP_OK) {
        storage->n_batches_durable = last_waiting_batch_number;
        storage->n_bytes = storage->waiting.n_bytes;
        durable_post_to_loop(storage);
        pthread_cond_broadcast(&storage->wake);
    }
}

static void *
writer_thread_main(void *owner)
{
    struct storage *storage = owner;

    pthread_mutex_lock(&storage->lock);
    for (;;) {
        writer_wait_for_batches(storage);
        if (storage->n_batches_durable < storage->last_waiting_batch_number &&
            !storage->is_taken_by_other)
            writer_write_batches(storage);
        if (storage->is_writer_stopping || storage->is_taken_by_other)
            break;
        if (!storage->is_well)
            writer_pause_before_retry(storage);
    }
    pthread_mutex_unlock(&storage->lock);
    return NULL;
}

static void
writer_condition_init(struct storage *storage)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&storage->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&storage->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

static enum hoop_status
storage_parts_open(struct storage *storage)
{
    const struct storage_options *options = &storage->options;

    enum hoop_status status = folder_lock_take(
        options->folder, options->durability, &storage->folder_lock);
    if (status == HOOP_OK)
        status = database_open(options->folder, options->durability,
                               &storage->database);
    if (status != HOOP_OK)
        return error_pass(status);
    status = storage_term_start_next(storage);
    if (status == HOOP_E_DATA_LOSS || status == HOOP_E_PRECONDITION)
        return error_raise(status, "cannot use %s: %s",
                           database_path(storage->database), error_text());
    if (status != HOOP_OK)
        return error_pass(status);
    if (pthread_create(&storage->writer, NULL, writer_thread_main, storage) !=
        0)
        return error_raise(HOOP_E_EXHAUSTED, "no thread to write data");
    storage->has_writer_thread = true;
    return HOOP_OK;
}

enum hoop_status
storage_open(const struct storage_options *options,
             struct storage **out_storage)
{
    CLEANUP(storage_close)
    struct storage *storage = calloc(1, sizeof(*storage));

    assert(options->on_durable);
    if (!storage)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the storage");
    storage->options = *options;
    if (!storage->options.n_room)
        storage->options.n_room = LIMIT_STORAGE_UNWRITTEN_BYTES;
    storage->is_well = true;
    writer_condition_init(storage);

    const enum hoop_status status = storage_parts_open(storage);
    if (status != HOOP_OK)
        return error_pass(status);
    storage->options.folder = NULL;
    *out_storage = STEAL(storage);
    return HOOP_OK;
}

/* Passes on the records of one owner. */
struct owner_filter {
    enum storage_owner whose;
    storage_visit_fn *fn;
    void *owner;
};

static enum hoop_status
record_filter_by_owner(void *owner,
                       struct storage_span key,
                       struct storage_span value)
{
    const struct owner_filter *owner_filter = owner;
    const uint8_t *first = key.bytes;

    if (key.n_bytes == 0 || *first > STORAGE_OWNER_REPLIES)
        return error_raise(HOOP_E_DATA_LOSS, "a record is nobody's");
    if (*first != (uint8_t)owner_filter->whose)
        return HOOP_OK;
    return owner_filter->fn(owner_filter->owner,
                            (struct storage_span){first + 1, key.n_bytes - 1},
                            value);
}

enum hoop_status
storage_visit_records(struct storage *storage,
                      enum storage_owner whose,
                      storage_visit_fn *fn,
                      void *owner)
{
    struct owner_filter owner_filter = {whose, fn, owner};
    const enum hoop_status status = database_visit_records(
        storage->database, record_filter_by_owner, &owner_filter);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

struct storage_term
storage_term(const struct storage *storage)
{
    return storage->term;
}

void
storage_put(struct storage *storage,
            enum storage_owner whose,
            struct storage_span key,
            struct storage_span value)
{
    changeset_put(&storage->step, (uint8_t)whose, key, value);
}

void
storage_erase(struct storage *storage,
              enum storage_owner whose,
              struct storage_span key)
{
    changeset_erase(&storage->step, (uint8_t)whose, key);
}

void
storage_commit(struct storage *storage)
{
    if (storage->step.n_bytes == 0)
        return;
    storage->n_batches_committed++;
    pthread_mutex_lock(&storage->lock);
    storage->n_bytes += storage->step.n_bytes;
    changeset_append_and_clear(&storage->waiting, &storage->step);
    storage->last_waiting_batch_number = storage->n_batches_committed;
    pthread_cond_broadcast(&storage->wake);
    pthread_mutex_unlock(&storage->lock);
}

uint64_t
storage_batch_number(const struct storage *storage)
{
    return storage->n_batches_committed + (storage->step.n_bytes > 0);
}

void
storage_flush(struct storage *storage, uint64_t timeout_ms)
{
    const uint64_t until_ns = clock_deadline_ns(timeout_ms);
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / CLOCK_NS_PER_S),
        .tv_nsec = (long)(until_ns % CLOCK_NS_PER_S),
    };
    int error = 0;

    pthread_mutex_lock(&storage->lock);
    while (storage->n_batches_durable < storage->last_waiting_batch_number &&
           error != ETIMEDOUT)
        error = pthread_cond_timedwait(&storage->wake, &storage->lock, &until);
    pthread_mutex_unlock(&storage->lock);
    durable_notify_owner(storage);
}

bool
storage_is_healthy(struct storage *storage)
{
    pthread_mutex_lock(&storage->lock);
    const bool is_well = storage->is_well;
    pthread_mutex_unlock(&storage->lock);
    return is_well;
}

bool
storage_has_room(struct storage *storage)
{
    pthread_mutex_lock(&storage->lock);
    const bool has_room = storage->n_bytes < storage->options.n_room;
    pthread_mutex_unlock(&storage->lock);
    return has_room;
}

static void
writer_stop(struct storage *storage)
{
    pthread_mutex_lock(&storage->lock);
    storage->is_writer_stopping = true;
    pthread_cond_broadcast(&storage->wake);
    pthread_mutex_unlock(&storage->lock);
    pthread_join(storage->writer, NULL);
    loop_cancel_posts(storage->options.loop, storage);
}

void
storage_close(struct storage *storage)
{
    if (!storage)
        return;
    if (storage->has_writer_thread)
        writer_stop(storage);
    if (storage->database && !storage->is_taken_by_other &&
        database_sync(storage->database) == HOOP_OK &&
        storage->n_batches_durable == storage->last_waiting_batch_number)
        folder_lock_mark_synced(storage->folder_lock);
    database_close(storage->database);
    folder_lock_release(storage->folder_lock);
    changeset_deinit(&storage->step);
    changeset_deinit(&storage->waiting);
    changeset_deinit(&storage->writing);
    pthread_cond_destroy(&storage->wake);
    pthread_mutex_destroy(&storage->lock);
    free(storage);
}
