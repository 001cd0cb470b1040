/* tests/unit/server/core/vote_test.c - survivors decide together */

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/limits.h"
#include "record_store.h"

/* Worker n is rank n - 1, as fixture_world() made them. */
static struct cluster_event
call(uint64_t epoch, uint64_t worker, struct cluster_vote_call said)
{
    said.member = (struct cluster_member_id){epoch, worker};
    return (struct cluster_event){
        .kind = CLUSTER_VOTE, .client = worker, .vote = said};
}

static uint64_t
agree(struct fixture *f, uint64_t epoch, uint64_t worker, uint64_t flags)
{
    return fixture_step(
        f, call(epoch, worker,
                (struct cluster_vote_call){.kind = CLUSTER_VOTE_AGREE,
                                           .turn = 1,
                                           .flags = flags,
                                           .least = 10 * worker}));
}

static uint64_t
shrink(struct fixture *f, uint64_t epoch, uint64_t worker, uint64_t turn)
{
    return fixture_step(
        f, call(epoch, worker,
                (struct cluster_vote_call){.kind = CLUSTER_VOTE_SHRINK,
                                           .turn = turn,
                                           .number = 7 + turn}));
}

static void
leave(struct fixture *f, uint64_t epoch, uint64_t worker, uint64_t number)
{
    fixture_step(f, (struct cluster_event){
                        .kind = CLUSTER_GROUP_LEAVE,
                        .group_slot = {.member = {epoch, worker},
                                       .numbers = &number,
                                       .n_numbers = 1},
                    });
}

static uint64_t
report(struct fixture *f, uint64_t epoch, uint64_t worker, uint32_t rank)
{
    return fixture_step(
        f, (struct cluster_event){
               .kind = CLUSTER_REPORT,
               .report = {.reporter = {epoch, worker},
                          .rank = rank,
                          .identity = identity_of_incarnation(rank + 1),
                          .reason = "reset"},
           });
}

static const struct cluster_vote_outcome *
outcome(const struct fixture *f, uint64_t ticket)
{
    const struct cluster_reply *reply = fixture_reply(f, ticket);

    assert_ok(reply->status);
    assert_int_equal(reply->kind, CLUSTER_REPLY_VOTE_OUTCOME);
    return &reply->outcome;
}

static void
agreement_has_what_all_have(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t first = agree(&f, epoch, 2, 7);
    assert_null(fixture_find(&f, first));
    const uint64_t second = agree(&f, epoch, 3, 6);
    assert_null(fixture_find(&f, second));
    const uint64_t third = agree(&f, epoch, 1, 12);
    const uint64_t tickets[] = {first, second, third};
    for (size_t i = 0; i < COUNT_OF(tickets); i++) {
        assert_int_equal(outcome(&f, tickets[i])->flags, 4);
        assert_int_equal(outcome(&f, tickets[i])->least, 10);
        assert_int_equal(outcome(&f, tickets[i])->n_ranks, 3);
        assert_int_equal(outcome(&f, tickets[i])->communicator, 0);
    }
    /* The answer was lost: it is the same, and nobody is waited for. */
    assert_int_equal(outcome(&f, agree(&f, epoch, 3, 0))->flags, 4);
}

static void
who_is_lost_after_its_call_does_not_count(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t lost = agree(&f, epoch, 1, 0);
    const uint64_t left = agree(&f, epoch, 3, 6);
    report(&f, epoch, 3, 0);
    fixture_refused(&f, lost, HOOP_E_ABORTED, "rank 0 (h:1) is lost: reset");
    const uint64_t last = agree(&f, epoch, 2, 12);
    assert_int_equal(outcome(&f, left)->flags, 4);
    assert_int_equal(outcome(&f, last)->n_ranks, 2);
    assert_int_equal(outcome(&f, last)->ranks[0], 1);
    fixture_refused(&f, agree(&f, epoch, 1, 0), HOOP_E_ABORTED,
                    "declared lost: reset");
}

static void
end_of_the_last_that_is_awaited_decides(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t one = agree(&f, epoch, 1, 3);
    const uint64_t two = agree(&f, epoch, 2, 6);
    report(&f, epoch, 1, 2);
    assert_int_equal(outcome(&f, one)->flags, 2);
    assert_int_equal(outcome(&f, two)->n_ranks, 2);
}

/* The last step has logged so, and that the survivors have this one now. */
static void
assert_shrink_is_told(const struct fixture *f,
                      const char *words,
                      uint64_t communicator)
{
    const struct cluster_log_notice *notice =
        fixture_notice(f, CLUSTER_NOTICE_SHRUNK);
    char text[LIMIT_ERROR_TEXT];

    assert_non_null(notice);
    snprintf(text, sizeof(text), "%s, communicator @%" PRIu64, words,
             communicator);
    assert_string_equal(notice->text, text);
    assert_string_equal(notice->job, "a");
}

static void
shrink_gives_the_survivors_a_communicator(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 4);
    report(&f, epoch, 1, 1);
    shrink(&f, epoch, 4, 1);
    shrink(&f, epoch, 1, 1);
    const uint64_t last = shrink(&f, epoch, 3, 1);
    const struct cluster_vote_outcome first = *outcome(&f, last);
    assert_int_equal(first.n_ranks, 3);
    assert_int_equal(first.ranks[1], 2);
    assert_true(first.communicator > 0);
    assert_shrink_is_told(&f, "job \"a\" has shrunk from 4 to 3 ranks",
                          first.communicator);

    /* It is a communicator like others: it can be left, and shrunk again. */
    struct cluster_vote_call again = {.communicator = first.communicator,
                                      .kind = CLUSTER_VOTE_SHRINK,
                                      .turn = 1,
                                      .number = 20};
    const uint64_t waits = fixture_step(&f, call(epoch, 4, again));
    leave(&f, epoch, 4, 8);
    fixture_refused(&f, waits, HOOP_E_PRECONDITION,
                    "rank 3 (h:4) has freed the communicator");
    fixture_step(&f, call(epoch, 1, again));
    const uint64_t ticket = fixture_step(&f, call(epoch, 3, again));
    assert_int_equal(outcome(&f, ticket)->n_ranks, 2);
    const uint64_t second = outcome(&f, ticket)->communicator;
    char words[LIMIT_ERROR_TEXT];
    assert_true(second > first.communicator);
    snprintf(words, sizeof(words),
             "communicator @%" PRIu64
             " of job \"a\" has shrunk from 3 to 2 ranks",
             first.communicator);
    assert_shrink_is_told(&f, words, second);
    fixture_refused(&f, fixture_step(&f, call(epoch, 4, again)),
                    HOOP_E_PRECONDITION, "has freed it");
}

/* Nothing is left of communicators that all freed, nor of votes on them: as
 * n_groups() of the job says, and the records after each. */
static void
freed_communicators_leave_nothing(void **state)
{
    struct record_store record_store = {0};
    CLEANUP(fixture_deinit) struct fixture f;
    size_t n_rows = 0;

    record_store_begin(&f);
    const uint64_t epoch = fixture_world(&f, 2);
    for (uint64_t turn = 1; turn < 6; turn++) {
        shrink(&f, epoch, 1, turn);
        record_store_apply(&record_store, &f);
        const uint64_t ticket = shrink(&f, epoch, 2, turn);
        record_store_apply(&record_store, &f);
        assert_int_equal(outcome(&f, ticket)->n_ranks, 2);
        const struct cluster_vote_call on_it = {
            .communicator = outcome(&f, ticket)->communicator,
            .kind = CLUSTER_VOTE_AGREE,
            .turn = 1,
        };
        for (uint64_t worker = 1; worker < 3; worker++) {
            fixture_step(&f, call(epoch, worker, on_it));
            record_store_apply(&record_store, &f);
        }
        for (uint64_t worker = 1; worker < 3; worker++) {
            leave(&f, epoch, worker, 7 + turn);
            record_store_apply(&record_store, &f);
        }
        assert_true(turn == 1 || record_store.n_rows == n_rows);
        n_rows = record_store.n_rows;
    }
    const uint64_t job =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    assert_int_equal(fixture_reply(&f, job)->job.n_groups, 0);
    assert_int_equal(fixture_reply(&f, job)->job.n_waiters, 0);
    record_store_deinit(&record_store);
}

/* The first worker had given up when it was decided. It asks again, and what it
 * takes back of before comes after that. */
static void
shrink_that_was_asked_for_again_is_not_taken_back(void **state)
{
    struct record_store record_store = {0};
    struct fixture f;

    record_store_begin(&f);
    uint64_t epoch = 0;
    for (uint32_t rank = 0; rank < 2; rank++) {
        const uint64_t ticket = fixture_join(&f, rank + 1, rank, 2);

        record_store_apply(&record_store, &f);
        if (rank == 1)
            epoch = fixture_reply(&f, ticket)->world.epoch;
    }
    struct cluster_vote_call said = {
        .kind = CLUSTER_VOTE_SHRINK, .turn = 1, .number = 9};
    shrink(&f, epoch, 1, 1);
    record_store_apply(&record_store, &f);
    shrink(&f, epoch, 2, 1);
    record_store_apply(&record_store, &f);
    const uint64_t again = fixture_step(&f, call(epoch, 1, said));
    record_store_apply(&record_store, &f);
    said = (struct cluster_vote_call){.communicator =
                                          outcome(&f, again)->communicator,
                                      .kind = CLUSTER_VOTE_CONFIRM,
                                      .turn = 1};

    record_store_restart(&record_store, &f);
    leave(&f, epoch, 1, 8);
    fixture_step(&f, call(epoch, 2, said));
    const uint64_t last = fixture_step(&f, call(epoch, 1, said));
    assert_int_equal(outcome(&f, last)->n_ranks, 2);
    leave(&f, epoch, 2, 8);
    leave(&f, epoch, 1, 9);
    const uint64_t job =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    assert_int_equal(fixture_reply(&f, job)->job.n_groups, 0);
    fixture_deinit(&f);
    record_store_deinit(&record_store);
}

static uint64_t
grow(struct fixture *f, uint64_t epoch, uint64_t worker)
{
    return fixture_step(f, call(epoch, worker,
                                (struct cluster_vote_call){
                                    .kind = CLUSTER_VOTE_GROW, .turn = 1}));
}

/* Who was first does not matter; and those who wanted to grow can,
 * afterwards. */
static void
shrink_interrupts_those_who_want_to_grow(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t waits = grow(&f, epoch, 1);

    assert_null(fixture_find(&f, waits));
    shrink(&f, epoch, 2, 1);
    fixture_refused(&f, waits, HOOP_E_ABORTED, "rank 1 (h:2) shrinks");
    fixture_refused(&f, grow(&f, epoch, 3), HOOP_E_ABORTED,
                    "rank 1 (h:2) shrinks");
    shrink(&f, epoch, 1, 1);
    assert_int_equal(outcome(&f, shrink(&f, epoch, 3, 1))->n_ranks, 3);
    grow(&f, epoch, 1);
    grow(&f, epoch, 2);
    assert_int_equal(outcome(&f, grow(&f, epoch, 3))->n_ranks, 3);
}

static void
deadline_says_where_who_is_missing_waits(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t early = shrink(&f, epoch, 1, 1);

    f.now_ns += FIXTURE_S;
    agree(&f, epoch, 2, 1);
    fixture_next(&f);
    fixture_refused(&f, early, HOOP_E_TIMEOUT,
                    "hoop_comm_shrink: the survivors of 2 ranks have not come "
                    "together before the deadline: not asked for by rank 1 "
                    "(h:2); rank 1 (h:2) waits in hoop_comm_agree");
}

static void
deadline_names_who_is_missing_and_takes_the_call_back(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t early = agree(&f, epoch, 1, 1);
    fixture_next(&f);
    fixture_refused(&f, early, HOOP_E_TIMEOUT,
                    "not asked for by rank 1 (h:2), rank 2 (h:3)");
    agree(&f, epoch, 2, 3);
    const uint64_t late = agree(&f, epoch, 3, 3);
    assert_null(fixture_find(&f, late));
    assert_int_equal(outcome(&f, agree(&f, epoch, 1, 2))->flags, 2);
}

static void
call_that_was_cut_off_counts_still(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    agree(&f, epoch, 1, 5);
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 1});
    assert_int_equal(outcome(&f, agree(&f, epoch, 2, 6))->flags, 4);
    assert_int_equal(outcome(&f, agree(&f, epoch, 1, 5))->flags, 4);
}

static void
nonsense_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_vote_call said = {.kind = CLUSTER_VOTE_AGREE, .turn = 1};

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    said.communicator = 77;
    fixture_refused(&f, fixture_step(&f, call(epoch, 1, said)),
                    HOOP_E_PRECONDITION, "has no communicator 77");
    said.communicator = 0;
    said.turn = 0;
    fixture_refused(&f, fixture_step(&f, call(epoch, 1, said)), HOOP_E_INVALID,
                    "counted from 1");
    said.turn = 1;
    said.kind = 9;
    fixture_refused(&f, fixture_step(&f, call(epoch, 1, said)), HOOP_E_INVALID,
                    "no vote of kind 9");
    agree(&f, epoch, 1, 1);
    said.kind = CLUSTER_VOTE_AGREE;
    said.turn = 5;
    fixture_refused(&f, fixture_step(&f, call(epoch, 2, said)), HOOP_E_ABORTED,
                    "that of the others is 1");
}

/* One member has heard, the coordinator dies, and the other asks again. */
static void
outcome_outlives_the_coordinator(void **state)
{
    struct record_store record_store = {0};
    struct fixture f;

    record_store_begin(&f);
    uint64_t epoch = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        const uint64_t ticket = fixture_join(&f, rank + 1, rank, 3);

        record_store_apply(&record_store, &f);
        if (rank == 2)
            epoch = fixture_reply(&f, ticket)->world.epoch;
    }
    report(&f, epoch, 1, 1);
    record_store_apply(&record_store, &f);
    agree(&f, epoch, 1, 3);
    record_store_apply(&record_store, &f);
    agree(&f, epoch, 3, 6);
    record_store_apply(&record_store, &f);
    shrink(&f, epoch, 1, 1);
    record_store_apply(&record_store, &f);
    const struct cluster_vote_outcome told =
        *outcome(&f, shrink(&f, epoch, 3, 1));
    record_store_apply(&record_store, &f);

    record_store_restart(&record_store, &f);
    assert_int_equal(outcome(&f, agree(&f, epoch, 3, 6))->flags, 2);
    const uint64_t again = shrink(&f, epoch, 3, 1);
    assert_int_equal(outcome(&f, again)->communicator, told.communicator);
    assert_int_equal(outcome(&f, again)->n_ranks, 2);
    assert_int_equal(outcome(&f, again)->ranks[1], 2);
    fixture_deinit(&f);
    record_store_deinit(&record_store);
}

/* The one that waits is not disturbed by one that its member has given up. */
static void
older_call_does_not_replace_the_one_that_waits(void **state)
{
    static const uint64_t numbers[] = {8, 7, 8, 9};
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t tickets[4];

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    for (unsigned i = 0; i < 4; i++) {
        tickets[i] = fixture_step(
            &f, call(epoch, 1,
                     (struct cluster_vote_call){.kind = CLUSTER_VOTE_AGREE,
                                                .turn = 1,
                                                .flags = i,
                                                .number = numbers[i]}));
        if (i == 1)
            fixture_refused(&f, tickets[1], HOOP_E_CANCELLED, "a later call");
        if (i == 2)
            fixture_refused(&f, tickets[0], HOOP_E_CANCELLED, "came again");
    }
    fixture_refused(&f, tickets[2], HOOP_E_CANCELLED, "came again");
    const uint64_t last = agree(&f, epoch, 2, 3);
    assert_int_equal(outcome(&f, tickets[3])->flags, 3);
    assert_int_equal(outcome(&f, last)->flags, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement_has_what_all_have),
        cmocka_unit_test(who_is_lost_after_its_call_does_not_count),
        cmocka_unit_test(end_of_the_last_that_is_awaited_decides),
        cmocka_unit_test(shrink_gives_the_survivors_a_communicator),
        cmocka_unit_test(freed_communicators_leave_nothing),
        cmocka_unit_test(shrink_that_was_asked_for_again_is_not_taken_back),
        cmocka_unit_test(shrink_interrupts_those_who_want_to_grow),
        cmocka_unit_test(deadline_says_where_who_is_missing_waits),
        cmocka_unit_test(deadline_names_who_is_missing_and_takes_the_call_back),
        cmocka_unit_test(call_that_was_cut_off_counts_still),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(outcome_outlives_the_coordinator),
        cmocka_unit_test(older_call_does_not_replace_the_one_that_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
