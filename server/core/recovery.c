/*
 * core/recovery.c - restore a cluster from its records
 *
 * Records come in the order of their keys: first the cluster's, then the ended
 * jobs, then job by job its head, members, changes, groups and keys. They come
 * from a disk, so nothing in them is trusted: a record that does not fit those
 * before it is treated as damage.
 */

#include "core/recovery.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/ended_job.h"
#include "core/job.h"
#include "core/state.h"
#include "wire/unpack.h"

enum {
    /* Limit of one value: a group of all ranks, or the largest value of a
     * key. */
    VALUE_MAX = LIMIT_RPC_MESSAGE,
};

static bool
key_read_byte(struct journal_key_reader *key, unsigned int *out_byte)
{
    if (key->n_left < 1)
        return false;
    *out_byte = *key->at;
    key->at++;
    key->n_left--;
    return true;
}

bool
recovery_read_key_number(struct journal_key_reader *key, uint64_t *out_number)
{
    uint64_t big = 0;

    if (key->n_left < sizeof(big))
        return false;
    memcpy(&big, key->at, sizeof(big));
    *out_number = be64toh(big);
    key->at += sizeof(big);
    key->n_left -= sizeof(big);
    return true;
}

enum hoop_status
recovery_raise_bad_key(void)
{
    return error_raise(HOOP_E_DATA_LOSS, "a record has a key of no kind");
}

enum hoop_status
recovery_raise_mismatch(const struct job *job, const char *what)
{
    return error_raise(HOOP_E_DATA_LOSS, "job \"%s\": %s", job->name, what);
}

enum hoop_status
recovery_finish_value(struct unpack *unpack, size_t n_known, size_t n_fields)
{
    if (n_fields > n_known)
        unpack_skip(unpack, n_fields - n_known);
    if (unpack_status(unpack) == HOOP_OK && !unpack_is_end(unpack))
        return error_raise(HOOP_E_DATA_LOSS, "bytes follow a record");
    return unpack_status(unpack);
}

uint64_t
recovery_read_time(const struct cluster *cluster, struct unpack *unpack)
{
    const uint64_t wall_ns = unpack_uint(unpack, UINT64_MAX);
    const uint64_t now_wall_ns = cluster->now_ns + cluster->wall_offset_ns;

    if (wall_ns >= now_wall_ns)
        return cluster->now_ns;
    return now_wall_ns - wall_ns > cluster->now_ns
               ? 0
               : cluster->now_ns - (now_wall_ns - wall_ns);
}

static enum hoop_status
cluster_record_read(struct cluster *cluster, struct unpack *unpack)
{
    const size_t n_fields = unpack_array(unpack, 4);
    const uint64_t version = unpack_uint(unpack, UINT64_MAX);

    if (unpack_status(unpack) == HOOP_OK && version != JOURNAL_VERSION)
        return error_raise(HOOP_E_PRECONDITION,
                           "it was written in version %" PRIu64 " of the "
                           "records, this hoopd knows %d: use the release "
                           "that wrote it",
                           version, JOURNAL_VERSION);
    cluster->epoch_last = unpack_uint(unpack, UINT64_MAX);
    cluster->job_last = unpack_uint(unpack, UINT64_MAX);
    cluster->ended_jobs.n_added = unpack_uint(unpack, SIZE_MAX);
    return recovery_finish_value(unpack, 4, n_fields);
}

static enum hoop_status
ended_job_read(struct cluster *cluster,
               struct journal_key_reader *key,
               struct unpack *unpack)
{
    struct ended_job ended_job = {0};
    uint64_t place = 0;

    if (!recovery_read_key_number(key, &place) || place >= LIMIT_ENDED_JOBS)
        return recovery_raise_bad_key();

    const size_t n_fields = unpack_array(unpack, 7);

    unpack_text(unpack, ended_job.name, sizeof(ended_job.name));
    ended_job.when_ns = recovery_read_time(cluster, unpack);
    ended_job.epoch = unpack_uint(unpack, UINT64_MAX);
    ended_job.size = (uint32_t)unpack_uint(unpack, LIMIT_RANKS);
    ended_job.n_joined = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    ended_job.n_left = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    ended_job.n_lost = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    cluster->ended_jobs.ring[place] = ended_job;
    return recovery_finish_value(unpack, 7, n_fields);
}

static bool
job_attach_root_by_name(struct cluster *cluster,
                        struct job *job,
                        const char *name)
{
    struct job *root = job_find(cluster, name);

    if (!root || root == job || root->root)
        return false;
    job_attach_to_root(cluster, job, root);
    return true;
}

static enum hoop_status
job_head_read(struct cluster *cluster, uint64_t number, struct unpack *unpack)
{
    char name[LIMIT_NAME] = {0};
    char token[LIMIT_TOKEN] = {0};
    char root[LIMIT_NAME] = {0};
    const size_t n_fields = unpack_array(unpack, 9);

    unpack_text(unpack, name, sizeof(name));
    unpack_text(unpack, token, sizeof(token));
    if (unpack_status(unpack) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (!job_name_is_valid(name) || job_find(cluster, name))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a job has no name, or one that is there twice");
    if (role_of_token(token) != ROLE_WORKER)
        return error_raise(HOOP_E_DATA_LOSS,
                           "job \"%s\" has a token that no job can have", name);
    if (!number || number > cluster->job_last ||
        /* One more than the limit, since this may be a world by which another
         * job grew. */
        cluster->counters.jobs > LIMIT_JOBS)
        return error_raise(HOOP_E_DATA_LOSS,
                           "job \"%s\" has a number that was never given",
                           name);

    struct job *job = job_recover(cluster, name, token, number);

    cluster->recovering = job;
    job->state =
        (enum cluster_job_state)unpack_uint(unpack, CLUSTER_JOB_RUNNING);
    job->born_ns = recovery_read_time(cluster, unpack);
    job->epoch = unpack_uint(unpack, cluster->epoch_last);
    job->membership_epoch = unpack_uint(unpack, cluster->epoch_last);
    job->size = (uint32_t)unpack_uint(unpack, LIMIT_RANKS);
    job->seed = unpack_uint(unpack, UINT64_MAX);
    job->groups.communicator = unpack_uint(unpack, UINT64_MAX);
    /* Records of earlier versions end here. */
    if (n_fields > 9) {
        unpack_text(unpack, root, sizeof(root));
        job->size_max = (uint32_t)unpack_uint(unpack, LIMIT_RANKS);
        job->n_workers_left = (uint32_t)unpack_uint(unpack, UINT32_MAX);
        job->n_workers_lost = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    }
    if (unpack_status(unpack) == HOOP_OK &&
        (job->state == CLUSTER_JOB_RUNNING) != (job->size > 0 && job->epoch))
        return recovery_raise_mismatch(
            job, "it runs without a world, or does not with one");
    if (unpack_status(unpack) == HOOP_OK && root[0] &&
        !job_attach_root_by_name(cluster, job, root))
        return recovery_raise_mismatch(job,
                                       "a job that is not there grew by it");
    return recovery_finish_value(unpack, n_fields > 9 ? 13 : 9, n_fields);
}

static enum hoop_status
job_record_read(struct cluster *cluster,
                struct journal_key_reader *key,
                struct unpack *unpack)
{
    uint64_t number = 0;
    unsigned int part = 0;

    if (!recovery_read_key_number(key, &number) || !key_read_byte(key, &part))
        return recovery_raise_bad_key();
    if (part == JOURNAL_HEAD)
        return job_head_read(cluster, number, unpack);
    if (!cluster->recovering || cluster->recovering->number != number)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a record is of job %" PRIu64 ", which is not there",
                           number);
    return recovery_read_job_part(cluster, (enum journal_part)part, key,
                                  unpack);
}

enum hoop_status
cluster_recover_record(struct cluster *cluster,
                       const struct cluster_journal_record *record)
{
    struct journal_key_reader key = {record->key, record->n_key};
    struct unpack unpack;
    unsigned int kind = 0;
    enum hoop_status status = HOOP_OK;

    unpack_init(&unpack, record->value, record->n_value, VALUE_MAX);
    if (!key_read_byte(&key, &kind))
        status = recovery_raise_bad_key();
    else if (kind == JOURNAL_CLUSTER)
        status = cluster_record_read(cluster, &unpack);
    else if (kind == JOURNAL_ENDED_JOB)
        status = ended_job_read(cluster, &key, &unpack);
    else if (kind == JOURNAL_JOB)
        status = job_record_read(cluster, &key, &unpack);
    else
        status = recovery_raise_bad_key();
    if (status == HOOP_OK && unpack_status(&unpack) != HOOP_OK)
        status = HOOP_E_DATA_LOSS;
    if (status == HOOP_OK && key.n_left)
        status = recovery_raise_bad_key();
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
cluster_recovery_finish(struct cluster *cluster)
{
    cluster->recovering = NULL;
    for (struct job *job = cluster->jobs; job; job = job->hh.next) {
        const enum hoop_status status = recovery_job_finish(cluster, job);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}
