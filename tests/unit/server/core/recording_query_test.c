/* tests/unit/server/core/recording_query_test.c - one member is asked for a
 * recording, and its answer goes to the operator */

#include "fixture.h"

static const uint64_t TIME_NS = 2000 * CLOCK_NS_PER_MS;

/* By an operator of that number, who has not seen the others. */
static uint64_t
ask(struct fixture *f, uint64_t operator_number, uint32_t rank, uint32_t via)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_ASK_RECORDING,
                               .client = 100 + operator_number,
                               .wanted = {.rank = rank, .via = via},
                           });
}

/* By the member of that number, who has seen the question seen. */
static uint64_t
watch(struct fixture *f, uint64_t epoch, uint32_t number, uint64_t seen)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_WATCH,
                               .client = number,
                               .watch = {.epoch = epoch,
                                         .since = 1,
                                         .question = CLUSTER_NO_QUESTION,
                                         .activity_query = CLUSTER_NO_QUESTION,
                                         .recording_query = seen},
                           });
}

static uint64_t
pass(struct fixture *f,
     uint64_t epoch,
     uint32_t number,
     uint64_t query,
     const char *bytes)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_PASS_RECORDING,
                               .client = number,
                               .passed = {.member = {epoch, number},
                                          .query = query,
                                          .bytes = (const uint8_t *)bytes,
                                          .n_bytes = strlen(bytes),
                                          .why = bytes[0] ? "" : "it has none"},
                           });
}

static void
assert_passed(const struct fixture *f, uint64_t ticket, const char *bytes)
{
    const struct cluster_reply *reply = fixture_reply(f, ticket);

    assert_int_equal(reply->status, HOOP_OK);
    assert_int_equal(reply->kind, CLUSTER_REPLY_RECORDING);
    assert_int_equal(reply->recording.n_bytes, strlen(bytes));
    assert_memory_equal(reply->recording.bytes, bytes, strlen(bytes));
}

/* Returns the number of the question that a watch was answered with. */
static uint64_t
question_of(const struct fixture *f, uint64_t ticket, uint32_t rank)
{
    const struct cluster_reply *reply = fixture_reply(f, ticket);

    assert_int_equal(reply->kind, CLUSTER_REPLY_CHANGES);
    assert_true(reply->changes.recording_query > 0);
    assert_int_equal(reply->changes.recording_rank, rank);
    return reply->changes.recording_query;
}

static void
question_reaches_the_member_asked_and_its_answer_the_operator(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);
    const uint64_t other = watch(&f, epoch, 1, 0);
    const uint64_t parked = watch(&f, epoch, 2, 0);
    const uint64_t asked = ask(&f, 0, 2, 1);
    const uint64_t query = question_of(&f, parked, 2);

    assert_null(fixture_find(&f, other));
    assert_null(fixture_find(&f, asked));
    /* Who has seen the question is not asked again, nor is anybody else. */
    assert_null(fixture_find(&f, watch(&f, epoch, 2, query)));
    assert_null(fixture_find(&f, watch(&f, epoch, 3, 0)));
    const uint64_t passed = pass(&f, epoch, 2, query, "all that rank 2 did");
    assert_passed(&f, asked, "all that rank 2 did");
    assert_int_equal(fixture_reply(&f, passed)->status, HOOP_OK);
    /* The question is over. */
    assert_null(fixture_find(&f, watch(&f, epoch, 2, 0)));
}

static void
member_that_watches_later_is_asked_then(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t asked = ask(&f, 0, 0, 0);
    const uint64_t late = watch(&f, epoch, 1, 0);

    pass(&f, epoch, 1, question_of(&f, late, 0), "x");
    assert_passed(&f, asked, "x");
}

static void
reason_for_which_there_is_no_record_is_told(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t parked = watch(&f, epoch, 2, 0);
    const uint64_t asked = ask(&f, 0, 0, 1);

    pass(&f, epoch, 2, question_of(&f, parked, 0), "");
    fixture_refused(&f, asked, HOOP_E_NOT_FOUND, "rank 1 (h:2): it has none");
}

/* Each operator gets what it asked for, one after the other. */
static void
operators_of_one_member_take_turns(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t first = ask(&f, 0, 0, 1);
    const uint64_t second = ask(&f, 1, 1, 1);
    const uint64_t query = question_of(&f, watch(&f, epoch, 2, 0), 0);
    const uint64_t parked = watch(&f, epoch, 2, query);

    assert_null(fixture_find(&f, parked));
    pass(&f, epoch, 2, query, "first");
    assert_passed(&f, first, "first");
    assert_null(fixture_find(&f, second));
    const uint64_t next = question_of(&f, parked, 1);
    assert_true(next != query);
    /* The first answer comes twice. */
    pass(&f, epoch, 2, query, "first");
    assert_null(fixture_find(&f, second));
    pass(&f, epoch, 2, next, "second");
    assert_passed(&f, second, "second");
}

static void
operators_of_two_members_do_not_wait_for_each_other(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t first = ask(&f, 0, 0, 0);
    const uint64_t second = ask(&f, 1, 1, 1);
    const uint64_t query = question_of(&f, watch(&f, epoch, 2, 0), 1);

    /* Nobody answers a question that another one was asked. */
    pass(&f, epoch, 1, query, "of rank 0");
    assert_null(fixture_find(&f, second));
    pass(&f, epoch, 2, query, "of rank 1");
    assert_passed(&f, second, "of rank 1");
    assert_null(fixture_find(&f, first));
}

static void
member_that_does_not_answer_is_told_of(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t parked = watch(&f, epoch, 2, 0);

    f.now_ns += FIXTURE_S;
    const uint64_t began_ns = f.now_ns;
    const uint64_t asked = ask(&f, 0, 0, 1);
    const uint64_t query = question_of(&f, parked, 0);

    fixture_next(&f);
    assert_true(f.now_ns == began_ns + TIME_NS);
    fixture_refused(&f, asked, HOOP_E_ABORTED,
                    "rank 1 (h:2) has passed no record on within 2.0 s: "
                    "stopped, dead or cut off? hoopd last heard of it 3.0 s "
                    "ago");
    /* What it says too late is of no use, and no harm. */
    const uint64_t late = pass(&f, epoch, 2, query, "late");
    assert_int_equal(fixture_reply(&f, late)->status, HOOP_OK);
    assert_null(fixture_find(&f, watch(&f, epoch, 2, query)));
}

static void
operator_is_told_at_once_when_the_member_ends(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t asked = ask(&f, 0, 0, 1);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    fixture_refused(&f, asked, HOOP_E_ABORTED,
                    "rank 1 (h:2) was asked for a record, but it has left");
    fixture_refused(&f, ask(&f, 0, 0, 1), HOOP_E_ABORTED, "it has left");
    /* It can still be told of. */
    const uint64_t again = ask(&f, 0, 1, 0);
    const uint64_t query = question_of(&f, watch(&f, epoch, 1, 0), 1);
    pass(&f, epoch, 1, query, "of one that left");
    assert_passed(&f, again, "of one that left");
    /* The job ends while it is asked. */
    const uint64_t last = ask(&f, 0, 0, 0);
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    assert_int_not_equal(fixture_reply(&f, last)->status, HOOP_OK);
}

static void
operator_that_goes_away_leaves_no_question_behind(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    for (int i = 0; i < 2; i++) {
        const uint64_t asked = ask(&f, 0, 0, 0);

        fixture_step(&f, (struct cluster_event){.kind = i ? CLUSTER_CANCEL
                                                          : CLUSTER_DISCONNECT,
                                                .client = 100,
                                                .ticket = i ? asked : 0});
        const uint64_t parked = watch(&f, epoch, 1, 0);
        assert_null(fixture_find(&f, parked));
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_CANCEL,
                                                .ticket = parked});
    }
    const uint64_t asked = ask(&f, 0, 0, 0);
    fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DRAIN});
    fixture_refused(&f, asked, HOOP_E_UNAVAILABLE, "shutting down");
    fixture_refused(&f, watch(&f, epoch, 1, 0), HOOP_E_UNAVAILABLE,
                    "shutting down");
}

static void
next_operator_takes_its_turn_when_the_first_goes_away(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    ask(&f, 0, 0, 1);
    ask(&f, 1, 1, 1);
    const uint64_t query = question_of(&f, watch(&f, epoch, 2, 0), 0);
    const uint64_t parked = watch(&f, epoch, 2, query);

    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 100});
    assert_true(question_of(&f, parked, 1) != query);
}

static void
requests_that_cannot_be_met_are_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_refused(&f, ask(&f, 0, 0, 0), HOOP_E_NOT_FOUND, "no job \"a\"");
    fixture_join(&f, 1, 0, 2);
    fixture_refused(&f, ask(&f, 0, 0, 0), HOOP_E_PRECONDITION,
                    "has not formed");
    const uint64_t joined = fixture_join(&f, 2, 1, 2);
    const uint64_t epoch = fixture_reply(&f, joined)->world.epoch;

    fixture_refused(&f, ask(&f, 0, 2, 0), HOOP_E_RANGE,
                    "job \"a\" has no rank 2: it has 2");
    fixture_refused(&f, ask(&f, 0, 0, UINT32_MAX), HOOP_E_RANGE,
                    "no rank 4294967295");
    watch(&f, epoch, 1, CLUSTER_NO_QUESTION);
    fixture_refused(&f, ask(&f, 0, 1, 0), HOOP_E_ABORTED,
                    "rank 0 (h:1) cannot be asked for a record: its version "
                    "of hoop passes none on");
    /* Only members pass on what they are asked for. */
    fixture_refused(&f, pass(&f, epoch, 7, 1, "x"), HOOP_E_PRECONDITION, "");
}

static void
operators_need_the_token_of_an_operator(void **state)
{
    static const char *const tokens[] = {NULL, "other"};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.token = "secret"});
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct cluster_event join = fixture_join_event(rank + 1, rank, 2);

        join.token = "secret";
        fixture_step(&f, join);
    }
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        const uint64_t asked =
            fixture_step(&f, (struct cluster_event){
                                 .kind = CLUSTER_ASK_RECORDING,
                                 .client = 100,
                                 .token = tokens[i],
                                 .role = ROLE_OPERATOR,
                             });
        fixture_refused(&f, asked, HOOP_E_UNAUTHENTICATED, "token");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            question_reaches_the_member_asked_and_its_answer_the_operator),
        cmocka_unit_test(member_that_watches_later_is_asked_then),
        cmocka_unit_test(reason_for_which_there_is_no_record_is_told),
        cmocka_unit_test(operators_of_one_member_take_turns),
        cmocka_unit_test(operators_of_two_members_do_not_wait_for_each_other),
        cmocka_unit_test(member_that_does_not_answer_is_told_of),
        cmocka_unit_test(operator_is_told_at_once_when_the_member_ends),
        cmocka_unit_test(operator_that_goes_away_leaves_no_question_behind),
        cmocka_unit_test(next_operator_takes_its_turn_when_the_first_goes_away),
        cmocka_unit_test(requests_that_cannot_be_met_are_refused),
        cmocka_unit_test(operators_need_the_token_of_an_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
