/*
 * tests/unit/server/core/memory_test.c - what is allocated for jobs is charged
 *
 * What the accounts say is compared with what the allocator has given out in
 * the meantime, where it tells (glibc's own, not a sanitizer's).
 */

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/job.h"
#include "core/member.h"
#include "core/status_query.h"
#include "fixture.h"

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
    CLEANUP(fixture_deinit) struct fixture f;
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
}

static void
members_are_charged(void **state)
{
    assert_is_charged(add_nothing);
}

static void
groups_are_charged(void **state)
{
    assert_is_charged(add_groups);
}

static void
communicators_and_votes_are_charged(void **state)
{
    assert_is_charged(add_communicators);
}

static void
parked_requests_are_charged(void **state)
{
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
    CLEANUP(fixture_deinit) struct fixture f;

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
}

static void
text_buffer_parts_are_joined(void **state)
{
    struct text_buffer text_buffer = {0};

    text_buffer_append(&text_buffer, "%d of %d", 3, 4);
    text_buffer_append(&text_buffer, "; %s", "rank 3");
    assert_string_equal(text_buffer.text, "3 of 4; rank 3");
}

static void
text_buffer_too_long_is_cut_and_says_so(void **state)
{
    struct text_buffer text_buffer = {0};

    for (int i = 0; i < 500; i++)
        text_buffer_append(&text_buffer, "part %d, ", i);
    assert_int_equal(strlen(text_buffer.text), LIMIT_ERROR_TEXT - 1);
    assert_string_equal(text_buffer.text + LIMIT_ERROR_TEXT - 4, "...");
}

enum {
    N_ENTRIES = 200,
};

static struct timer_entry *
first_by_search(struct timer_entry *entries)
{
    struct timer_entry *first = NULL;

    for (int i = 0; i < N_ENTRIES; i++)
        if (entries[i].place &&
            (!first || entries[i].deadline_ns < first->deadline_ns))
            first = &entries[i];
    return first;
}

static void
timer_heap_random_moves_keep_the_soonest_first(void **state)
{
    struct timer_heap timer_heap = {0};
    struct timer_entry entries[N_ENTRIES];
    uint32_t random = 1;

    memset(entries, 0, sizeof(entries));
    for (int turn = 0; turn < 20000; turn++) {
        struct timer_entry *entry = &entries[random % N_ENTRIES];

        random = random * 1664525 + 1013904223;
        if (random >> 30)
            timer_heap_set(&timer_heap, entry, random >> 8);
        else
            timer_heap_remove(&timer_heap, entry);

        const struct timer_entry *first = first_by_search(entries);

        assert_int_equal(!first, !timer_heap_first(&timer_heap));
        if (first)
            assert_int_equal(timer_heap_first(&timer_heap)->deadline_ns,
                             first->deadline_ns);
    }
    timer_heap_deinit(&timer_heap);
}

static void
timer_heap_never_takes_off(void **state)
{
    struct timer_heap timer_heap = {0};
    struct timer_entry entry = {0};

    timer_heap_set(&timer_heap, &entry, 5);
    assert_ptr_equal(timer_heap_first(&timer_heap), &entry);
    timer_heap_set(&timer_heap, &entry, UINT64_MAX);
    assert_null(timer_heap_first(&timer_heap));
    timer_heap_remove(&timer_heap, &entry);
    assert_int_equal(entry.place, 0);
    timer_heap_deinit(&timer_heap);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_charged),
        cmocka_unit_test(groups_are_charged),
        cmocka_unit_test(communicators_and_votes_are_charged),
        cmocka_unit_test(parked_requests_are_charged),
        cmocka_unit_test(full_accounts_refuse_and_stay_as_they_are),
        cmocka_unit_test(text_buffer_parts_are_joined),
        cmocka_unit_test(text_buffer_too_long_is_cut_and_says_so),
        cmocka_unit_test(timer_heap_random_moves_keep_the_soonest_first),
        cmocka_unit_test(timer_heap_never_takes_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
