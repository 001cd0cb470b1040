/* tests/sim/cluster_model_store.c - the store's half of the model */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_model.h"

const char *const model_keys[MODEL_KEYS] = {"k/0", "k/1", "k/2",
                                            "m/0", "m/1", "m/2"};

static struct model_key *
key_change(struct model_job *job,
           unsigned int key,
           enum cluster_key_change_kind kind)
{
    job->revision++;
    job->key_changes[job->revision % MODEL_CHANGES].kind = kind;
    job->key_changes[job->revision % MODEL_CHANGES].key = key;
    job->keys[key].exists = kind == CLUSTER_KEY_SET;
    job->keys[key].revision = job->revision;
    return &job->keys[key];
}

/* Of those that are due, the first one; MODEL_KEYS: none. */
static unsigned int
key_due(const struct model *model, const struct model_job *job)
{
    unsigned int due = MODEL_KEYS;

    for (unsigned int key = 0; key < MODEL_KEYS; key++)
        if (job->keys[key].exists && job->keys[key].end_ns <= model->now_ns &&
            (due == MODEL_KEYS ||
             job->keys[key].end_ns < job->keys[due].end_ns))
            due = key;
    return due;
}

void
model_expire(struct model *model)
{
    for (int i = 0; i < MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];
        unsigned int key = key_due(model, job);

        while (key < MODEL_KEYS) {
            key_change(job, key, CLUSTER_KEY_EXPIRED);
            key = key_due(model, job);
        }
    }
}

static void
key_set(struct model *model,
        const struct model_ticket *ticket,
        const char *value)
{
    struct model_key *key =
        key_change(&model->jobs[ticket->job], ticket->keys[0], CLUSTER_KEY_SET);
    const uint64_t ttl_ms = ticket->event.write.ttl_ms;

    snprintf(key->value, sizeof(key->value), "%s", value);
    key->end_ns = ttl_ms ? model->now_ns + ttl_ms * 1000000 : UINT64_MAX;
}

static void
entry_check(const struct model *model,
            const struct model_key *key,
            const struct cluster_store_entry *entry)
{
    model_expect(model, key->exists == (entry->value != NULL),
                 "a key that should be there or not");
    if (!key->exists)
        return;
    model_expect(model,
                 entry->n_bytes == strlen(key->value) &&
                     memcmp(entry->value, key->value, entry->n_bytes) == 0,
                 "another value than was written last");
    model_expect(model, entry->revision == key->revision,
                 "another revision than the last");
}

static void
add_reply(struct model *model,
          const struct model_ticket *ticket,
          const struct cluster_reply *reply)
{
    const struct model_key *key =
        &model->jobs[ticket->job].keys[ticket->keys[0]];
    const uint64_t end_ns = key->end_ns;
    const bool keeps_end = key->exists && !ticket->event.write.ttl_ms;
    char value[24];

    snprintf(value, sizeof(value), "%lld",
             (key->exists ? strtoll(key->value, NULL, 10) : 0) +
                 (long long)ticket->event.write.delta);
    model_expect(model, reply->store.counter == strtoll(value, NULL, 10),
                 "another sum");
    key_set(model, ticket, value);
    if (keeps_end)
        model->jobs[ticket->job].keys[ticket->keys[0]].end_ns = end_ns;
}

static void
swap_reply(struct model *model,
           const struct model_ticket *ticket,
           const struct cluster_reply *reply)
{
    const struct cluster_store_write *write = &ticket->event.write;
    const struct model_key *key =
        &model->jobs[ticket->job].keys[ticket->keys[0]];
    const bool wins =
        write->expect == CLUSTER_EXPECT_ABSENT
            ? !key->exists
            : key->exists && strlen(key->value) == write->n_expected &&
                  memcmp(key->value, write->expected, write->n_expected) == 0;

    model_expect(model, (reply->status == HOOP_OK) == wins,
                 "a swap that should have won or lost");
    if (wins)
        key_set(model, ticket, ticket->value);
    else
        entry_check(model, key, &reply->store.entries[0]);
}

static void
delete_reply(struct model *model,
             const struct model_ticket *ticket,
             const struct cluster_reply *reply)
{
    struct model_job *job = &model->jobs[ticket->job];
    int64_t n_deleted = 0;

    for (int i = 0; i < 2; i++) {
        if (!job->keys[ticket->keys[i]].exists)
            continue;
        key_change(job, ticket->keys[i], CLUSTER_KEY_DELETED);
        n_deleted++;
    }
    model_expect(model, reply->store.counter == n_deleted, "not all deleted");
}

static void
list_reply(const struct model *model,
           const struct model_ticket *ticket,
           const struct cluster_store_reply *listed)
{
    const struct model_job *job = &model->jobs[ticket->job];
    const char *prefix = ticket->event.scan.prefix;
    size_t n_listed = 0;

    for (int key = 0; key < MODEL_KEYS; key++) {
        if (!job->keys[key].exists ||
            strncmp(model_keys[key], prefix, strlen(prefix)) != 0)
            continue;
        if (n_listed < listed->n_entries)
            model_expect(
                model,
                strcmp(listed->entries[n_listed].key, model_keys[key]) == 0,
                "a list out of order");
        n_listed++;
    }
    model_expect(model, n_listed == listed->n_entries + listed->n_more,
                 "a list that is not whole");
}

static void
watch_reply(struct model *model,
            const struct model_ticket *ticket,
            const struct cluster_key_changes *seen)
{
    const struct model_job *job = &model->jobs[ticket->job];
    const struct cluster_store_scan *scan = &ticket->event.scan;
    size_t n_seen = 0;

    for (uint64_t at = scan->since + 1; at <= seen->revision; at++) {
        const unsigned int key = job->key_changes[at % MODEL_CHANGES].key;

        if (strncmp(model_keys[key], scan->prefix, strlen(scan->prefix)) != 0)
            continue;
        model_expect(model,
                     n_seen < seen->n_items &&
                         seen->items[n_seen].revision == at &&
                         seen->items[n_seen].kind ==
                             job->key_changes[at % MODEL_CHANGES].kind &&
                         strcmp(seen->items[n_seen].key, model_keys[key]) == 0,
                     "a watch of keys missed a change");
        n_seen++;
    }
    model_expect(model, n_seen == seen->n_items, "a change too many");
    model->n_seen += n_seen;
}

static void
reads_check(const struct model *model,
            const struct model_ticket *ticket,
            const struct cluster_store_reply *read)
{
    const struct model_job *job = &model->jobs[ticket->job];

    for (size_t i = 0; i < read->n_entries; i++)
        entry_check(model, &job->keys[ticket->keys[i]], &read->entries[i]);
}

static void
refusal_check(const struct model *model,
              const struct model_ticket *ticket,
              const struct cluster_reply *reply)
{
    const bool is_over = model->now_ns >= ticket->event.deadline_ns;

    if (reply->status == HOOP_E_NOT_FOUND)
        model_expect(model, !model_job_exists(model, ticket->job),
                     "the job is there");
    else if (reply->status == HOOP_E_TIMEOUT)
        model_expect(model, is_over, "a deadline that has not come");
    else if (reply->status == HOOP_E_UNAVAILABLE)
        model_expect(model, model->is_drained, "not drained");
    else
        model_expect(model, false, "an unexpected failure");
}

void
model_store_reply(struct model *model,
                  const struct model_ticket *ticket,
                  const struct cluster_reply *reply)
{
    const enum cluster_event_kind kind = ticket->event.kind;

    if (reply->status != HOOP_OK && reply->status != HOOP_E_ABORTED) {
        refusal_check(model, ticket, reply);
        return;
    }
    model_expect(model,
                 kind == CLUSTER_STORE_WATCH ||
                     model_job_exists(model, ticket->job),
                 "a store without a job");
    model->n_store++;
    if (kind == CLUSTER_STORE_SET)
        key_set(model, ticket, ticket->value);
    if (kind == CLUSTER_STORE_ADD)
        add_reply(model, ticket, reply);
    if (kind == CLUSTER_STORE_SWAP)
        swap_reply(model, ticket, reply);
    if (kind == CLUSTER_STORE_GET || kind == CLUSTER_STORE_WAIT)
        reads_check(model, ticket, &reply->store);
    if (kind == CLUSTER_STORE_DELETE)
        delete_reply(model, ticket, reply);
    if (kind == CLUSTER_STORE_LIST)
        list_reply(model, ticket, &reply->store);
    if (kind == CLUSTER_STORE_WATCH)
        watch_reply(model, ticket, &reply->key_changes);
    else
        model_expect(model,
                     reply->store.revision == model->jobs[ticket->job].revision,
                     "another revision of the store");
}

static bool
key_change_waits(const struct model_job *job,
                 const struct cluster_store_scan *scan)
{
    for (uint64_t at = scan->since + 1; at <= job->revision; at++) {
        const unsigned int key = job->key_changes[at % MODEL_CHANGES].key;

        if (strncmp(model_keys[key], scan->prefix, strlen(scan->prefix)) == 0)
            return true;
    }
    return false;
}

bool
model_wait_is_over(const struct model *model, const struct model_ticket *ticket)
{
    const struct model_job *job = &model->jobs[ticket->job];
    const struct cluster_event *event = &ticket->event;

    if (event->kind == CLUSTER_WATCH)
        return event->watch.epoch == job->epoch &&
               event->watch.since < job->n_changes;
    if (event->kind == CLUSTER_STORE_WATCH)
        return key_change_waits(job, &event->scan);
    return event->kind == CLUSTER_STORE_WAIT &&
           job->keys[ticket->keys[0]].exists &&
           job->keys[ticket->keys[1]].exists;
}
