/* tests/unit/server/core/cluster_test.c - dispatch, tokens, names, drain,
 * time */

#include <string.h>

#include "base/limits.h"
#include "base/role.h"
#include "check.h"
#include "core/action.h"
#include "core/cluster.h"
#include "fence.h"
#include "fixture.h"

static void
cluster_create_contradicting_options_is_refused(void **state)
{
    struct cluster *cluster = NULL;
    char token[LIMIT_TOKEN + 1];

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
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_refused(&f, fixture_set(&f, "k", "v"), HOOP_E_NOT_FOUND,
                    "no job \"a\"");
}

static void
request_bad_job_name_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);

    fixture_init(&f, &(struct cluster_options){0});
    event.job = "a\nb";
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "name");
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
}

static void
token_first_join_sets_it_others_must_have_it(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 2);

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
    assert_ok(fixture_reply(&f, fixture_step(&f, event))->status);
    fixture_refused(&f, fixture_set(&f, "k", "v"), HOOP_E_UNAUTHENTICATED,
                    "token");
    assert_int_equal(cluster_counters(f.cluster)->tokens_refused, 3);
    assert_int_equal(cluster_counters(f.cluster)->joins_refused, 2);
}

static void
token_configured_is_that_of_every_job(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);

    fixture_init(&f, &(struct cluster_options){.token = "t"});
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED, "");
    fixture_refused(&f, fixture_set(&f, "k", "v"), HOOP_E_UNAUTHENTICATED,
                    "HOOP_TOKEN");
    event.token = "t";
    assert_ok(fixture_reply(&f, fixture_step(&f, event))->status);
}

/* A question for role, with the token of shown: its status. */
static enum hoop_status
ask_as(struct fixture *f, enum role role, enum role shown)
{
    char token[LIMIT_TOKEN] = "wrong";
    struct cluster_event event = {
        .kind = CLUSTER_JOB, .role = role, .token = token};

    if (shown != ROLE_ANYBODY)
        assert_ok(role_derive_token(shown, "t", token));

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
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);

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
}

static void
role_that_is_lesser_joins_nothing(void **state)
{
    struct fixture f;
    char token[LIMIT_TOKEN];
    struct cluster_event event = fixture_join_event(1, 0, 2);

    assert_ok(role_derive_token(ROLE_OPERATOR, "t", token));
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
    CLEANUP(fixture_deinit) struct fixture f;

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

    assert_ok(fixture_reply(&f, leave)->status);
}

static void
disconnect_parked_are_dropped_members_live(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

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
}

static void
cancel_unknown_ticket_is_nothing(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_step(&f,
                 (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = 5});
    assert_int_equal(f.actions.n_items, 0);
    assert_true(cluster_next_deadline_ns(f.cluster) == UINT64_MAX);
}

/* What the step answers first, since its time has come, is not left for who
 * cancels it. */
static void
cancel_at_the_deadline_of_a_request_answers_it_once(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    size_t n_replies = 0;

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
}

static void
step_late_leases_are_extended(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000});
    const uint64_t epoch = fixture_world(&f, 1);

    f.now_ns += 5 * FIXTURE_S;
    const uint64_t renew = fixture_member(&f, CLUSTER_RENEW, epoch, 1);

    assert_ok(fixture_reply(&f, renew)->status);
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_STEPPED_LATE));
    assert_null(fixture_notice(&f, CLUSTER_NOTICE_LOST));
}

static void
token_only_the_same_text_matches(void **state)
{
    static const char *const texts[] = {"", "a", "b", "ab", "aB", "abc"};
    struct token token;

    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            assert_ok(token_derive_roles(&token, texts[i]));
            assert_int_equal(token_find_role(&token, texts[j]),
                             i == j ? ROLE_WORKER : ROLE_ANYBODY);
        }
}

static void
token_null_is_empty(void **state)
{
    struct token token;

    assert_ok(token_derive_roles(&token, NULL));
    assert_int_equal(token_find_role(&token, ""), ROLE_WORKER);
    assert_int_equal(token_find_role(&token, NULL), ROLE_WORKER);
    assert_int_equal(token_find_role(&token, "x"), ROLE_ANYBODY);
}

static void
token_too_long_is_refused_and_never_matches(void **state)
{
    struct token token;
    char text[LIMIT_TOKEN + 1] = {0};

    memset(text, 'x', LIMIT_TOKEN - 1);
    assert_ok(token_derive_roles(&token, text));
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

    assert_ok(token_derive_roles(&whole, "right"));
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

    assert_ok(token_derive_roles(&token, "secret"));
    for (enum role role = ROLE_OPERATOR; role < ROLE_ANYBODY; role++) {
        assert_ok(role_derive_token(role, "secret", text));
        assert_int_equal(token_find_role(&token, text), role);
        assert_int_equal(token_derive_roles(&other, text), HOOP_E_DENIED);
        assert_ok(role_derive_token(role, "Secret", text));
        assert_int_equal(token_find_role(&token, text), ROLE_ANYBODY);
    }
}

static void
action_list_many_actions_keep_their_texts(void **state)
{
    struct action_list action_list = {0};

    for (unsigned int i = 0; i < 5000; i++)
        action_list_fail_reply(&action_list,
                               action_list_add_reply(&action_list, i),
                               HOOP_E_ABORTED, "%u", i);
    assert_int_equal(action_list.n_actions, 5000);
    assert_int_equal(action_list.actions[4999].reply.ticket, 4999);
    assert_string_equal(action_list.actions[0].reply.text, "0");
    assert_string_equal(action_list.actions[4999].reply.text, "4999");
    action_list_clear(&action_list);
    assert_int_equal(action_list.n_actions, 0);
    assert_true(action_list.n_room <= LIMIT_LIST_PAGE_ENTRIES);
    assert_string_equal(action_list_add_reply(&action_list, 1)->text, "");
    action_list_deinit(&action_list);
}

static void
action_list_memory_is_zeroed_and_aligned(void **state)
{
    struct action_list action_list = {0};

    for (size_t n_bytes = 0; n_bytes < 40000; n_bytes += 997) {
        char *memory = action_list_alloc(&action_list, n_bytes, 1);

        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < n_bytes; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 1, n_bytes);
    }
    assert_string_equal(action_list_copy_text(&action_list, NULL), "");
    action_list_deinit(&action_list);
}

static void
action_list_notice_copies_job_and_text(void **state)
{
    struct action_list action_list = {0};
    char job[] = "a";

    action_list_add_notice(&action_list,
                           &(struct cluster_log_notice){.job = job, .rank = 3},
                           "rank %u", 3U);
    job[0] = 'b';
    assert_int_equal(action_list.actions[0].kind, CLUSTER_LOG_NOTICE);
    assert_string_equal(action_list.actions[0].notice.job, "a");
    assert_string_equal(action_list.actions[0].notice.text, "rank 3");
    action_list_deinit(&action_list);
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
        cmocka_unit_test(token_only_the_same_text_matches),
        cmocka_unit_test(token_null_is_empty),
        cmocka_unit_test(token_too_long_is_refused_and_never_matches),
        cmocka_unit_test(token_matches_reads_on_where_they_differ),
        cmocka_unit_test(token_of_a_lesser_role_is_known_and_no_secret),
        cmocka_unit_test(action_list_many_actions_keep_their_texts),
        cmocka_unit_test(action_list_memory_is_zeroed_and_aligned),
        cmocka_unit_test(action_list_notice_copies_job_and_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
