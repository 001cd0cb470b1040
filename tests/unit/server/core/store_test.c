/* tests/unit/server/core/store_test.c - bounds, bytes and the life of a key */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/job.h"
#include "core/state.h"
#include "core/token.h"
#include "fence.h"
#include "fixture.h"

static void
store_values_over_the_limits_are_refused(void **state)
{
    struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_STORE_SET};
    char *value = calloc(1, LIMIT_STORE_VALUE + 1);
    char key[32];
    uint64_t ticket = 0;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    event.write = (struct cluster_store_write){
        .key = "k", .value = value, .n_bytes = LIMIT_STORE_VALUE + 1};
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_EXHAUSTED, "value");

    event.write.key = key;
    event.write.n_bytes = LIMIT_STORE_VALUE;
    for (int i = 0; i < LIMIT_STORE_BYTES / LIMIT_STORE_VALUE; i++) {
        snprintf(key, sizeof(key), "%d", i);
        ticket = fixture_step(&f, event);
    }
    fixture_refused(&f, ticket, HOOP_E_EXHAUSTED, "over the limit");

    const uint64_t n_bytes = cluster_counters(f.cluster)->store_bytes;

    assert_true(n_bytes <= LIMIT_STORE_BYTES);
    fixture_set(&f, "0", "small");
    assert_int_equal(cluster_counters(f.cluster)->store_bytes,
                     n_bytes - LIMIT_STORE_VALUE + 5);
    fixture_deinit(&f);
    free(value);
}

static void
store_keys_over_the_limit_are_refused(void **state)
{
    struct fixture f;
    char key[32];

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < LIMIT_STORE_KEYS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        fixture_set(&f, key, "");
    }
    fixture_refused(&f, fixture_set(&f, "one more", ""), HOOP_E_EXHAUSTED,
                    "keys, the limit");
    assert_int_equal(fixture_reply(&f, fixture_set(&f, "0", "x"))->status,
                     HOOP_OK);
    fixture_deinit(&f);
}

static void
store_bad_keys_are_refused(void **state)
{
    struct fixture f;
    char key[LIMIT_STORE_KEY + 1] = {0};

    (void)state;
    memset(key, 'k', LIMIT_STORE_KEY);
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_refused(&f, fixture_set(&f, "", "v"), HOOP_E_INVALID, "key");
    fixture_refused(&f, fixture_set(&f, key, "v"), HOOP_E_INVALID, "key");
    key[LIMIT_STORE_KEY - 1] = 0;
    assert_int_equal(fixture_reply(&f, fixture_set(&f, key, "v"))->status,
                     HOOP_OK);
    fixture_deinit(&f);
}

static void
store_key_with_a_life_expires(void **state)
{
    struct fixture f;
    struct cluster_event event = {
        .kind = CLUSTER_STORE_SET,
        .write = {.key = "k", .value = "v", .n_bytes = 1, .ttl_ms = 500}};

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_step(&f, event);
    f.now_ns += FIXTURE_S / 2 - 1;
    uint64_t ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");

    assert_non_null(fixture_reply(&f, ticket)->store.entries[0].value);
    f.now_ns++;
    ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");
    assert_null(fixture_reply(&f, ticket)->store.entries[0].value);
    assert_int_equal(cluster_counters(f.cluster)->keys_expired, 1);
    assert_int_equal(cluster_counters(f.cluster)->store_bytes, 0);

    /* A life of centuries is for ever, a plain set ends the countdown. */
    event.write.ttl_ms = UINT64_MAX;
    fixture_step(&f, event);
    event.write.ttl_ms = 500;
    fixture_step(&f, event);
    fixture_set(&f, "k", "w");
    f.now_ns += FIXTURE_S;
    ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");
    assert_non_null(fixture_reply(&f, ticket)->store.entries[0].value);
    fixture_deinit(&f);
}

/*
 * What the accounts say is compared with what the allocator has given out in
 * the meantime, where it tells (glibc's own, not a sanitizer's).
 */

enum {
    JOBS = 200,
    MEMBERS = 4,
    GROUPS = 20,
    WATCHES = 30,
};

static uint64_t
charged(const struct fixture *f)
{
    return cluster_counters(f->cluster)->job_bytes;
}

/* By everybody in this process; 0: this allocator does not tell. */
static size_t
allocated(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* What one step answers is forgotten in the next. */
static void
forget_answers(struct fixture *f)
{
    fixture_tick(f);
    fixture_tick(f);
}

/* Each adds things of one kind to the job of that name, whose epoch it is. */
typedef void
add_fn(struct fixture *f, const char *job, uint64_t epoch);

static void
add_nothing(struct fixture *f, const char *job, uint64_t epoch)
{
    (void)f;
    (void)job;
    (void)epoch;
}

static void
add_groups(struct fixture *f, const char *job, uint64_t epoch)
{
    static const uint32_t ranks[] = {2, 0, 1};
    char key[32];

    for (int i = 0; i < GROUPS; i++) {
        snprintf(key, sizeof(key), "g%d", i);
        fixture_step(f, (struct cluster_event){
                            .kind = CLUSTER_GROUP_CREATE,
                            .job = job,
                            .group = {{epoch, 1}, key, ranks, 3},
                        });
    }
}

/* Communicators that form, one that waits, and a vote on one of them. */
static void
add_communicators(struct fixture *f, const char *job, uint64_t epoch)
{
    static const uint32_t ranks[] = {0, 1, 2, 3};
    uint64_t ticket = 0;

    for (uint64_t i = 0; i < GROUPS; i++) {
        for (uint64_t member = 1; member <= MEMBERS; member++)
            ticket = fixture_step(
                f, (struct cluster_event){
                       .kind = CLUSTER_GROUP_JOIN,
                       .job = job,
                       .group_slot = {.member = {epoch, member},
                                      .number = i + 1,
                                      .ranks = ranks,
                                      .n_ranks = i < GROUPS - 1 ? 4 : 0},
                   });
    }
    fixture_refused(f, ticket, HOOP_E_INVALID, "");
    for (uint64_t kind = 1; kind <= 3; kind++)
        fixture_step(f, (struct cluster_event){
                            .kind = CLUSTER_VOTE,
                            .job = job,
                            .vote = {.member = {epoch, 1},
                                     .communicator = kind,
                                     .kind = CLUSTER_VOTE_AGREE,
                                     .turn = 1},
                        });
}

static void
add_watches(struct fixture *f, const char *job, uint64_t epoch)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    (void)epoch;
    for (int i = 0; i < WATCHES; i++) {
        fixture_step(f, (struct cluster_event){
                            .kind = CLUSTER_STORE_WATCH,
                            .job = job,
                            .scan = {.prefix = "a prefix of some length"},
                        });
        fixture_step(f, (struct cluster_event){
                            .kind = CLUSTER_STORE_WAIT,
                            .job = job,
                            .keys = {.keys = keys, .n_keys = 8},
                        });
        fixture_step(f,
                     (struct cluster_event){
                         .kind = CLUSTER_WATCH,
                         .job = job,
                         .watch = {.since = 1, .question = CLUSTER_NO_QUESTION},
                     });
    }
}

static void
job_begin(struct fixture *f, const char *job, add_fn *add)
{
    uint64_t ticket = 0;

    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        struct cluster_event join = fixture_join_event(rank + 1, rank, MEMBERS);

        join.job = job;
        join.join.address = "a-host-with-a-name.of.some.length:12345";
        ticket = fixture_step(f, join);
    }
    add(f, job, fixture_reply(f, ticket)->world.epoch);
}

static void
job_end(struct fixture *f, const char *job)
{
    const uint64_t ticket = fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_JOB, .job = job});

    const uint64_t epoch = fixture_reply(f, ticket)->job.line.epoch;

    for (uint64_t member = 1; member <= MEMBERS; member++)
        fixture_step(f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                               .job = job,
                                               .member = {epoch, member}});
}

/* Of all that is allocated for jobs of this kind nearly nothing is not charged,
 * and nothing stays charged. */
static void
assert_is_charged(add_fn *add)
{
    struct fixture f;
    char job[32];

    fixture_init(&f, &(struct cluster_options){.lease_ms = 3600000});
    /* What grows once: the timer heap, a table of the cluster's own. */
    for (int i = 0; i < JOBS; i++) {
        snprintf(job, sizeof(job), "first%d", i);
        job_begin(&f, job, add);
    }
    for (int i = 0; i < JOBS; i++) {
        snprintf(job, sizeof(job), "first%d", i);
        job_end(&f, job);
    }
    forget_answers(&f);
    assert_int_equal(charged(&f), 0);

    const size_t before = allocated();
    for (int i = 0; i < JOBS; i++) {
        snprintf(job, sizeof(job), "job%d", i);
        job_begin(&f, job, add);
    }
    forget_answers(&f);
    const size_t n_bytes = allocated() - before;

    assert_true(charged(&f) > JOBS * sizeof(void *));
    if (before > 0) {
        print_message("%zu bytes are allocated, %llu charged\n", n_bytes,
                      (unsigned long long)charged(&f));
        assert_true(charged(&f) <= n_bytes + n_bytes / 10);
        assert_true(charged(&f) >= n_bytes - n_bytes / 10);
    }
    for (int i = 0; i < JOBS; i++) {
        snprintf(job, sizeof(job), "job%d", i);
        job_end(&f, job);
    }
    forget_answers(&f);
    assert_int_equal(charged(&f), 0);
    fixture_deinit(&f);
}

static void
members_are_charged(void **state)
{
    (void)state;
    assert_is_charged(add_nothing);
}

static void
groups_are_charged(void **state)
{
    (void)state;
    assert_is_charged(add_groups);
}

static void
communicators_and_votes_are_charged(void **state)
{
    (void)state;
    assert_is_charged(add_communicators);
}

static void
parked_requests_are_charged(void **state)
{
    (void)state;
    assert_is_charged(add_watches);
}

/* As if all had been taken that may be, but so much. */
static void
leave_room(struct memory_account *account, size_t n_bytes)
{
    account->n_bytes =
        (account->all ? LIMIT_JOB_BYTES : LIMIT_JOBS_BYTES) - n_bytes;
}

/* A request of each kind that allocates, of a world of two. */
static void
assert_all_refused(struct fixture *f, uint64_t epoch, const char *words)
{
    static const uint32_t ranks[] = {0, 1};
    const struct cluster_event events[] = {
        {.kind = CLUSTER_GROUP_CREATE, .group = {{epoch, 1}, "g", ranks, 2}},
        {.kind = CLUSTER_GROUP_JOIN,
         .group_slot =
             {.member = {epoch, 1}, .number = 1, .ranks = ranks, .n_ranks = 2}},
        {.kind = CLUSTER_VOTE,
         .vote = {.member = {epoch, 1}, .kind = CLUSTER_VOTE_AGREE, .turn = 1}},
        {.kind = CLUSTER_WATCH,
         .watch = {.since = 1, .question = CLUSTER_NO_QUESTION}},
        {.kind = CLUSTER_STORE_WATCH, .scan = {.prefix = "p"}},
    };
    const uint64_t n_charged = charged(f);

    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        fixture_refused(f, fixture_step(f, events[i]), HOOP_E_EXHAUSTED, words);
        fixture_tick(f);
        assert_int_equal(charged(f), n_charged);
    }
}

static void
full_accounts_refuse_and_stay_as_they_are(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    struct memory_account *all = &f.cluster->memory;
    struct memory_account *job = &f.cluster->jobs->memory;
    const size_t n_bytes = all->n_bytes;

    leave_room(all, 200);
    fixture_tick(&f);
    assert_all_refused(&f, epoch, "all jobs take");
    struct cluster_event join = fixture_join_event(9, 0, 2);
    join.job = "another";
    fixture_refused(&f, fixture_step(&f, join), HOOP_E_EXHAUSTED,
                    "all jobs take");
    assert_int_equal(cluster_counters(f.cluster)->jobs, 1);
    all->n_bytes = n_bytes;

    leave_room(job, 200);
    fixture_tick(&f);
    assert_all_refused(&f, epoch, "the job take");
    job->n_bytes = n_bytes;

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    forget_answers(&f);
    assert_int_equal(charged(&f), 0);
    fixture_deinit(&f);
}

static void
token_only_the_same_text_matches(void **state)
{
    static const char *const texts[] = {"", "a", "b", "ab", "aB", "abc"};
    struct token token;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            assert_int_equal(token_derive_roles(&token, texts[i]), HOOP_OK);
            assert_int_equal(token_find_role(&token, texts[j]),
                             i == j ? ROLE_WORKER : ROLE_ANYBODY);
        }
}

static void
token_null_is_empty(void **state)
{
    struct token token;

    (void)state;
    assert_int_equal(token_derive_roles(&token, NULL), HOOP_OK);
    assert_int_equal(token_find_role(&token, ""), ROLE_WORKER);
    assert_int_equal(token_find_role(&token, NULL), ROLE_WORKER);
    assert_int_equal(token_find_role(&token, "x"), ROLE_ANYBODY);
}

static void
token_too_long_is_refused_and_never_matches(void **state)
{
    struct token token;
    char text[LIMIT_TOKEN + 1] = {0};

    (void)state;
    memset(text, 'x', LIMIT_TOKEN - 1);
    assert_int_equal(token_derive_roles(&token, text), HOOP_OK);
    assert_int_equal(token_find_role(&token, text), ROLE_WORKER);
    text[LIMIT_TOKEN - 1] = 'x';
    assert_int_equal(token_find_role(&token, text), ROLE_ANYBODY);
    assert_int_equal(token_derive_roles(&token, text), HOOP_E_INVALID);
}

static bool
tokens_compare(const void *left, const void *right)
{
    return token_find_role(left, right) == ROLE_WORKER;
}

/* All of a token is read, however soon it differs. */
static void
token_matches_reads_on_where_they_differ(void **state)
{
    struct token whole;
    /* But for its last byte. */
    struct token *part = fence_before(sizeof(*part) - 1);

    (void)state;
    assert_int_equal(token_derive_roles(&whole, "right"), HOOP_OK);
    memcpy(part, &whole, sizeof(*part) - 1);
    assert_true(fence_stops(tokens_compare, part, "wrong"));
    assert_false(fence_stops(tokens_compare, &whole, "wrong"));
}

static void
token_of_a_lesser_role_is_known_and_no_secret(void **state)
{
    struct token token;
    struct token other;
    char text[LIMIT_TOKEN];

    (void)state;
    assert_int_equal(token_derive_roles(&token, "secret"), HOOP_OK);
    for (enum role role = ROLE_OPERATOR; role < ROLE_ANYBODY; role++) {
        assert_int_equal(role_derive_token(role, "secret", text), HOOP_OK);
        assert_int_equal(token_find_role(&token, text), role);
        assert_int_equal(token_derive_roles(&other, text), HOOP_E_DENIED);
        assert_int_equal(role_derive_token(role, "Secret", text), HOOP_OK);
        assert_int_equal(token_find_role(&token, text), ROLE_ANYBODY);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_values_over_the_limits_are_refused),
        cmocka_unit_test(store_keys_over_the_limit_are_refused),
        cmocka_unit_test(store_bad_keys_are_refused),
        cmocka_unit_test(store_key_with_a_life_expires),
        cmocka_unit_test(members_are_charged),
        cmocka_unit_test(groups_are_charged),
        cmocka_unit_test(communicators_and_votes_are_charged),
        cmocka_unit_test(parked_requests_are_charged),
        cmocka_unit_test(full_accounts_refuse_and_stay_as_they_are),
        cmocka_unit_test(token_only_the_same_text_matches),
        cmocka_unit_test(token_null_is_empty),
        cmocka_unit_test(token_too_long_is_refused_and_never_matches),
        cmocka_unit_test(token_matches_reads_on_where_they_differ),
        cmocka_unit_test(token_of_a_lesser_role_is_known_and_no_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
