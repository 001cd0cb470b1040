/* tests/unit/server/core/cluster_test.c - dispatch, tokens, names, drain, time */

#include "base/limits.h"
#include "fixture.h"

static void
cluster_create_contradicting_options_is_refused(void **state)
{
    struct cluster *cluster = NULL;
    char token[LIMIT_TOKEN + 1];

    (void)state;
    assert_int_equal(cluster_create(&(struct cluster_options){.world_size = 2,
                                                              .size_min = 3},
                                    &cluster),
                     HOOP_E_INVALID);
    memset(token, 'x', sizeof(token) - 1);
    token[sizeof(token) - 1] = 0;
    assert_int_equal(
        cluster_create(&(struct cluster_options){.token = token}, &cluster),
        HOOP_E_INVALID);
    assert_null(cluster);
    cluster_destroy(NULL);
}

static void
request_unknown_job_is_not_found(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_refused(&f, fixture_set(&f, "k", "v"), HOOP_E_NOT_FOUND,
                    "no job \"a\"");
    fixture_deinit(&f);
}

static void
request_bad_job_name_is_refused(void **state)
{
    struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    event.job = "a\nb";
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "name");
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
    fixture_deinit(&f);
}

static void
token_first_join_sets_it_others_must_have_it(void **state)
{
    struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 2);

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    event.token = "secret";
    assert_false(cluster_accepts_token(f.cluster, "a", "secret", ROLE_WORKER));
    fixture_step(&f, event);
    assert_true(cluster_accepts_token(f.cluster, "a", "secret", ROLE_WORKER));
    assert_false(cluster_accepts_token(f.cluster, "a", "Secret", ROLE_WORKER));
    assert_false(
        cluster_accepts_token(f.cluster, "other", "secret", ROLE_WORKER));

    event = fixture_join_event(2, 1, 2);
    event.token = "Secret";
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED,
                    "token");
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_REFUSED));
    event.token = NULL;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED,
                    "no token was given for job \"a\", which needs one: give");
    event.token = "secret";
    assert_int_equal(fixture_reply(&f, fixture_step(&f, event))->status,
                     HOOP_OK);
    fixture_refused(&f, fixture_set(&f, "k", "v"), HOOP_E_UNAUTHENTICATED,
                    "token");
    assert_int_equal(cluster_counters(f.cluster)->tokens_refused, 3);
    assert_int_equal(cluster_counters(f.cluster)->joins_refused, 2);
    fixture_deinit(&f);
}

static void
token_configured_is_that_of_every_job(void **state)
{
    struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);

    (void)state;
    fixture_init(&f, &(struct cluster_options){.token = "t"});
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED, "");
    fixture_refused(&f, fixture_set(&f, "k", "v"), HOOP_E_UNAUTHENTICATED,
                    "HOOP_TOKEN");
    event.token = "t";
    assert_int_equal(fixture_reply(&f, fixture_step(&f, event))->status,
                     HOOP_OK);
    fixture_deinit(&f);
}

/* A question for role, with the token of shown: its status. */
static enum hoop_status
ask_as(struct fixture *f, enum role role, enum role shown)
{
    char token[LIMIT_TOKEN] = "wrong";
    struct cluster_event event = {
        .kind = CLUSTER_JOB, .role = role, .token = token};

    if (shown != ROLE_ANYBODY)
        assert_int_equal(role_derive_token(shown, "t", token), HOOP_OK);

    const enum hoop_status status =
        fixture_reply(f, fixture_step(f, event))->status;
    assert_int_equal(f->actions.role, shown);
    assert_int_equal(cluster_accepts_token(f->cluster, "none", token, role),
                     status == HOOP_OK);
    return status;
}

static void
role_that_is_lesser_is_denied_what_needs_more(void **state)
{
    struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);

    (void)state;
    fixture_init(&f, &(struct cluster_options){.token = "t"});
    event.token = "t";
    fixture_step(&f, event);
    assert_int_equal(f.actions.role, ROLE_WORKER);
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        for (enum role shown = ROLE_WORKER; shown < ROLE_ANYBODY; shown++)
            assert_int_equal(ask_as(&f, role, shown),
                             shown <= role ? HOOP_OK : HOOP_E_DENIED);
        assert_int_equal(ask_as(&f, role, ROLE_ANYBODY),
                         HOOP_E_UNAUTHENTICATED);
    }
    assert_int_equal(cluster_counters(f.cluster)->tokens_refused, 3);
    fixture_tick(&f);
    assert_int_equal(f.actions.role, ROLE_ANYBODY);
    fixture_deinit(&f);
}

static void
role_that_is_lesser_joins_nothing(void **state)
{
    struct fixture f;
    char token[LIMIT_TOKEN];
    struct cluster_event event = fixture_join_event(1, 0, 2);

    (void)state;
    assert_int_equal(role_derive_token(ROLE_OPERATOR, "t", token), HOOP_OK);
    event.token = token;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_DENIED, "lesser role");
    assert_int_equal(f.actions.role, ROLE_ANYBODY);
    event.token = "t";
    fixture_step(&f, event);
    event = fixture_join_event(2, 1, 2);
    event.token = token;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_DENIED,
                    "needs role worker");
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_REFUSED));
    assert_int_equal(f.actions.role, ROLE_OPERATOR);
    fixture_deinit(&f);

    struct cluster *cluster = NULL;
    assert_int_equal(
        cluster_create(&(struct cluster_options){.token = token}, &cluster),
        HOOP_E_DENIED);
}

static void
drain_parked_are_answered_and_joins_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t wait = fixture_key(&f, CLUSTER_STORE_WAIT, "k");
    struct cluster_event join = fixture_join_event(7, 0, 2);

    join.job = "b";
    const uint64_t parked = fixture_step(&f, join);

    fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DRAIN});
    fixture_refused(&f, wait, HOOP_E_UNAVAILABLE, "shutting down");
    fixture_refused(&f, parked, HOOP_E_UNAVAILABLE, "shutting down");
    assert_int_equal(cluster_counters(f.cluster)->jobs, 1);
    fixture_refused(&f, fixture_join(&f, 8, 0, 2), HOOP_E_UNAVAILABLE, "");
    fixture_refused(&f, fixture_key(&f, CLUSTER_STORE_WAIT, "k"),
                    HOOP_E_UNAVAILABLE, "");

    const uint64_t leave = fixture_member(&f, CLUSTER_LEAVE, epoch, 1);

    assert_int_equal(fixture_reply(&f, leave)->status, HOOP_OK);
    fixture_deinit(&f);
}

static void
disconnect_parked_are_dropped_members_live(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const char *key = "k";
    const uint64_t wait = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_STORE_WAIT,
                                   .client = 9,
                                   .keys = {.keys = &key, .n_keys = 1}});

    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 9});
    assert_int_equal(f.actions.n_items, 0);
    assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
    assert_int_equal(cluster_counters(f.cluster)->members, 1);
    fixture_set(&f, "k", "v");
    assert_null(fixture_find(&f, wait));
    fixture_deinit(&f);
}

static void
cancel_unknown_ticket_is_nothing(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_step(&f,
                 (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = 5});
    assert_int_equal(f.actions.n_items, 0);
    assert_true(cluster_next_deadline_ns(f.cluster) == UINT64_MAX);
    fixture_deinit(&f);
}

/* What the step answers first, since its time has come, is not left for who
 * cancels it. */
static void
cancel_at_the_deadline_of_a_request_answers_it_once(void **state)
{
    struct fixture f;
    size_t n_replies = 0;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t ticket = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                   .client = 1,
                                   .watch = {.epoch = epoch, .since = 1},
                                   .deadline_ns = f.now_ns + FIXTURE_S});

    assert_null(fixture_find(&f, ticket));
    f.now_ns += FIXTURE_S;
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = ticket});
    for (size_t i = 0; i < f.actions.n_items; i++)
        n_replies += f.actions.items[i].kind == CLUSTER_REPLY &&
                     f.actions.items[i].reply.ticket == ticket;
    assert_int_equal(n_replies, 1);
    assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
    assert_int_equal(cluster_counters(f.cluster)->replies_dropped, 0);
    fixture_deinit(&f);
}

static void
step_late_leases_are_extended(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 1);

    f.now_ns += 5 * FIXTURE_S;
    const uint64_t renew = fixture_member(&f, CLUSTER_RENEW, epoch, 1);

    assert_int_equal(fixture_reply(&f, renew)->status, HOOP_OK);
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_LATE));
    assert_null(fixture_notice(&f, CLUSTER_NOTICE_LOST));
    fixture_deinit(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_create_contradicting_options_is_refused),
        cmocka_unit_test(request_unknown_job_is_not_found),
        cmocka_unit_test(request_bad_job_name_is_refused),
        cmocka_unit_test(token_first_join_sets_it_others_must_have_it),
        cmocka_unit_test(token_configured_is_that_of_every_job),
        cmocka_unit_test(role_that_is_lesser_is_denied_what_needs_more),
        cmocka_unit_test(role_that_is_lesser_joins_nothing),
        cmocka_unit_test(drain_parked_are_answered_and_joins_refused),
        cmocka_unit_test(disconnect_parked_are_dropped_members_live),
        cmocka_unit_test(cancel_unknown_ticket_is_nothing),
        cmocka_unit_test(cancel_at_the_deadline_of_a_request_answers_it_once),
        cmocka_unit_test(step_late_leases_are_extended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
