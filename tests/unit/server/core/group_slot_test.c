/* tests/unit/server/core/group_slot_test.c - communicators that members join */

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/limits.h"
#include "fixture.h"

static const uint32_t trio[] = {2, 0, 1};
static const uint32_t pair[] = {0, 1};

/* Worker n is rank n - 1, as fixture_world() made them. */
struct join {
    uint64_t worker;
    uint64_t number;
    const uint32_t *ranks;
    uint32_t n_ranks;
};

static uint64_t
join(struct fixture *f, uint64_t epoch, struct join call)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_GROUP_JOIN,
                               .client = call.worker,
                               .group_slot =
                                   {
                                       .member = {epoch, call.worker},
                                       .number = call.number,
                                       .ranks = call.ranks,
                                       .n_ranks = call.n_ranks,
                                   },
                           });
}

static uint64_t
leave(struct fixture *f, uint64_t epoch, uint64_t worker, uint64_t number)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_GROUP_LEAVE,
                               .group_slot =
                                   {
                                       .member = {epoch, worker},
                                       .numbers = &number,
                                       .n_numbers = 1,
                                   },
                           });
}

/* The call that joined was interrupted. */
static void
withdraw(struct fixture *f, uint64_t epoch, uint64_t worker, uint64_t number)
{
    const uint64_t ticket =
        fixture_step(f, (struct cluster_event){
                            .kind = CLUSTER_GROUP_LEAVE,
                            .group_slot = {.member = {epoch, worker},
                                           .numbers = &number,
                                           .n_numbers = 1,
                                           .is_withdrawal = true},
                        });

    assert_ok(fixture_reply(f, ticket)->status);
}

static size_t
n_groups(struct fixture *f)
{
    const uint64_t ticket =
        fixture_step(f, (struct cluster_event){.kind = CLUSTER_JOB});

    return fixture_reply(f, ticket)->job.n_groups;
}

static uint64_t
communicator(const struct fixture *f, uint64_t ticket)
{
    const struct cluster_reply *reply = fixture_reply(f, ticket);

    assert_ok(reply->status);
    assert_int_equal(reply->kind, CLUSTER_REPLY_GROUP_SLOT);
    return reply->group_slot.communicator;
}

static void
join_of_the_last_tells_all_the_same_id(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t first = join(&f, epoch, (struct join){1, 1, trio, 3});
    assert_null(fixture_find(&f, first));
    const uint64_t second = join(&f, epoch, (struct join){3, 1, trio, 3});
    assert_null(fixture_find(&f, first));
    const uint64_t third = join(&f, epoch, (struct join){2, 1, trio, 3});

    assert_int_equal(communicator(&f, first), 1);
    assert_int_equal(communicator(&f, second), 1);
    assert_int_equal(communicator(&f, third), 1);
    assert_int_equal(n_groups(&f), 1);
}

static void
join_is_withdrawn_until_its_group_has_formed(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t early = join(&f, epoch, (struct join){1, 1, pair, 2});
    withdraw(&f, epoch, 1, 1);
    fixture_refused(&f, early, HOOP_E_CANCELLED, "has been taken back");
    assert_int_equal(n_groups(&f), 0);

    const uint64_t first = join(&f, epoch, (struct join){1, 2, pair, 2});
    const uint64_t second = join(&f, epoch, (struct join){2, 1, pair, 2});
    assert_int_equal(communicator(&f, first), communicator(&f, second));
    withdraw(&f, epoch, 1, 2);
    /* Both are in it: it lives until the second has left. */
    leave(&f, epoch, 2, 1);
    assert_int_equal(n_groups(&f), 1);
    leave(&f, epoch, 1, 2);
    assert_int_equal(n_groups(&f), 0);
}

static void
join_with_another_order_is_another_group(void **state)
{
    static const uint32_t riap[] = {1, 0};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t first = join(&f, epoch, (struct join){1, 1, pair, 2});
    const uint64_t second = join(&f, epoch, (struct join){2, 1, riap, 2});

    assert_null(fixture_find(&f, first));
    assert_null(fixture_find(&f, second));
    assert_int_equal(n_groups(&f), 2);
    f.now_ns += 60 * FIXTURE_S - 1;
    for (uint64_t worker = 1; worker <= 2; worker++)
        fixture_member(&f, CLUSTER_RENEW, epoch, worker);
    fixture_next(&f);
    fixture_refused(&f, first, HOOP_E_TIMEOUT, "by rank 1 (h:2)");
    fixture_refused(&f, second, HOOP_E_TIMEOUT, "by rank 0 (h:1)");
    assert_int_equal(n_groups(&f), 0);
}

/* Who asked, and has only less patience, is not said not to have asked. */
static void
join_that_gave_up_is_told_from_one_that_never_came(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t first = join(&f, epoch, (struct join){1, 1, trio, 3});
    f.now_ns += FIXTURE_S;
    const uint64_t second = join(&f, epoch, (struct join){2, 1, trio, 3});

    f.now_ns += 59 * FIXTURE_S - 1;
    for (uint64_t worker = 1; worker <= 3; worker++)
        fixture_member(&f, CLUSTER_RENEW, epoch, worker);
    fixture_next(&f);
    fixture_refused(&f, first, HOOP_E_TIMEOUT,
                    "deadline: not asked for, with the same ranks in the same "
                    "order, by rank 2 (h:3)");
    fixture_next(&f);
    fixture_refused(&f, second, HOOP_E_TIMEOUT,
                    "by rank 2 (h:3); given up by rank 0 (h:1)");
}

static void
join_of_the_same_list_again_is_another_generation(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    /* One of them is two communicators ahead. */
    const uint64_t one = join(&f, epoch, (struct join){1, 1, pair, 2});
    const uint64_t two = join(&f, epoch, (struct join){1, 2, pair, 2});

    const uint64_t other_one = join(&f, epoch, (struct join){2, 8, pair, 2});
    assert_int_equal(communicator(&f, one), 1);
    assert_int_equal(communicator(&f, other_one), 1);
    const uint64_t other_two = join(&f, epoch, (struct join){2, 9, pair, 2});
    assert_int_equal(communicator(&f, two), 2);
    assert_int_equal(communicator(&f, other_two), 2);
}

static void
join_repeated_is_the_same_join(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t first = join(&f, epoch, (struct join){1, 1, pair, 2});
    const uint64_t again = join(&f, epoch, (struct join){1, 1, pair, 2});
    fixture_refused(&f, first, HOOP_E_CANCELLED, "again");
    assert_int_equal(n_groups(&f), 1);

    join(&f, epoch, (struct join){2, 1, pair, 2});
    assert_int_equal(communicator(&f, again), 1);
    /* Its answer was lost. */
    assert_int_equal(
        communicator(&f, join(&f, epoch, (struct join){2, 1, pair, 2})), 1);
    assert_int_equal(n_groups(&f), 1);
}

static void
join_given_up_frees_its_seat_for_the_next(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    join(&f, epoch, (struct join){1, 1, pair, 2});
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 1});
    const uint64_t anew = join(&f, epoch, (struct join){1, 2, pair, 2});
    assert_int_equal(n_groups(&f), 1);
    const uint64_t other = join(&f, epoch, (struct join){2, 1, pair, 2});
    assert_int_equal(communicator(&f, anew), communicator(&f, other));
    /* The number that was given up is nobody's. */
    leave(&f, epoch, 1, 1);
    leave(&f, epoch, 2, 1);
    assert_int_equal(n_groups(&f), 1);
    leave(&f, epoch, 1, 2);
    assert_int_equal(n_groups(&f), 0);
}

static void
leave_while_others_are_missing_takes_the_join_back(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t parked = join(&f, epoch, (struct join){1, 1, pair, 2});

    const uint64_t ticket = leave(&f, epoch, 1, 1);
    fixture_refused(&f, parked, HOOP_E_CANCELLED, "taken back");
    assert_ok(fixture_reply(&f, ticket)->status);
    assert_int_equal(n_groups(&f), 0);
    assert_ok(fixture_reply(&f, leave(&f, epoch, 1, 7))->status);
}

static void
group_all_have_left_is_forgotten_and_its_id_not_reused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    for (uint64_t round = 1; round <= 1000; round++) {
        join(&f, epoch, (struct join){1, round, pair, 2});
        assert_int_equal(
            communicator(&f, join(&f, epoch, (struct join){2, round, pair, 2})),
            round);
        leave(&f, epoch, 1 + round % 2, round);
        assert_int_equal(n_groups(&f), 1);
        leave(&f, epoch, 2 - round % 2, round);
        assert_int_equal(n_groups(&f), 0);
    }
}

static void
member_that_is_lost_ends_what_waits_for_it(void **state)
{
    static const uint32_t others[] = {0, 2};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t waits = join(&f, epoch, (struct join){1, 1, trio, 3});
    const uint64_t works = join(&f, epoch, (struct join){3, 1, others, 2});
    /* Formed, of which the lost one is a member. */
    join(&f, epoch, (struct join){1, 2, pair, 2});
    join(&f, epoch, (struct join){2, 2, pair, 2});

    fixture_step(&f, (struct cluster_event){
                         .kind = CLUSTER_REPORT,
                         .report = {.reporter = {epoch, 1},
                                    .rank = 1,
                                    .identity = identity_of_incarnation(2),
                                    .reason = "it fell silent"},
                     });
    fixture_refused(&f, waits, HOOP_E_ABORTED, "rank 1 (h:2) is lost: ");
    assert_null(fixture_find(&f, works));
    assert_int_equal(n_groups(&f), 2);
    leave(&f, epoch, 1, 2);
    assert_int_equal(n_groups(&f), 1);
    fixture_refused(&f, join(&f, epoch, (struct join){1, 3, pair, 2}),
                    HOOP_E_ABORTED, "rank 1 (h:2), who is lost");
}

static void
member_that_leaves_has_left_its_groups(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t waits = join(&f, epoch, (struct join){1, 1, trio, 3});

    join(&f, epoch, (struct join){1, 2, pair, 2});
    join(&f, epoch, (struct join){2, 2, pair, 2});
    fixture_member(&f, CLUSTER_LEAVE, epoch, 3);
    fixture_refused(&f, waits, HOOP_E_PRECONDITION, "rank 2 (h:3) has left");
    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    assert_int_equal(n_groups(&f), 1);
    /* The list still points to it when the last member goes, in one step. */
    leave(&f, epoch, 1, 2);
    assert_int_equal(n_groups(&f), 0);
}

static void
join_of_a_bad_list_is_refused(void **state)
{
    static const uint32_t twice[] = {1, 1};
    static const uint32_t outside[] = {0, 3};
    static const uint32_t without[] = {1, 2};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const struct {
        struct join call;
        enum hoop_status status;
        const char *part;
    } cases[] = {
        {{2, 1, twice, 2}, HOOP_E_INVALID, "rank 1 twice"},
        {{1, 1, outside, 2}, HOOP_E_INVALID, "has rank 3"},
        {{1, 1, without, 2}, HOOP_E_INVALID, "not among"},
        {{1, 1, without, 0}, HOOP_E_INVALID, "not among"},
        {{9, 1, pair, 2}, HOOP_E_PRECONDITION, "no member"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        fixture_refused(&f, join(&f, epoch, cases[i].call), cases[i].status,
                        cases[i].part);
    assert_int_equal(n_groups(&f), 0);
}

/* hoopctl's pages go on where they were, though groups go meanwhile. */
static void
list_goes_on_behind_a_group_that_is_gone(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    for (uint64_t number = 1; number <= 3; number++)
        join(&f, epoch, (struct join){1, number, pair, 2});
    join(&f, epoch, (struct join){2, 1, pair, 2});
    leave(&f, epoch, 1, 2);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_GROUP_LIST,
                                                .group = {.key = "@2"}});
    const struct cluster_groups *page = &fixture_reply(&f, ticket)->groups;
    assert_int_equal(page->n_items, 1);
    assert_string_equal(page->items[0].key, "@3");
    assert_int_equal(page->items[0].n_joined, 1);
    const uint64_t created = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_GROUP_CREATE,
                                   .group = {{epoch, 1}, "@3", pair, 2}});
    fixture_refused(&f, created, HOOP_E_INVALID, "begin with '@'");
}

static uint64_t
pending(struct fixture *f, uint64_t epoch, uint64_t worker, uint64_t number)
{
    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_QUERY_MISSING,
                                  .pending = {{epoch, worker}, number}});
}

static void
join_that_waits_can_be_asked_for_whom(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    join(&f, epoch, (struct join){1, 7, trio, 3});
    uint64_t ticket = pending(&f, epoch, 1, 7);
    const struct cluster_missing_members *told =
        &fixture_reply(&f, ticket)->pending;

    assert_int_equal(fixture_reply(&f, ticket)->kind, CLUSTER_REPLY_MISSING);
    assert_string_equal(told->missing, "rank 2 (h:3), rank 1 (h:2)");
    assert_int_equal(told->n_ranks, 3);
    assert_int_equal(told->n_present_ranks, 1);
    fixture_refused(&f, pending(&f, epoch, 1, 8), HOOP_E_NOT_FOUND,
                    "nothing of number 8 waits");
    fixture_refused(&f, pending(&f, epoch, 2, 7), HOOP_E_NOT_FOUND, "");
    join(&f, epoch, (struct join){2, 1, trio, 3});
    ticket = pending(&f, epoch, 2, 1);
    assert_string_equal(fixture_reply(&f, ticket)->pending.missing,
                        "rank 2 (h:3)");
    join(&f, epoch, (struct join){3, 1, trio, 3});
    fixture_refused(&f, pending(&f, epoch, 1, 7), HOOP_E_NOT_FOUND, "");
}

static void
vote_call_that_waits_can_be_asked_for_whom(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    fixture_step(&f, (struct cluster_event){.kind = CLUSTER_VOTE,
                                            .client = 2,
                                            .vote = {.member = {epoch, 2},
                                                     .kind = CLUSTER_VOTE_AGREE,
                                                     .turn = 1,
                                                     .number = 5}});
    const uint64_t ticket = pending(&f, epoch, 2, 5);
    const struct cluster_missing_members *told =
        &fixture_reply(&f, ticket)->pending;

    assert_string_equal(told->missing, "rank 0 (h:1), rank 2 (h:3)");
    assert_int_equal(told->n_ranks, 3);
    assert_int_equal(told->n_present_ranks, 1);
    fixture_refused(&f, pending(&f, epoch, 1, 5), HOOP_E_NOT_FOUND, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_of_the_last_tells_all_the_same_id),
        cmocka_unit_test(join_is_withdrawn_until_its_group_has_formed),
        cmocka_unit_test(join_with_another_order_is_another_group),
        cmocka_unit_test(join_that_gave_up_is_told_from_one_that_never_came),
        cmocka_unit_test(join_of_the_same_list_again_is_another_generation),
        cmocka_unit_test(join_repeated_is_the_same_join),
        cmocka_unit_test(join_given_up_frees_its_seat_for_the_next),
        cmocka_unit_test(leave_while_others_are_missing_takes_the_join_back),
        cmocka_unit_test(
            group_all_have_left_is_forgotten_and_its_id_not_reused),
        cmocka_unit_test(member_that_is_lost_ends_what_waits_for_it),
        cmocka_unit_test(member_that_leaves_has_left_its_groups),
        cmocka_unit_test(join_of_a_bad_list_is_refused),
        cmocka_unit_test(list_goes_on_behind_a_group_that_is_gone),
        cmocka_unit_test(join_that_waits_can_be_asked_for_whom),
        cmocka_unit_test(vote_call_that_waits_can_be_asked_for_whom),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
