/* core/journal.c - records of what must outlive the coordinator */

#include "core/journal.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/group.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/store.h"
#include "core/vote.h"
#include "wire/pack.h"

/* Numbers are big-endian, so that keys sort by them. */
struct journal_record_key {
    uint8_t bytes[JOURNAL_KEY_MAX];
    size_t n_bytes;
};

static void
journal_key_add_byte(struct journal_record_key *key, unsigned int byte)
{
    assert(key->n_bytes < sizeof(key->bytes));
    key->bytes[key->n_bytes++] = (uint8_t)byte;
}

static void
journal_key_append_number(struct journal_record_key *key, uint64_t number)
{
    const uint64_t big = htobe64(number);

    assert(key->n_bytes + sizeof(big) <= sizeof(key->bytes));
    memcpy(key->bytes + key->n_bytes, &big, sizeof(big));
    key->n_bytes += sizeof(big);
}

static struct journal_record_key
journal_job_key(const struct job *job)
{
    struct journal_record_key key = {0};

    journal_key_add_byte(&key, JOURNAL_JOB);
    journal_key_append_number(&key, job->number);
    return key;
}

static struct journal_record_key
journal_part_key(const struct job *job, enum journal_job_part part)
{
    struct journal_record_key key = journal_job_key(job);

    journal_key_add_byte(&key, part);
    return key;
}

static struct journal_record_key
journal_numbered_key(const struct job *job,
                     enum journal_job_part part,
                     uint64_t number)
{
    struct journal_record_key key = journal_part_key(job, part);

    journal_key_append_number(&key, number);
    return key;
}

static bool
journal_is_enabled(const struct cluster *cluster)
{
    return cluster->keeps_records;
}

/* Without memory for a record the process aborts, as memory.h explains. */
static void
journal_add_put(struct cluster *cluster,
                const struct journal_record_key *key,
                struct pack *pack)
{
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    if (pack_take(pack, &bytes, &n_bytes) != HOOP_OK)
        abort();

    struct cluster_journal_record *record =
        action_list_add_record(&cluster->action_list);

    record->kind = CLUSTER_RECORD_PUT;
    record->key =
        memcpy(action_list_alloc(&cluster->action_list, key->n_bytes, 1),
               key->bytes, key->n_bytes);
    record->n_key_bytes = key->n_bytes;
    record->value = memcpy(action_list_alloc(&cluster->action_list, n_bytes, 1),
                           bytes, n_bytes);
    record->n_value_bytes = n_bytes;
    free(bytes);
}

static void
journal_add_erase(struct cluster *cluster, const struct journal_record_key *key)
{
    struct cluster_journal_record *record =
        action_list_add_record(&cluster->action_list);

    record->kind = CLUSTER_RECORD_ERASE;
    record->key =
        memcpy(action_list_alloc(&cluster->action_list, key->n_bytes, 1),
               key->bytes, key->n_bytes);
    record->n_key_bytes = key->n_bytes;
}

static void
wall_time_pack(const struct cluster *cluster,
               uint64_t when_ns,
               struct pack *pack)
{
    pack_uint(pack, when_ns + cluster->wall_offset_ns);
}

static struct pack
journal_value_begin(size_t n_fields)
{
    struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, n_fields);
    return pack;
}

void
journal_write_cluster(struct cluster *cluster)
{
    struct journal_record_key key = {0};

    if (!journal_is_enabled(cluster))
        return;

    struct pack pack = journal_value_begin(4);

    journal_key_add_byte(&key, JOURNAL_CLUSTER);
    pack_uint(&pack, JOURNAL_VERSION);
    pack_uint(&pack, cluster->last_epoch);
    pack_uint(&pack, cluster->last_job_number);
    pack_uint(&pack, cluster->ended_jobs.n_added);
    journal_add_put(cluster, &key, &pack);
}

/* Record the ended job that was added last. */
void
journal_write_ended_job(struct cluster *cluster,
                        const struct ended_job *ended_job)
{
    struct journal_record_key key = {0};

    if (!journal_is_enabled(cluster))
        return;

    struct pack pack = journal_value_begin(7);

    journal_key_add_byte(&key, JOURNAL_ENDED_JOB);
    journal_key_append_number(&key, (cluster->ended_jobs.n_added - 1) %
                                        LIMIT_ENDED_JOBS);
    pack_str(&pack, ended_job->name);
    wall_time_pack(cluster, ended_job->when_ns, &pack);
    pack_uint(&pack, ended_job->epoch);
    pack_uint(&pack, ended_job->size);
    pack_uint(&pack, ended_job->n_joined);
    pack_uint(&pack, ended_job->n_left);
    pack_uint(&pack, ended_job->n_lost);
    journal_add_put(cluster, &key, &pack);
    journal_write_cluster(cluster);
}

void
journal_write_job(struct cluster *cluster, const struct job *job)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_part_key(job, JOURNAL_JOB_HEADER);
    struct pack pack = journal_value_begin(13);

    pack_str(&pack, job->name);
    pack_str(&pack, job->token.texts[ROLE_WORKER]);
    pack_uint(&pack, job->state);
    wall_time_pack(cluster, job->job_created_ns, &pack);
    pack_uint(&pack, job->world.epoch);
    pack_uint(&pack, job->world.membership_epoch);
    pack_uint(&pack, job->world.size);
    pack_uint(&pack, job->world.seed);
    pack_uint(&pack, job->groups.communicator);
    pack_str(&pack, job->root ? job->root->name : "");
    pack_uint(&pack, job->world.size_max);
    pack_uint(&pack, job->n_workers_left);
    pack_uint(&pack, job->n_workers_lost);
    journal_add_put(cluster, &key, &pack);
}

void
journal_erase_job(struct cluster *cluster, const struct job *job)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key = journal_job_key(job);

    journal_add_erase(cluster, &key);
}

void
journal_write_member(struct cluster *cluster, const struct member *member)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_numbered_key(member->job, JOURNAL_MEMBER, member->incarnation);
    struct pack pack = journal_value_begin(10);

    pack_uint(&pack, member->state);
    pack_uint(&pack, member->rank);
    pack_uint(&pack, member->pid);
    pack_str(&pack, member->host);
    pack_str(&pack, member->host_id);
    pack_str(&pack, member->address);
    pack_str(&pack, member->reason);
    pack_uint(&pack, member->pid_namespace_id);
    pack_uint(&pack, member->worker->id);
    pack_uint(&pack, member->has_reported_own_failure);
    journal_add_put(cluster, &key, &pack);
}

void
journal_write_membership_change(struct cluster *cluster,
                                const struct job *job,
                                const struct cluster_membership_change *change)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_numbered_key(job, JOURNAL_MEMBERSHIP_CHANGE, change->revision);
    struct pack pack = journal_value_begin(5);

    pack_uint(&pack, change->kind);
    pack_uint(&pack, change->membership_epoch);
    pack_uint(&pack, change->rank);
    pack_uint(&pack, change->incarnation);
    wall_time_pack(cluster, change->when_ns, &pack);
    journal_add_put(cluster, &key, &pack);
}

static struct journal_record_key
journal_group_key(const struct group *group)
{
    return journal_numbered_key(group->job, JOURNAL_GROUP,
                                group->shown.communicator);
}

void
journal_write_group(struct cluster *cluster, const struct group *group)
{
    const uint32_t n_ranks = group->shown.n_ranks;

    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key = journal_group_key(group);
    struct pack pack = journal_value_begin(3);

    pack_str(&pack, group->shown.key);
    pack_array(&pack, n_ranks);
    for (uint32_t i = 0; i < n_ranks; i++)
        pack_uint(&pack, group->ranks[i]);
    pack_array(&pack, group->slots ? n_ranks : 0);
    for (uint32_t i = 0; group->slots && i < n_ranks; i++)
        pack_uint(&pack, group->slots[i].number);
    journal_add_put(cluster, &key, &pack);
}

void
journal_write_group_slot(struct cluster *cluster,
                         const struct group_slot *group_slot)
{
    if (!journal_is_enabled(cluster))
        return;

    struct journal_record_key key = journal_group_key(group_slot->group);
    struct pack pack = journal_value_begin(0);

    journal_key_append_number(
        &key, (uint64_t)(group_slot - group_slot->group->slots));
    journal_add_put(cluster, &key, &pack);
}

void
journal_erase_group(struct cluster *cluster, const struct group *group)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key = journal_group_key(group);

    journal_add_erase(cluster, &key);
}

static struct journal_record_key
journal_vote_key(const struct vote *vote)
{
    struct journal_record_key key =
        journal_numbered_key(vote->job, JOURNAL_VOTE, vote->key.communicator);

    journal_key_append_number(&key, vote->key.kind);
    return key;
}

void
journal_write_vote(struct cluster *cluster, const struct vote *vote)
{
    const struct cluster_vote_outcome *outcome = &vote->outcome;

    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key = journal_vote_key(vote);
    struct pack pack = journal_value_begin(7);

    pack_uint(&pack, vote->told);
    pack_uint(&pack, outcome->status);
    pack_uint(&pack, outcome->flags);
    pack_uint(&pack, outcome->least);
    pack_uint(&pack, outcome->communicator);
    pack_uint(&pack, outcome->membership_epoch);
    pack_array(&pack, outcome->n_ranks);
    for (uint32_t i = 0; i < outcome->n_ranks; i++)
        pack_uint(&pack, vote->ranks[i]);
    journal_add_put(cluster, &key, &pack);
}

void
journal_erase_vote(struct cluster *cluster, const struct vote *vote)
{
    if (!journal_is_enabled(cluster) || vote->told == 0)
        return;

    const struct journal_record_key key = journal_vote_key(vote);

    journal_add_erase(cluster, &key);
}

void
journal_write_recovery_leases(struct cluster *cluster,
                              const struct job *job,
                              const uint8_t *n_grace_parts_passed,
                              size_t n_bytes)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_part_key(job, JOURNAL_LEASE_CHECK);
    struct pack pack = journal_value_begin(1);

    pack_bin(&pack, n_grace_parts_passed, n_bytes);
    journal_add_put(cluster, &key, &pack);
}

void
journal_erase_recovery_leases(struct cluster *cluster, const struct job *job)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_part_key(job, JOURNAL_LEASE_CHECK);

    journal_add_erase(cluster, &key);
}

/* Record the store's last revision, which a deletion raises too. */
static void
journal_write_revision(struct cluster *cluster, const struct job *job)
{
    const struct journal_record_key key =
        journal_part_key(job, JOURNAL_STORE_REVISION);
    struct pack pack = journal_value_begin(1);

    pack_uint(&pack, job->store.history.revision);
    journal_add_put(cluster, &key, &pack);
}

/* Return the time that the key has left; 0: unlimited. */
static uint64_t
entry_ttl_left_ns(const struct cluster *cluster,
                  const struct store_entry *entry)
{
    const uint64_t end_ns = entry->expiry.deadline_ns;

    if (!entry->expiry.place)
        return 0;
    return end_ns > cluster->now_ns ? end_ns - cluster->now_ns : 1;
}

void
journal_write_store_entry(struct cluster *cluster,
                          const struct store_entry *entry)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_numbered_key(entry->job, JOURNAL_STORE_ENTRY, entry->number);
    struct pack pack = journal_value_begin(4);

    pack_str(&pack, entry->key);
    pack_bin(&pack, entry->value, entry->n_bytes);
    pack_uint(&pack, entry->revision);
    pack_uint(&pack, entry_ttl_left_ns(cluster, entry));
    journal_add_put(cluster, &key, &pack);
    journal_write_revision(cluster, entry->job);
}

void
journal_erase_store_entry(struct cluster *cluster,
                          const struct store_entry *entry)
{
    if (!journal_is_enabled(cluster))
        return;

    const struct journal_record_key key =
        journal_numbered_key(entry->job, JOURNAL_STORE_ENTRY, entry->number);

    journal_add_erase(cluster, &key);
    journal_write_revision(cluster, entry->job);
}
