/* tests/unit/server/service/job_json_test.c - service/job_json.c and page_query.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "core/event.h"
#include "service/job_json.h"
#include "service/page_query.h"

static const struct job_json_context context = {
    .version = "1.2.3",
    .now_ns = 5 * 1000000000ull,
    .wall_offset_ns = 1700000000ull * 1000000000ull,
    .started_ns = 1000000000ull,
};

static void
assert_json(char *found, const char *expected)
{
    assert_non_null(found);
    assert_string_equal(found, expected);
    free(found);
}

static void
jobs_tell_since_when_and_not_for_how_long(void **state)
{
    struct cluster_job_summary items[] = {
        {.name = "a",
         .state = CLUSTER_JOB_RUNNING,
         .epoch = 7,
         .size = 3,
         .n_members = 2,
         .n_lost = 1,
         .age_ns = 2 * 1000000000ull},
        {.name = "b", .state = CLUSTER_JOB_ENDED, .size = 2, .n_left = 2},
    };
    const struct cluster_jobs jobs = {.items = items, .n_items = 2};
    struct job_json_context later = context;
    static const char expected[] =
        "{\"version\":\"1.2.3\",\"since_ms\":1700000001000,\"jobs\":["
        "{\"name\":\"a\",\"state\":\"running\",\"epoch\":7,\"size\":3,"
        "\"members\":2,\"lost\":1,\"left\":0,\"since_ms\":1700000003000,"
        "\"verdict\":\"\"},"
        "{\"name\":\"b\",\"state\":\"ended\",\"epoch\":0,\"size\":2,"
        "\"members\":0,\"lost\":0,\"left\":2,\"since_ms\":1700000005000,"
        "\"verdict\":\"\"}]}";

    (void)state;
    assert_json(jobs_json(&jobs, &context), expected);
    /* A second later nothing else is to be told. */
    later.now_ns += CLOCK_NS_PER_S;
    items[0].age_ns += CLOCK_NS_PER_S;
    items[1].age_ns += CLOCK_NS_PER_S;
    assert_json(jobs_json(&jobs, &later), expected);
    assert_json(jobs_json(&(struct cluster_jobs){0}, &context),
                "{\"version\":\"1.2.3\",\"since_ms\":1700000001000,"
                "\"jobs\":[]}");
}

static void
job_tells_what_each_rank_is_in(void **state)
{
    const struct cluster_member members[] = {
        {.rank = 0,
         .pid = 70,
         .host = "a",
         .state = CLUSTER_MEMBER_ACTIVE,
         .lease_left_ns = 9 * 1000000000ull,
         .reason = ""},
        {.rank = 1,
         .pid = 71,
         .host = "a",
         .state = CLUSTER_MEMBER_ACTIVE,
         .reason = ""},
        {.rank = CLUSTER_RANK_ANY,
         .pid = 72,
         .host = "b\"\n\x1b",
         .state = CLUSTER_MEMBER_LOST,
         .reason = "reset"},
    };
    const struct cluster_member_activity activities[] = {
        {.silence = "",
         .call = "barrier #3",
         .communicator = "world",
         .waits_for = "rank 1 (a:71) to send",
         .number = 3,
         .age_ms = 1500,
         .n_calls = 1},
        {.silence = "", .call = ""},
        {.silence = "it is lost", .call = ""},
    };
    const struct cluster_job_detail job = {
        .line = {.name = "j", .state = CLUSTER_JOB_RUNNING},
        .missing = "",
        .hosts = "",
        .members = members,
        .n_members = 3,
        .activities = activities,
    };

    (void)state;
    assert_json(
        job_json(&job, &context),
        "{\"name\":\"j\",\"state\":\"running\",\"epoch\":0,\"size\":0,"
        "\"members\":0,\"lost\":0,\"left\":0,\"since_ms\":1700000005000,"
        "\"verdict\":\"\",\"clock_ms\":1700000005000,\"size_min\":0,"
        "\"missing\":\"\",\"hosts\":\"\",\"ranks\":["
        "{\"rank\":0,\"state\":\"active\",\"host\":\"a\",\"pid\":70,"
        "\"lease_left_ms\":9000,\"reason\":\"\",\"activity\":{\"calls\":1,"
        "\"call\":\"barrier #3\",\"communicator\":\"world\",\"number\":3,"
        "\"age_ms\":1500,\"waits_for\":\"rank 1 (a:71) to send\"}},"
        "{\"rank\":1,\"state\":\"active\",\"host\":\"a\",\"pid\":71,"
        "\"lease_left_ms\":0,\"reason\":\"\",\"activity\":{\"calls\":0}},"
        "{\"rank\":null,\"state\":\"lost\",\"host\":\"b\\\"\\u000a\\u001b\","
        "\"pid\":72,\"lease_left_ms\":0,\"reason\":\"reset\","
        "\"activity\":{\"silence\":\"it is lost\"}}]}");
}

static void
forming_job_has_no_activities(void **state)
{
    const struct cluster_member member = {
        .rank = 2, .host = "a", .state = CLUSTER_MEMBER_JOINING, .reason = ""};
    const struct cluster_job_detail job = {
        .line = {.name = "j", .state = CLUSTER_JOB_FORMING, .size = 4},
        .size_min = 3,
        .missing = "ranks 0, 1, 3",
        .hosts = "a",
        .members = &member,
        .n_members = 1,
    };
    char *json = job_json(&job, &context);

    (void)state;
    assert_non_null(strstr(json, "\"size_min\":3,\"missing\":\"ranks 0, 1, 3\","
                                 "\"hosts\":\"a\""));
    assert_non_null(strstr(json, "\"state\":\"joining\""));
    assert_non_null(strstr(json, "\"activity\":null}]}"));
    free(json);
}

static void
notices_and_errors_are_one_line(void **state)
{
    const struct cluster_log_notice notice = {
        .kind = CLUSTER_NOTICE_LOST, .job = "j", .text = "rank 1\nis lost"};

    (void)state;
    assert_json(notice_json(notice_kind_name(notice.kind), &notice, &context),
                "{\"at_ms\":1700000005000,\"kind\":\"lost\",\"job\":\"j\","
                "\"text\":\"rank 1\\u000ais lost\"}");
    assert_json(error_json("no \"a\""), "{\"error\":\"no \\\"a\\\"\"}");
    /* Strangers cause these. */
    assert_null(notice_kind_name(CLUSTER_NOTICE_REFUSED));
}

static void
queries_are_bounded_and_known_by_their_tickets(void **state)
{
    struct page_queries *queries = calloc(1, sizeof(*queries));
    struct page_query *query = NULL;

    (void)state;
    page_queries_init(queries, queries);
    for (uint64_t i = 0; i < PAGE_QUERIES_MAX; i++) {
        query = page_query_begin(queries, i, i % 2 ? "a/b" : "");
        assert_non_null(query);
    }
    assert_null(page_query_begin(queries, 0, "a"));
    page_query_end(queries, query);
    query = page_query_begin(queries, 77, "a/b");
    assert_non_null(query);

    const struct cluster_event event = page_query_event(query, "t", 5);
    assert_int_equal(event.kind, CLUSTER_JOB);
    assert_int_equal(event.view, CLUSTER_VIEW_ACTIVITY);
    assert_int_equal(event.role, ROLE_OPERATOR);
    assert_string_equal(event.job, "a/b");
    assert_string_equal(event.token, "t");
    assert_ptr_equal(page_query_of_ticket(queries, event.ticket), query);
    assert_null(page_query_of_ticket(queries, (uint64_t)(uintptr_t)state));
    page_queries_deinit(queries);
    free(queries);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_tell_since_when_and_not_for_how_long),
        cmocka_unit_test(job_tells_what_each_rank_is_in),
        cmocka_unit_test(forming_job_has_no_activities),
        cmocka_unit_test(notices_and_errors_are_one_line),
        cmocka_unit_test(queries_are_bounded_and_known_by_their_tickets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
