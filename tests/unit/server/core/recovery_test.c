/* tests/unit/server/core/recovery_test.c - what begins anew, and damage */

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/evidence.h"
#include "base/identity.h"
#include "core/journal.h"
#include "record_store.h"

static const uint32_t pair[] = {0, 1};

static void
lease_after_revival_begins_anew(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_begin(&fixture);
    fixture_world(&fixture, 2);
    record_store_apply(&record_store, &fixture);
    fixture.now_ns += 3600 * FIXTURE_S;
    record_store_restart(&record_store, &fixture);
    fixture_tick(&fixture);
    assert_null(fixture_notice(&fixture, CLUSTER_NOTICE_LOST));
    for (int i = 0; i < 11; i++) {
        fixture.now_ns += FIXTURE_S;
        fixture_tick(&fixture);
        assert_null(fixture_notice(&fixture, CLUSTER_NOTICE_LOST));
    }
    fixture.now_ns += FIXTURE_S;
    fixture_tick(&fixture);
    assert_non_null(fixture_notice(&fixture, CLUSTER_NOTICE_LOST));
    record_store_deinit(&record_store);
}

/* Return how many members are named of job "a", which ends when rank 1 leaves. */
static size_t
ended_members_count(struct fixture *fixture, uint64_t epoch)
{
    fixture_member(fixture, CLUSTER_LEAVE, epoch, 2);
    return fixture_reply(fixture, fixture_step(fixture,
                                               (struct cluster_event){
                                                   .kind = CLUSTER_WHY}))
        ->job.n_members;
}

/* How the last call of a rank ended that left before is not known any more, so
 * nobody is said to have left well. */
static void
ranks_that_left_before_a_revival_are_not_told_to_have_left_well(void **state)
{
    for (unsigned n_restarts = 0; n_restarts < 2; n_restarts++) {
        CLEANUP(fixture_deinit) struct fixture fixture;
        struct record_store record_store = {0};

        record_store_begin(&fixture);
        const uint64_t epoch = fixture_world(&fixture, 2);

        record_store_apply(&record_store, &fixture);
        fixture_member(&fixture, CLUSTER_LEAVE, epoch, 1);
        record_store_apply(&record_store, &fixture);
        if (n_restarts > 0)
            record_store_restart(&record_store, &fixture);
        assert_int_equal(ended_members_count(&fixture, epoch),
                         n_restarts > 0 ? 0 : 2);
        record_store_deinit(&record_store);
    }
}

/* Its keys were acknowledged, its joins were not. */
static void
forming_job_waits_for_its_workers(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_begin(&fixture);
    fixture_join(&fixture, 1, 0, 2);
    record_store_apply(&record_store, &fixture);
    fixture_set(&fixture, "k", "v");
    record_store_apply(&record_store, &fixture);

    record_store_restart(&record_store, &fixture);
    fixture_world(&fixture, 2);
    const uint64_t ticket = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    assert_int_equal(fixture_reply(&fixture, ticket)->store.entries[0].n_bytes,
                     1);

    /* Nobody comes: it ends. */
    record_store_restart(&record_store, &fixture);
    fixture.now_ns += 13 * FIXTURE_S;
    fixture_tick(&fixture);
    const uint64_t late = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    fixture_refused(&fixture, late, HOOP_E_NOT_FOUND, "no job");
    record_store_deinit(&record_store);
}

static void
key_has_its_whole_life_anew(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_begin(&fixture);
    fixture_world(&fixture, 1);
    record_store_apply(&record_store, &fixture);
    fixture_step(&fixture, (struct cluster_event){
                               .kind = CLUSTER_STORE_SET,
                               .write = {.key = "k", .ttl_ms = 5000},
                           });
    record_store_apply(&record_store, &fixture);
    /* The clock that people set is 80 s further after each restart. */
    for (uint64_t i = 1; i <= 3; i++) {
        record_store.wall_ahead_ns = i * 80 * FIXTURE_S;
        record_store_restart(&record_store, &fixture);
        fixture.now_ns += 5 * FIXTURE_S - 1;
        fixture_tick(&fixture);
        const uint64_t held = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
        assert_true(fixture_reply(&fixture, held)->store.entries[0].revision);
    }
    fixture.now_ns += 1;
    fixture_tick(&fixture);
    const uint64_t ticket = fixture_key(&fixture, CLUSTER_STORE_GET, "k");
    assert_false(fixture_reply(&fixture, ticket)->store.entries[0].revision);
    record_store_deinit(&record_store);
}

static void
watch_of_keys_behind_a_revival_is_told_to_list_again(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};
    struct cluster_event watch = {
        .kind = CLUSTER_STORE_WATCH,
        .scan = {.prefix = ""},
    };

    record_store_begin(&fixture);
    fixture_world(&fixture, 1);
    record_store_apply(&record_store, &fixture);
    fixture_set(&fixture, "k", "v");
    record_store_apply(&record_store, &fixture);
    record_store_restart(&record_store, &fixture);
    uint64_t ticket = fixture_step(&fixture, watch);
    fixture_refused(&fixture, ticket, HOOP_E_RANGE, "");
    watch.scan.since = 1;
    ticket = fixture_step(&fixture, watch);
    assert_null(fixture_find(&fixture, ticket));
    fixture_set(&fixture, "k", "w");
    assert_int_equal(fixture_reply(&fixture, ticket)->key_changes.n_items, 1);
    record_store_deinit(&record_store);
}

/* A cluster with something of every kind. */
static void
record_store_fill(struct fixture *fixture, struct record_store *record_store)
{
    record_store_begin(fixture);
    const uint64_t epoch = fixture_world(fixture, 3);
    record_store_apply(record_store, fixture);
    fixture_set(fixture, "k", "v");
    record_store_apply(record_store, fixture);
    for (uint64_t i = 1; i <= 2; i++) {
        fixture_step(fixture, (struct cluster_event){
                                  .kind = CLUSTER_GROUP_JOIN,
                                  .group_slot = {.member = {epoch, i},
                                                 .number = 7,
                                                 .ranks = pair,
                                                 .n_ranks = 2},
                              });
        record_store_apply(record_store, fixture);
    }
    fixture_member(fixture, CLUSTER_LEAVE, epoch, 1);
    record_store_apply(record_store, fixture);
}

static enum hoop_status
record_store_try(const struct record_store *record_store, uint64_t now_ns)
{
    const struct cluster_options options = record_store_options(now_ns);
    struct cluster *cluster = NULL;

    assert_ok(cluster_create(&options, &cluster));
    const enum hoop_status status = record_store_recover(record_store, cluster);
    cluster_destroy(cluster);
    return status;
}

static void
record_missing_or_damaged_is_found_or_harmless(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct record_store record_store = {0};

    record_store_fill(&fixture, &record_store);
    assert_ok(record_store_try(&record_store, fixture.now_ns));
    for (size_t i = 0; i < record_store.n_rows; i++) {
        const struct record_store_row *row = &record_store.rows[i];

        for (size_t at = 0; at < row->n_value_bytes; at++) {
            const uint8_t former = row->value[at];

            for (unsigned int byte = 0; byte < 256; byte += 5) {
                row->value[at] = (uint8_t)(former ^ byte);
                (void)!record_store_try(&record_store, fixture.now_ns);
            }
            row->value[at] = former;
        }
    }
    /* The members, the last change or the head of a job cannot be missing. */
    for (size_t i = 0; i < record_store.n_rows; i++) {
        struct record_store less = {0};

        for (size_t j = 0; j < record_store.n_rows; j++) {
            const struct cluster_journal_record record = {
                .key = record_store.rows[j].key,
                .n_key_bytes = record_store.rows[j].n_key_bytes,
                .value = record_store.rows[j].value,
                .n_value_bytes = record_store.rows[j].n_value_bytes,
            };

            if (i != j)
                record_store_put(&less, &record);
        }
        const uint8_t *key = record_store.rows[i].key;
        const bool is_vital =
            key[0] == JOURNAL_CLUSTER ||
            (key[0] == JOURNAL_JOB &&
             (key[9] == JOURNAL_JOB_HEADER ||
              key[9] == JOURNAL_STORE_REVISION || key[9] == JOURNAL_MEMBER ||
              key[9] == JOURNAL_MEMBERSHIP_CHANGE));
        if (is_vital)
            assert_int_equal(record_store_try(&less, fixture.now_ns),
                             HOOP_E_DATA_LOSS);
        record_store_deinit(&less);
    }
    record_store_deinit(&record_store);
}

static void
record_of_another_version_says_so(void **state)
{
    static const uint8_t key[] = {JOURNAL_CLUSTER};
    static const uint8_t value[] = {0x94, JOURNAL_VERSION + 1, 0, 0, 0};
    struct record_store record_store = {0};

    record_store_put(&record_store, &(struct cluster_journal_record){
                                        .key = key,
                                        .n_key_bytes = sizeof(key),
                                        .value = value,
                                        .n_value_bytes = sizeof(value)});
    assert_int_equal(record_store_try(&record_store, FIXTURE_S),
                     HOOP_E_PRECONDITION);
    record_store_deinit(&record_store);
}

/*
 * By chance: two clusters are told the same; one dies now and then and is
 * made again from its records. What both answer must not differ.
 */

enum {
    WORKERS = 3,
    STEPS = 1500,
    ANSWER = 4096,
};

static const uint32_t two_workers[] = {0, 1};

/* A cluster that may die, its disk, and one that never does. */
struct twins {
    struct fixture mortal;
    struct fixture immortal;
    struct record_store record_store;
    uint64_t chance;
};

static uint64_t
drawn(struct twins *twins, uint64_t n)
{
    twins->chance = twins->chance * 6364136223846793005U + 1442695040888963407U;
    return (twins->chance >> 33) % n;
}

struct answer {
    char text[ANSWER];
    size_t n_bytes;
};

static void __attribute__((format(printf, 2, 3)))
answer_add(struct answer *answer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(answer->text + answer->n_bytes,
                            ANSWER - answer->n_bytes, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && answer->n_bytes + (size_t)n < ANSWER);
    answer->n_bytes += (size_t)n;
}

static void
store_write(struct answer *answer, const struct cluster_store_reply *store)
{
    answer_add(answer, " revision %llu counter %lld more %u",
               (unsigned long long)store->revision, (long long)store->counter,
               store->n_more);
    for (size_t i = 0; i < store->n_entries; i++)
        answer_add(answer, " %s=%.*s@%llu", store->entries[i].key,
                   (int)store->entries[i].n_bytes,
                   store->entries[i].value
                       ? (const char *)store->entries[i].value
                       : "",
                   (unsigned long long)store->entries[i].revision);
}

static void
groups_write(struct answer *answer, const struct cluster_groups *groups)
{
    for (size_t i = 0; i < groups->n_items; i++)
        answer_add(answer, " %s:%llu:%u/%u", groups->items[i].key,
                   (unsigned long long)groups->items[i].communicator,
                   groups->items[i].n_joined, groups->items[i].n_ranks);
}

static void
changes_write(struct answer *answer,
              const struct cluster_membership_changes *changes)
{
    for (size_t i = 0; i < changes->n_items; i++) {
        const struct cluster_membership_change *change = &changes->items[i];

        answer_add(
            answer, " %d%s rank %u of %016llx epoch %llu at %llu: %s %s",
            (int)change->kind, change->has_reported_own_failure ? "!" : "",
            change->rank, (unsigned long long)change->incarnation,
            (unsigned long long)change->membership_epoch,
            (unsigned long long)change->when_ns, change->host, change->reason);
    }
}

static void
lines_write(struct answer *answer, const struct cluster_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n_items; i++)
        answer_add(answer, " %s %d epoch %llu size %u %u/%u/%u age %llu",
                   jobs->items[i].name, (int)jobs->items[i].state,
                   (unsigned long long)jobs->items[i].epoch,
                   jobs->items[i].size, jobs->items[i].n_members,
                   jobs->items[i].n_lost, jobs->items[i].n_left,
                   (unsigned long long)jobs->items[i].age_ns);
}

static void
world_write(struct answer *answer, const struct cluster_join_result *world)
{
    answer_add(answer, " rank %u epoch %llu revision %llu seed %llu",
               world->rank, (unsigned long long)world->epoch,
               (unsigned long long)world->revision,
               (unsigned long long)world->seed);
    for (uint32_t i = 0; i < world->size; i++)
        answer_add(answer, " %s:%u@%s", world->roster[i].host,
                   world->roster[i].pid, world->roster[i].address);
}

static void
reply_write(struct answer *answer, const struct cluster_reply *reply)
{
    answer_add(answer, "%d %d %s", (int)reply->status, (int)reply->kind,
               reply->text);
    if (reply->kind == CLUSTER_REPLY_STORE)
        store_write(answer, &reply->store);
    if (reply->kind == CLUSTER_REPLY_GROUPS)
        groups_write(answer, &reply->groups);
    if (reply->kind == CLUSTER_REPLY_CHANGES)
        changes_write(answer, &reply->changes);
    if (reply->kind == CLUSTER_REPLY_JOBS)
        lines_write(answer, &reply->jobs);
    if (reply->kind == CLUSTER_REPLY_WORLD)
        world_write(answer, &reply->world);
    if (reply->kind == CLUSTER_REPLY_GROUP_SLOT)
        answer_add(answer, " communicator %llu",
                   (unsigned long long)reply->group_slot.communicator);
    if (reply->kind == CLUSTER_REPLY_LEASE)
        answer_add(answer, " epoch %llu",
                   (unsigned long long)reply->lease.membership_epoch);
}

static struct answer
answers(const struct fixture *fixture)
{
    struct answer answer = {0};

    for (size_t i = 0; i < fixture->actions.n_items; i++) {
        if (fixture->actions.items[i].kind == CLUSTER_REPLY)
            reply_write(&answer, &fixture->actions.items[i].reply);
    }
    return answer;
}

/* Tell both the same, and compare. */
static void
twins_step(struct twins *twins, const struct cluster_event *event)
{
    twins->mortal.now_ns += 1000000;
    twins->immortal.now_ns = twins->mortal.now_ns;
    fixture_step(&twins->mortal, *event);
    fixture_step(&twins->immortal, *event);
    record_store_apply(&twins->record_store, &twins->mortal);

    const struct answer one = answers(&twins->mortal);
    const struct answer other = answers(&twins->immortal);

    assert_string_equal(one.text, other.text);
}

static void
twins_begin(struct twins *twins, uint64_t seed)
{
    *twins = (struct twins){.chance = seed};
    record_store_begin(&twins->mortal);
    record_store_begin(&twins->immortal);
}

static void
twins_end(struct twins *twins)
{
    fixture_deinit(&twins->mortal);
    fixture_deinit(&twins->immortal);
    record_store_deinit(&twins->record_store);
}

/* A world, unless there is one. Nobody dies in between. */
static void
twins_join(struct twins *twins, const char *job, uint64_t life)
{
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        struct cluster_event event =
            fixture_join_event(rank + 1, rank, WORKERS);

        event.job = job;
        event.join.incarnation += 100 * life;
        twins_step(twins, &event);
    }
}

static void
twins_gather(struct twins *twins, struct cluster_event event)
{
    const uint64_t first = event.group_slot.member.incarnation;

    event.kind = CLUSTER_GROUP_JOIN;
    event.group_slot.ranks = two_workers;
    event.group_slot.n_ranks = COUNT_OF(two_workers);
    for (uint64_t i = 0; i < COUNT_OF(two_workers); i++) {
        event.group_slot.member.incarnation = first + i;
        twins_step(twins, &event);
    }
}

/* A life of a job "a" or "b": all members have incarnations from it. */
struct life {
    const char *job;
    uint64_t number;
    uint64_t epoch;
};

static void
life_begin(struct twins *twins, struct life *life)
{
    life->number++;
    twins_join(twins, life->job, life->number);
    life->epoch = 0;
    for (size_t i = 0; i < twins->mortal.actions.n_items; i++) {
        const struct cluster_action *action = &twins->mortal.actions.items[i];

        if (action->kind == CLUSTER_REPLY &&
            action->reply.kind == CLUSTER_REPLY_WORLD)
            life->epoch = action->reply.world.epoch;
    }
}

static void
life_write(struct twins *twins, struct cluster_event event)
{
    static const char *const keys[] = {"one", "two", "three", "four"};
    const char *key = keys[drawn(twins, COUNT_OF(keys))];
    const uint64_t what = drawn(twins, 5);

    event.write.key = key;
    event.write.value = "some value";
    event.write.n_bytes = drawn(twins, 11);
    event.kind = CLUSTER_STORE_SET;
    /* It begins anew with each life of the coordinator: neither twin sees
     * its end, or they would differ. */
    if (what == 1)
        event.write.ttl_ms = 3600000 + drawn(twins, 100);
    if (what == 2)
        event = (struct cluster_event){
            .kind = CLUSTER_STORE_DELETE, .job = event.job, .keys = {&key, 1}};
    if (what >= 3)
        event = (struct cluster_event){
            .kind = CLUSTER_STORE_ADD,
            .job = event.job,
            .write = {.key = "counter", .delta = (int64_t)drawn(twins, 9)}};
    twins_step(twins, &event);
}

static void
life_group(struct twins *twins,
           const struct life *life,
           struct cluster_event event)
{
    static const char *const names[] = {"red", "green", "blue"};
    const uint64_t what = drawn(twins, 3);
    const uint64_t number = drawn(twins, 40);

    event.group_slot.member = (struct cluster_member_id){
        life->epoch, 100 * life->number + 1 + (what == 2 ? number % 2 : 0)};
    event.group_slot.number = number;
    if (what == 0) {
        event.kind = CLUSTER_GROUP_CREATE;
        event.group = (struct cluster_group_call){
            .creator = {life->epoch, 100 * life->number + 1},
            .key = names[number % COUNT_OF(names)],
            .ranks = two_workers,
            .n_ranks = COUNT_OF(two_workers),
        };
        twins_step(twins, &event);
    }
    if (what == 1)
        twins_gather(twins, event);
    if (what == 2) {
        event.kind = CLUSTER_GROUP_LEAVE;
        event.group_slot.numbers = &number;
        event.group_slot.n_numbers = 1;
        twins_step(twins, &event);
    }
}

static void
life_member(struct twins *twins,
            const struct life *life,
            struct cluster_event event)
{
    const uint64_t rank = drawn(twins, WORKERS);
    const uint64_t what = drawn(twins, 20);

    event.kind = CLUSTER_RENEW;
    event.member =
        (struct cluster_member_id){life->epoch, 100 * life->number + 1 + rank};
    if (what == 0)
        event.kind = CLUSTER_LEAVE;
    if (what == 1) {
        event.kind = CLUSTER_REPORT;
        event.report = (struct cluster_failure_report){
            .reporter = {life->epoch, 100 * life->number + 1},
            .rank = (uint32_t)rank,
            .identity = identity_of_incarnation(100 * life->number + 1 + rank),
            .reason = "connection reset",
            .evidence = drawn(twins, 2) ? EVIDENCE_GIVEN_UP : EVIDENCE_TOLD,
        };
    }
    twins_step(twins, &event);
}

/* What must be the same of a job, whatever happened to it. */
static void
life_ask(struct twins *twins, struct cluster_event event)
{
    static const char *const keys[] = {"one", "two", "three", "four",
                                       "counter"};
    struct cluster_event question = event;

    question.kind = CLUSTER_JOBS;
    twins_step(twins, &question);
    question = event;
    question.kind = CLUSTER_GROUP_LIST;
    twins_step(twins, &question);
    question = event;
    question.kind = CLUSTER_STORE_GET;
    question.keys = (struct cluster_store_keys){keys, COUNT_OF(keys)};
    twins_step(twins, &question);
    question = event;
    question.kind = CLUSTER_WATCH;
    question.deadline_ns = twins->mortal.now_ns + 2000000;
    twins_step(twins, &question);
}

static void
life_step(struct twins *twins, struct life *life)
{
    const struct cluster_event event = {.job = life->job};

    switch (drawn(twins, 8)) {
    case 0:
        if (drawn(twins, 4) == 0)
            life_begin(twins, life);
        break;
    case 1:
        life_member(twins, life, event);
        break;
    case 2:
    case 3:
        life_group(twins, life, event);
        break;
    case 4:
        life_ask(twins, event);
        break;
    default:
        life_write(twins, event);
        break;
    }
    if (drawn(twins, 10) == 0)
        record_store_restart(&twins->record_store, &twins->mortal);
}

static void
cluster_revived_at_any_time_answers_the_same(void **state)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct twins twins;
        struct life lives[] = {{.job = "a"}, {.job = "b"}};

        print_message("seed %llu\n", (unsigned long long)seed);
        twins_begin(&twins, seed);
        for (int step = 0; step < STEPS; step++)
            life_step(&twins, &lives[drawn(&twins, COUNT_OF(lives))]);
        twins_end(&twins);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lease_after_revival_begins_anew),
        cmocka_unit_test(
            ranks_that_left_before_a_revival_are_not_told_to_have_left_well),
        cmocka_unit_test(forming_job_waits_for_its_workers),
        cmocka_unit_test(key_has_its_whole_life_anew),
        cmocka_unit_test(watch_of_keys_behind_a_revival_is_told_to_list_again),
        cmocka_unit_test(record_missing_or_damaged_is_found_or_harmless),
        cmocka_unit_test(record_of_another_version_says_so),
        cmocka_unit_test(cluster_revived_at_any_time_answers_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
