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
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/change.h"
#include "core/group.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/member.h"
#include "core/membership.h"
#include "core/memory.h"
#include "core/recovery_lease_check.h"
#include "core/store.h"
#include "core/vote.h"
#include "wire/unpack.h"

/*
 * Restore a job from its records.
 *
 * The job's head has been read. Members come before changes, and both before
 * the groups, which refer to ranks. So the world is complete when the first
 * group comes, or when the job has no more records.
 */

static enum hoop_status
store_revision_read(struct job *job, struct unpack *unpack)
{
    const size_t n_fields = unpack_array(unpack, 1);

    history_recover(&job->store.history, unpack_uint(unpack, UINT64_MAX));
    job->store.published = job->store.history.revision;
    return recovery_finish_reading_value(unpack, 1, n_fields);
}

/* Add a member to its job in its recorded state. */
static void
recovered_member_add(struct cluster *cluster,
                     struct member *member,
                     enum cluster_member_state state,
                     uint64_t worker)
{
    struct job *job = member->job;

    member->state = state;
    HASH_ADD(hh, job->members, incarnation, sizeof(member->incarnation),
             member);
    job_recount_table_bytes(job);
    TAILQ_INSERT_TAIL(&job->arrivals, member, arrival);
    job->n_members += state == CLUSTER_MEMBER_ACTIVE;
    job->n_left += state == CLUSTER_MEMBER_LEFT;
    job->n_lost += state == CLUSTER_MEMBER_LOST;
    worker_add_member(cluster, member, worker);
    if (state == CLUSTER_MEMBER_ACTIVE)
        job_metrics_await(member);
}

static enum hoop_status
member_record_read(struct cluster *cluster,
                   struct journal_key_reader *key,
                   struct unpack *unpack)
{
    struct job *job = cluster->recovering;
    char host[LIMIT_NAME] = {0};
    char host_id[LIMIT_NAME] = {0};
    char address[LIMIT_ADDRESS] = {0};
    char reason[LIMIT_ERROR_TEXT] = {0};
    struct cluster_join join = {
        .host = host, .host_id = host_id, .address = address};

    if (!recovery_read_key_number(key, &join.incarnation))
        return recovery_raise_bad_key();

    const size_t n_fields = unpack_array(unpack, 7);
    const enum cluster_member_state state =
        (enum cluster_member_state)unpack_uint(unpack, CLUSTER_MEMBER_LOST);

    join.rank = (uint32_t)unpack_uint(unpack, LIMIT_RANKS - 1);
    join.pid = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    unpack_text(unpack, host, sizeof(host));
    unpack_text(unpack, host_id, sizeof(host_id));
    unpack_text(unpack, address, sizeof(address));
    unpack_text(unpack, reason, sizeof(reason));
    /* Records of earlier versions end here. */
    if (n_fields > 7)
        join.pid_namespace_id = unpack_uint(unpack, UINT64_MAX);
    const uint64_t worker =
        n_fields > 8 ? unpack_uint(unpack, UINT64_MAX) : join.incarnation;
    const bool has_reported_own_failure =
        n_fields > 9 && unpack_uint(unpack, 1) == 1;
    if (recovery_finish_reading_value(unpack, n_fields > 10 ? 10 : n_fields,
                                      n_fields) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (job_find_member(job, join.incarnation) ||
        state == CLUSTER_MEMBER_JOINING || join.rank >= job->world.size)
        return recovery_raise_mismatch(
            job, "a member is there twice, or has no rank");

    struct member *member = member_create(job, &join);

    recovered_member_add(cluster, member, state, worker);
    if (state == CLUSTER_MEMBER_LOST)
        member->reason = memory_strdup_charged(&job->memory, reason);
    member->has_reported_own_failure = has_reported_own_failure;
    member->has_left_before_recovery = state == CLUSTER_MEMBER_LEFT;
    return HOOP_OK;
}

/* Fill in what a change says about its member from the member. */
static enum hoop_status
change_fill_from_member(struct job *job,
                        struct cluster_membership_change *change)
{
    const bool is_lost = change->kind == CLUSTER_CHANGE_LOST;
    struct member *member = job_find_member(job, change->incarnation);

    change->host = "";
    change->reason = "";
    if (change->kind == CLUSTER_CHANGE_FORMED)
        return HOOP_OK;
    if (!member || member->rank != change->rank ||
        member->state != (is_lost ? CLUSTER_MEMBER_LOST : CLUSTER_MEMBER_LEFT))
        return recovery_raise_mismatch(
            job, "a member is said to have ended that has not ended");
    change->host = member->host;
    change->pid = member->pid;
    if (member->reason)
        change->reason = member->reason;
    change->has_reported_own_failure = member->has_reported_own_failure;
    member->lost_revision = is_lost ? change->revision : 0;
    return HOOP_OK;
}

static enum hoop_status
change_record_read(struct cluster *cluster,
                   struct journal_key_reader *key,
                   struct unpack *unpack)
{
    struct job *job = cluster->recovering;
    struct cluster_membership_change change = {0};

    if (!recovery_read_key_number(key, &change.revision))
        return recovery_raise_bad_key();

    const size_t n_fields = unpack_array(unpack, 5);

    change.kind = (enum cluster_membership_change_kind)unpack_uint(
        unpack, CLUSTER_CHANGE_LOST);
    change.membership_epoch = unpack_uint(unpack, cluster->last_epoch);
    change.rank = (uint32_t)unpack_uint(unpack, LIMIT_RANKS);
    change.incarnation = unpack_uint(unpack, UINT64_MAX);
    change.when_ns = recovery_read_time(cluster, unpack);
    if (recovery_finish_reading_value(unpack, 5, n_fields) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (change.revision != job->world.n_changes + 1 ||
        job->world.n_changes > job->world.size)
        return recovery_raise_mismatch(
            job, "a change is missing, or there are too many");

    const enum hoop_status status = change_fill_from_member(job, &change);

    if (status != HOOP_OK)
        return error_pass(status);
    job->world.changes = memory_realloc_charged(
        &job->memory, job->world.changes, job->world.n_changes + 1,
        sizeof(*job->world.changes));
    job->world.changes[job->world.n_changes++] = change;
    return HOOP_OK;
}

/* Check that every rank has a member and that each ended member ended once. */
static enum hoop_status
restored_world_check(const struct job *job)
{
    const uint32_t n_ended = job->n_left + job->n_lost;

    if (job->n_members + n_ended != job->world.size)
        return recovery_raise_mismatch(
            job, "there are not as many members as ranks");
    if (job->world.n_changes != 1 + (size_t)n_ended)
        return recovery_raise_mismatch(
            job, "there are not as many ends as members that ended");
    if (job->world.changes[job->world.n_changes - 1].membership_epoch !=
        job->world.membership_epoch)
        return recovery_raise_mismatch(
            job, "its epoch is not that of its last change");
    return HOOP_OK;
}

/* Build the world after all of its members and changes have been read. */
static enum hoop_status
recovered_world_build(const struct cluster *cluster, struct job *job)
{
    const uint64_t lease_ns = cluster->lease_ms * CLOCK_NS_PER_MS;
    struct member *member = NULL;
    const enum hoop_status status = restored_world_check(job);

    if (status != HOOP_OK)
        return error_pass(status);
    job->world.ranks = memory_alloc_charged(&job->memory, job->world.size,
                                            sizeof(struct member *));
    job->world.roster = memory_alloc_charged(&job->memory, job->world.size,
                                             sizeof(*job->world.roster));
    job->world.changes = memory_realloc_charged(
        &job->memory, job->world.changes, 1 + (size_t)job->world.size,
        sizeof(*job->world.changes));
    job->world.n_changes_answered = job->world.n_changes;
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (job->world.ranks[member->rank])
            return recovery_raise_mismatch(job, "two members have one rank");
        job->world.ranks[member->rank] = member;
        job->world.roster[member->rank] =
            member_public_view(member, cluster->now_ns);
        job->world.roster[member->rank].state = CLUSTER_MEMBER_ACTIVE;
        job->world.roster[member->rank].lease_left_ns = lease_ns;
    }
    return HOOP_OK;
}

static enum hoop_status
group_slot_record_read(struct job *job,
                       struct journal_key_reader *key,
                       uint64_t communicator)
{
    struct group *group = job->groups.group_table;
    uint64_t place = 0;

    if (!recovery_read_key_number(key, &place))
        return recovery_raise_bad_key();
    if (group)
        group = ELMT_FROM_HH(group->hh.tbl, group->hh.tbl->tail);
    if (!group || group->shown.communicator != communicator)
        return recovery_raise_mismatch(
            job, "a group slot was left in no communicator");

    const enum hoop_status status = group_slot_recover_left(group, place);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The ranks and join numbers of one group. */
struct group_record {
    char key[LIMIT_NAME];
    uint32_t *ranks;
    uint32_t n_ranks;
    uint64_t *numbers; /* [n_ranks]; or n_numbers is 0 */
    size_t n_numbers;
};

static void
group_record_deinit_at(struct group_record *parts)
{
    free(parts->ranks);
    free(parts->numbers);
}

static enum hoop_status
group_record_decode(struct unpack *unpack, struct group_record *parts)
{
    const size_t n_fields = unpack_array(unpack, 3);

    unpack_text(unpack, parts->key, sizeof(parts->key));

    const size_t n_ranks = unpack_array(unpack, 0);

    if (unpack_status(unpack) != HOOP_OK || n_ranks > LIMIT_RANKS)
        return error_raise(HOOP_E_DATA_LOSS, "a group cannot be read");
    parts->n_ranks = (uint32_t)n_ranks;
    parts->ranks = memory_calloc(n_ranks, sizeof(*parts->ranks));
    for (size_t i = 0; i < n_ranks; i++)
        parts->ranks[i] = (uint32_t)unpack_uint(unpack, LIMIT_RANKS - 1);
    parts->n_numbers = unpack_array(unpack, 0);
    if (unpack_status(unpack) != HOOP_OK ||
        (parts->n_numbers && parts->n_numbers != n_ranks))
        return error_raise(HOOP_E_DATA_LOSS, "a group has other seats");
    parts->numbers = memory_calloc(parts->n_numbers, sizeof(*parts->numbers));
    for (size_t i = 0; i < parts->n_numbers; i++)
        parts->numbers[i] = unpack_uint(unpack, UINT64_MAX);
    return recovery_finish_reading_value(unpack, 3, n_fields);
}

static enum hoop_status
group_record_read(struct job *job,
                  struct journal_key_reader *key,
                  struct unpack *unpack)
{
    CLEANUP(group_record_deinit) struct group_record parts = {0};
    struct group *group = NULL;
    uint64_t communicator = 0;

    if (!recovery_read_key_number(key, &communicator))
        return recovery_raise_bad_key();
    if (key->n_left)
        return group_slot_record_read(job, key, communicator);

    enum hoop_status status = group_record_decode(unpack, &parts);

    if (status == HOOP_OK)
        status = group_recover(job,
                               &(struct cluster_group_call){
                                   .key = parts.key,
                                   .ranks = parts.ranks,
                                   .n_ranks = parts.n_ranks,
                               },
                               communicator, &group);
    if (status != HOOP_OK)
        return error_pass(status);
    if (parts.n_numbers)
        group_slots_recover(group, parts.numbers);
    return HOOP_OK;
}

/* Read a remaining lifetime and return its end, counted from now; 0 in the
 * record means never. */
static uint64_t
ttl_read_end_ns(const struct cluster *cluster, struct unpack *unpack)
{
    const uint64_t left_ns = unpack_uint(unpack, UINT64_MAX);

    if (!left_ns || left_ns > UINT64_MAX - cluster->now_ns)
        return UINT64_MAX;
    return cluster->now_ns + left_ns;
}

static enum hoop_status
store_entry_record_read(struct cluster *cluster,
                        struct journal_key_reader *key,
                        struct unpack *unpack)
{
    char name[LIMIT_STORE_KEY] = {0};
    struct store_recovered_entry former = {0};

    if (!recovery_read_key_number(key, &former.number))
        return recovery_raise_bad_key();

    const size_t n_fields = unpack_array(unpack, 4);

    unpack_text(unpack, name, sizeof(name));

    const struct unpack_view value = unpack_bin(unpack, LIMIT_STORE_VALUE);

    former.revision = unpack_uint(unpack, UINT64_MAX);
    former.value = (struct store_value){
        .bytes = value.bytes,
        .n_bytes = value.n_bytes,
        .end_ns = ttl_read_end_ns(cluster, unpack),
    };
    if (recovery_finish_reading_value(unpack, 4, n_fields) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);

    const enum hoop_status status =
        store_recover_entry(cluster, cluster->recovering, name, &former);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
vote_record_read(struct cluster *cluster,
                 struct journal_key_reader *key,
                 struct unpack *unpack)
{
    struct job *job = cluster->recovering;
    struct vote_recovered_outcome former = {0};

    if (!recovery_read_key_number(key, &former.key.communicator) ||
        !recovery_read_key_number(key, &former.key.kind))
        return recovery_raise_bad_key();

    const size_t n_fields = unpack_array(unpack, 7);

    former.told = unpack_uint(unpack, UINT64_MAX);
    former.outcome.status =
        (enum hoop_status)unpack_uint(unpack, HOOP_E_UNAUTHENTICATED);
    former.outcome.flags = unpack_uint(unpack, UINT64_MAX);
    former.outcome.least = unpack_uint(unpack, UINT64_MAX);
    former.outcome.communicator = unpack_uint(unpack, UINT64_MAX);
    former.outcome.membership_epoch = unpack_uint(unpack, UINT64_MAX);

    const size_t n_ranks = unpack_array(unpack, 0);

    if (unpack_status(unpack) != HOOP_OK || n_ranks > job->world.size)
        return recovery_raise_mismatch(job, "an outcome cannot be read");

    CLEANUP(free) uint32_t *ranks = memory_calloc(n_ranks, sizeof(*ranks));

    for (size_t i = 0; i < n_ranks; i++)
        ranks[i] = (uint32_t)unpack_uint(unpack, LIMIT_RANKS - 1);
    former.outcome.ranks = ranks;
    former.outcome.n_ranks = (uint32_t)n_ranks;
    if (recovery_finish_reading_value(unpack, 7, n_fields) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (vote_recover(job, &former) != HOOP_OK)
        return recovery_raise_mismatch(job, "an outcome is of no communicator");
    return HOOP_OK;
}

static enum hoop_status
lease_check_record_read(struct job *job, struct unpack *unpack)
{
    const size_t n_fields = unpack_array(unpack, 1);
    const struct unpack_view n_grace_parts_passed =
        unpack_bin(unpack, LIMIT_RANKS);

    if (recovery_finish_reading_value(unpack, 1, n_fields) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    const enum hoop_status status = lease_grace_restore(
        job, n_grace_parts_passed.bytes, n_grace_parts_passed.n_bytes);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
recovery_read_job_part(struct cluster *cluster,
                       enum journal_job_part part,
                       struct journal_key_reader *key,
                       struct unpack *unpack)
{
    struct job *job = cluster->recovering;
    const bool is_running = job->state == CLUSTER_JOB_RUNNING;

    if (part >= JOURNAL_MEMBER && part != JOURNAL_STORE_ENTRY &&
        part != JOURNAL_LEASE_CHECK && !is_running)
        return recovery_raise_mismatch(job, "it has members without a world");
    if (part <= JOURNAL_MEMBERSHIP_CHANGE && job->world.ranks)
        return recovery_raise_bad_key();
    if (part >= JOURNAL_GROUP && part != JOURNAL_STORE_ENTRY && is_running &&
        !job->world.ranks) {
        const enum hoop_status status = recovered_world_build(cluster, job);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    switch (part) {
    case JOURNAL_JOB_HEADER:
        return recovery_raise_bad_key();
    case JOURNAL_STORE_REVISION:
        return store_revision_read(job, unpack);
    case JOURNAL_MEMBER:
        return member_record_read(cluster, key, unpack);
    case JOURNAL_MEMBERSHIP_CHANGE:
        return change_record_read(cluster, key, unpack);
    case JOURNAL_GROUP:
        return group_record_read(job, key, unpack);
    case JOURNAL_STORE_ENTRY:
        return store_entry_record_read(cluster, key, unpack);
    case JOURNAL_VOTE:
        return vote_record_read(cluster, key, unpack);
    case JOURNAL_LEASE_CHECK:
        return lease_check_record_read(job, unpack);
    }
    return recovery_raise_bad_key();
}

static enum hoop_status
ended_member_check(const struct member *member)
{
    if (member->state == CLUSTER_MEMBER_ACTIVE || TAILQ_EMPTY(&member->slots))
        return HOOP_OK;
    return recovery_raise_mismatch(
        member->job, "a member that has ended is in a communicator");
}

enum hoop_status
recovery_job_finish(struct cluster *cluster, struct job *job)
{
    const bool is_running = job->state == CLUSTER_JOB_RUNNING;
    struct member *member = NULL;
    enum hoop_status status = HOOP_OK;

    if (is_running && !job->world.ranks)
        status = recovered_world_build(cluster, job);
    if (status == HOOP_OK && is_running && !job->n_members &&
        LIST_EMPTY(&job->grown))
        status = recovery_raise_mismatch(job, "it runs without a member");
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (status == HOOP_OK)
            status = ended_member_check(member);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    recovery_lease_check_begin(cluster, job);
    return HOOP_OK;
}

enum {
    /* Limit of one value: a group of all ranks, or the largest value of a
     * key. */
    RECORD_VALUE_BYTES_MAX = LIMIT_RPC_MESSAGE,
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
recovery_finish_reading_value(struct unpack *unpack,
                              size_t n_known,
                              size_t n_fields)
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
    cluster->last_epoch = unpack_uint(unpack, UINT64_MAX);
    cluster->last_job_number = unpack_uint(unpack, UINT64_MAX);
    cluster->ended_jobs.n_added = unpack_uint(unpack, SIZE_MAX);
    return recovery_finish_reading_value(unpack, 4, n_fields);
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
    return recovery_finish_reading_value(unpack, 7, n_fields);
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
    if (!number || number > cluster->last_job_number ||
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
    job->job_created_ns = recovery_read_time(cluster, unpack);
    job->world.epoch = unpack_uint(unpack, cluster->last_epoch);
    job->world.membership_epoch = unpack_uint(unpack, cluster->last_epoch);
    job->world.size = (uint32_t)unpack_uint(unpack, LIMIT_RANKS);
    job->world.seed = unpack_uint(unpack, UINT64_MAX);
    job->groups.communicator = unpack_uint(unpack, UINT64_MAX);
    /* Records of earlier versions end here. */
    if (n_fields > 9) {
        unpack_text(unpack, root, sizeof(root));
        job->world.size_max = (uint32_t)unpack_uint(unpack, LIMIT_RANKS);
        job->n_workers_left = (uint32_t)unpack_uint(unpack, UINT32_MAX);
        job->n_workers_lost = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    }
    if (unpack_status(unpack) == HOOP_OK &&
        (job->state == CLUSTER_JOB_RUNNING) !=
            (job->world.size > 0 && job->world.epoch))
        return recovery_raise_mismatch(
            job, "it runs without a world, or does not with one");
    if (unpack_status(unpack) == HOOP_OK && root[0] &&
        !job_attach_root_by_name(cluster, job, root))
        return recovery_raise_mismatch(job,
                                       "a job that is not there grew by it");
    return recovery_finish_reading_value(unpack, n_fields > 9 ? 13 : 9,
                                         n_fields);
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
    if (part == JOURNAL_JOB_HEADER)
        return job_head_read(cluster, number, unpack);
    if (!cluster->recovering || cluster->recovering->number != number)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a record is of job %" PRIu64 ", which is not there",
                           number);
    return recovery_read_job_part(cluster, (enum journal_job_part)part, key,
                                  unpack);
}

enum hoop_status
cluster_recover_record(struct cluster *cluster,
                       const struct cluster_journal_record *record)
{
    struct journal_key_reader key = {record->key, record->n_key_bytes};
    struct unpack unpack;
    unsigned int kind = 0;
    enum hoop_status status = HOOP_OK;

    unpack_init(&unpack, record->value, record->n_value_bytes,
                RECORD_VALUE_BYTES_MAX);
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
