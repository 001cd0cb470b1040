/*
 * repair.c - save what can be read of a coordinator's damaged data
 *
 * Recovery is tried for each job alone, together with the records that belong
 * to no job. A job that cannot be recovered is left out, so that a start with
 * the remaining records does not fail because of it.
 */

#include "repair.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/cluster.h"
#include "core/journal.h"
#include "storage/database.h"
#include "storage/folder_lock.h"
#include "storage/pages.h"
#include "storage/storage.h"

enum {
    REPAIR_REPORT_LINES_MAX = 20,
    /* A record's key holds its owner, its kind, then the job's number. */
    RECORD_KEY_OWNER_OFFSET = 0,
    RECORD_KEY_KIND_OFFSET = 1,
    RECORD_KEY_JOB_BYTES = 2 + sizeof(uint64_t),
};

DEFINE_CLEANUP(struct cluster *, cluster_destroy)

struct repair {
    struct changeset read; /* all readable records, in the order of keys */
    uint64_t n_read;
    uint64_t n_damaged_places;
    FILE *out;
};

static void
repair_deinit_at(struct repair *repair)
{
    changeset_deinit(&repair->read);
}

static uint8_t
record_key_byte(struct storage_span key, size_t at)
{
    return at < key.n_bytes ? ((const uint8_t *)key.bytes)[at] : 0;
}

static void
repaired_record_add(struct changeset *records,
                    struct storage_span key,
                    struct storage_span value)
{
    changeset_put(
        records, record_key_byte(key, RECORD_KEY_OWNER_OFFSET),
        (struct storage_span){(const uint8_t *)key.bytes + 1, key.n_bytes - 1},
        value);
}

static void
on_record(void *owner, struct storage_span key, struct storage_span value)
{
    struct repair *repair = owner;

    repair->n_read++;
    repaired_record_add(&repair->read, key, value);
}

static void
on_damage(void *owner, const char *text)
{
    struct repair *repair = owner;

    if (repair->n_damaged_places++ < REPAIR_REPORT_LINES_MAX)
        fprintf(repair->out, "damaged: %s\n", text);
}

/* Return whether the core wrote the record. */
static bool
record_belongs_to_core(struct storage_span key)
{
    return record_key_byte(key, RECORD_KEY_OWNER_OFFSET) == STORAGE_OWNER_CORE;
}

/* Return whether the core wrote the record for a job. */
static bool
record_belongs_to_job(struct storage_span key)
{
    return record_belongs_to_core(key) &&
           record_key_byte(key, RECORD_KEY_KIND_OFFSET) == JOURNAL_JOB;
}

static enum hoop_status
core_record_recover(struct cluster *cluster, const struct change *record)
{
    return cluster_recover_record(
        cluster, &(struct cluster_journal_record){
                     .key = (const uint8_t *)record->key.bytes + 1,
                     .n_key_bytes = record->key.n_bytes - 1,
                     .value = record->value.bytes,
                     .n_value_bytes = record->value.n_bytes,
                 });
}

/* Try to recover the records of no job and those of the job to which the key
 * belongs; if job is NULL, only the former. */
static enum hoop_status
job_recovery_try(const struct changeset *records,
                 const struct storage_span *job)
{
    CLEANUP(cluster_destroy) struct cluster *cluster = NULL;
    const struct cluster_options options = {
        .keeps_records = true,
        .now_ns = clock_now_ns(),
        .wall_offset_ns = clock_wall_ns() - clock_now_ns(),
    };
    struct change record;
    size_t at = 0;

    enum hoop_status status = cluster_create(&options, &cluster);
    while (status == HOOP_OK && changeset_next(records, &at, &record)) {
        const bool is_of_any_job = record_belongs_to_job(record.key);
        const bool is_its =
            job && is_of_any_job &&
            record.key.n_bytes >= RECORD_KEY_JOB_BYTES &&
            memcmp(record.key.bytes, job->bytes, RECORD_KEY_JOB_BYTES) == 0;

        if (is_its || (record_belongs_to_core(record.key) && !is_of_any_job))
            status = core_record_recover(cluster, &record);
    }
    if (status == HOOP_OK)
        status = cluster_recovery_finish(cluster);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static uint64_t
record_key_job_number(struct storage_span key)
{
    uint64_t number = 0;

    for (size_t i = RECORD_KEY_KIND_OFFSET + 1; i < RECORD_KEY_JOB_BYTES; i++)
        number = number << 8 | record_key_byte(key, i);
    return number;
}

/* Keep the records of the jobs that can be recovered, and all that belong to no
 * job. *out_n_jobs is the number of jobs that are left out. */
static enum hoop_status
recoverable_jobs_select(struct repair *repair,
                        struct changeset *kept,
                        size_t *out_n_jobs)
{
    struct storage_span job = {0};
    struct change record;
    bool data_is_intact = false;
    size_t at = 0;

    *out_n_jobs = 0;
    if (job_recovery_try(&repair->read, NULL) != HOOP_OK)
        return error_raise(HOOP_E_DATA_LOSS,
                           "what belongs to no job cannot be used: %s",
                           error_text());
    while (changeset_next(&repair->read, &at, &record)) {
        const bool is_job = record_belongs_to_job(record.key);

        if (is_job &&
            (!job.bytes || record.key.n_bytes < RECORD_KEY_JOB_BYTES ||
             memcmp(job.bytes, record.key.bytes, RECORD_KEY_JOB_BYTES) != 0)) {
            job = record.key;
            data_is_intact = job.n_bytes >= RECORD_KEY_JOB_BYTES &&
                             job_recovery_try(&repair->read, &job) == HOOP_OK;
            if (!data_is_intact) {
                ++*out_n_jobs;
                fprintf(repair->out, "lost: job %" PRIu64 " as a whole: %s\n",
                        record_key_job_number(job), error_text());
            }
        }
        if (!is_job || data_is_intact)
            repaired_record_add(kept, record.key, record.value);
    }
    return HOOP_OK;
}

/* Return whether the data can be opened as for a start. */
static bool
data_is_intact(const char *folder)
{
    CLEANUP(database_close) struct database *database = NULL;

    return database_open(folder, STORAGE_SURVIVES_MACHINE_CRASH, &database) ==
           HOOP_OK;
}

static void
repair_print_lost_records(const struct repair *repair,
                          const struct commit_record *written)
{
    if (repair->n_damaged_places > REPAIR_REPORT_LINES_MAX)
        fprintf(repair->out, "damaged: %" PRIu64 " more\n",
                repair->n_damaged_places - REPAIR_REPORT_LINES_MAX);
    if (!written->commit)
        fprintf(repair->out,
                "lost: nobody knows how many records; %" PRIu64
                " can be read\n",
                repair->n_read);
    else if (written->n_records > repair->n_read)
        fprintf(repair->out,
                "lost: %" PRIu64 " of %" PRIu64
                " records; among them may be keys, and answers: a change that "
                "is sent again may be done twice\n",
                written->n_records - repair->n_read, written->n_records);
}

static enum hoop_status
data_folder_repair(const char *folder, struct repair *repair)
{
    CLEANUP(changeset_deinit) struct changeset kept = {0};
    char former[LIMIT_SETTING] = "";
    struct commit_record written = {0};
    size_t n_jobs = 0;

    enum hoop_status status = database_salvage(
        folder,
        &(struct pages_visitor){
            .on_record = on_record, .on_damage = on_damage, .owner = repair},
        &written);
    if (status != HOOP_OK)
        return error_pass(status);
    status = recoverable_jobs_select(repair, &kept, &n_jobs);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_jobs == 0 && repair->n_damaged_places == 0 &&
        data_is_intact(folder)) {
        fprintf(repair->out,
                "%s: all %" PRIu64 " records are sound, nothing is changed\n",
                folder, repair->n_read);
        return HOOP_OK;
    }
    repair_print_lost_records(repair, &written);
    status = database_replace_file(folder, &kept, former);
    if (status != HOOP_OK)
        return error_pass(status);
    fprintf(repair->out,
            "%s: %" PRIu64 " records could be read, %zu jobs are left out; the "
            "damaged file is %s now\n",
            folder, repair->n_read, n_jobs, former);
    return HOOP_OK;
}

enum hoop_status
repair_run(const char *folder, FILE *out)
{
    CLEANUP(folder_lock_release) struct folder_lock *folder_lock = NULL;
    CLEANUP(repair_deinit) struct repair repair = {.out = out};

    enum hoop_status status =
        folder_lock_take(folder, STORAGE_SURVIVES_MACHINE_CRASH, &folder_lock);
    if (status == HOOP_OK)
        status = data_folder_repair(folder, &repair);
    if (status != HOOP_OK)
        return error_pass(status);
    folder_lock_mark_synced(folder_lock);
    return fflush(out) == 0 && !ferror(out)
               ? HOOP_OK
               : error_raise(HOOP_E_UNAVAILABLE,
                             "what was done could not be said");
}
