/* tests/unit/server/service/job_json_test.c - service/job_json.c, page_query.c
 * and page_verdicts.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "core/event.h"
#include "rpc/messages/status_messages.h"
#include "service/job_json.h"
#include "service/page_query.h"
#include "wire/pack.h"

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

static const struct page_verdicts nothing_known;

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
        "{\"version\":\"1.2.3\",\"since_ms\":1700000001000,\"jobs\":[\n"
        "{\"name\":\"a\",\"state\":\"running\",\"epoch\":7,\"size\":3,"
        "\"members\":2,\"lost\":1,\"left\":0,\"since_ms\":1700000003000,"
        "\"is_held_up\":false,\"verdict\":\"\"},\n"
        "{\"name\":\"b\",\"state\":\"ended\",\"epoch\":0,\"size\":2,"
        "\"members\":0,\"lost\":0,\"left\":2,\"since_ms\":1700000005000,"
        "\"is_held_up\":false,\"verdict\":\"\"}\n]}";

    (void)state;
    assert_json(jobs_json(&jobs, &nothing_known, &context), expected);
    /* A second later nothing else is to be told. */
    later.now_ns += CLOCK_NS_PER_S;
    items[0].age_ns += CLOCK_NS_PER_S;
    items[1].age_ns += CLOCK_NS_PER_S;
    assert_json(jobs_json(&jobs, &nothing_known, &later), expected);
    assert_json(jobs_json(&(struct cluster_jobs){0}, &nothing_known, &context),
                "{\"version\":\"1.2.3\",\"since_ms\":1700000001000,"
                "\"jobs\":[\n]}");
}

static const struct cluster_member_activity activities[3] = {
    {.silence = "",
     .call = "hoop_comm_create (3 ranks)",
     .communicator = "",
     .waits_for = "rank 1 (a:71)",
     .number = 3,
     .age_ms = 1500,
     .n_calls = 1,
     .missing_rank = 1},
    {.silence = "", .call = "", .missing_rank = CLUSTER_RANK_ANY},
    {.silence = "it is lost", .call = "", .missing_rank = CLUSTER_RANK_ANY},
};

static void
job_tells_what_each_rank_is_in(void **state)
{
    const struct cluster_member members[] = {
        {.rank = 0,
         .pid = 70,
         .host = "a",
         .state = CLUSTER_MEMBER_ACTIVE,
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
    const struct cluster_job_detail job = {
        .line = {.name = "j", .state = CLUSTER_JOB_RUNNING},
        .missing = "",
        .hosts = "",
        .members = members,
        .n_members = 3,
        .activities = activities,
    };

    struct verdict verdict;

    (void)state;
    assert_json(
        job_json(&job, &context, &verdict),
        "{\"name\":\"j\",\"state\":\"running\",\"epoch\":0,\"size\":0,"
        "\"members\":0,\"lost\":0,\"left\":0,\"since_ms\":1700000005000,"
        "\"is_held_up\":true,\"verdict\":\"A communicator is half joined: rank "
        "1 "
        "(a:71) has not called to create it; rank 0 (a:70) waits in "
        "hoop_comm_create (3 ranks) for 1.5 s.\",\"kind\":\"half-joined\","
        "\"advice\":\"Look at what rank 1 (a:71) does instead: all members of "
        "a communicator must create it, in the same order.\","
        "\"culprits\":[1],"
        "\"clock_ms\":1700000005000,\"size_min\":0,"
        "\"missing\":\"\",\"hosts\":\"\",\"ranks\":[\n"
        "{\"rank\":0,\"state\":\"active\",\"host\":\"a\",\"pid\":70,"
        "\"reason\":\"\",\"activity\":{\"calls\":1,"
        "\"call\":\"hoop_comm_create (3 "
        "ranks)\",\"communicator\":\"\",\"number\":3,"
        "\"since_ms\":1700000003500,\"waits_for\":\"rank 1 (a:71)\","
        "\"awaited_rank\":1}},\n"
        "{\"rank\":1,\"state\":\"active\",\"host\":\"a\",\"pid\":71,"
        "\"reason\":\"\",\"activity\":{\"calls\":0}},\n"
        "{\"rank\":null,\"state\":\"lost\",\"host\":\"b\\\"\\u000a\\u001b\","
        "\"pid\":72,\"reason\":\"reset\","
        "\"activity\":{\"silence\":\"it is lost\"}}\n"
        "],\"order\":[1,2,0]}");
}

/* Return the JSON of the one rank of a job, which has told details. The caller
 * frees it. */
static char *
json_of_details(struct message_span details)
{
    const struct cluster_member member = {
        .host = "a", .state = CLUSTER_MEMBER_ACTIVE, .reason = ""};
    const struct cluster_member_activity activity = {
        .silence = "",
        .call = "barrier #3",
        .communicator = "",
        .waits_for = "rank 12 (a:82) to send",
        .number = 3,
        .n_calls = 1,
        .missing_rank = CLUSTER_RANK_ANY,
        .details = details.bytes,
        .n_details = details.n_bytes};
    struct verdict verdict;

    return job_json(
        &(struct cluster_job_detail){
            .line = {.name = "j", .state = CLUSTER_JOB_RUNNING},
            .missing = "",
            .hosts = "",
            .members = &member,
            .n_members = 1,
            .activities = &activity},
        &context, &verdict);
}

static void
call_has_numbers_of_what_its_rank_has_told(void **state)
{
    static const struct {
        uint64_t communicator; /* one more than the coordinator's number */
        uint32_t awaited;
        const char *end;
    } cases[] = {
        {6, 12, "to send\",\"awaited_rank\":12,\"communicator_id\":5}}\n],"},
        {1, 0, "to send\",\"awaited_rank\":0}}\n],"},
        {0, STATUS_RANK_NONE, "to send\"}}\n],"},
    };
    static const uint8_t nonsense[] = {0xc1};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(pack_deinit) struct pack pack;
        CLEANUP(free) uint8_t *bytes = NULL;
        size_t n_bytes = 0;

        pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
        activity_details_encode(
            &(struct activity_details){.communicator_id = cases[i].communicator,
                                       .awaited_rank = cases[i].awaited},
            &pack);
        assert_ok(pack_take(&pack, &bytes, &n_bytes));
        CLEANUP(free)
        char *json = json_of_details((struct message_span){bytes, n_bytes});
        assert_non_null(strstr(json, cases[i].end));
    }
    CLEANUP(free)
    char *json = json_of_details((struct message_span){nonsense, 1});
    assert_non_null(strstr(json, "to send\"}}\n],"));
    CLEANUP(free) char *older = json_of_details((struct message_span){0});
    assert_non_null(strstr(older, "to send\"}}\n],"));
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
    struct verdict verdict;
    char *json = job_json(&job, &context, &verdict);

    (void)state;
    assert_non_null(strstr(json, "\"size_min\":3,\"missing\":\"ranks 0, 1, 3\","
                                 "\"hosts\":\"a\""));
    assert_non_null(strstr(json, "\"state\":\"joining\""));
    assert_non_null(strstr(json, "\"activity\":null}\n],\"order\":[0]}"));
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
    assert_string_equal(notice_kind_name(CLUSTER_NOTICE_GROWN), "grown");
    assert_string_equal(notice_kind_name(CLUSTER_NOTICE_SHRUNK), "shrunk");
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
    assert_int_equal(event.kind, CLUSTER_WHY);
    assert_int_equal(event.role, ROLE_OPERATOR);
    assert_string_equal(event.job, "a/b");
    assert_string_equal(event.token, "t");
    assert_ptr_equal(page_query_of_ticket(queries, event.ticket), query);
    assert_null(page_query_of_ticket(queries, (uint64_t)(uintptr_t)state));
    page_queries_deinit(queries);
    free(queries);
}

static struct cluster_job_summary
running_job(const char *name, uint32_t size)
{
    return (struct cluster_job_summary){.name = name,
                                        .state = CLUSTER_JOB_RUNNING,
                                        .epoch = 7,
                                        .size = size,
                                        .age_ns = CLOCK_NS_PER_S};
}

/* The first is of a page, which is told of it, and the other is not. */
static const struct page_query page_asks = {.number = 1};
static const struct page_query list_asks = {.number = PAGE_QUERY_FOR_VERDICT};

/* Each reply on a job keeps its verdict for the list. */
static void
list_shows_the_verdicts_of_replies(void **state)
{
    struct page_verdicts *verdicts = calloc(1, sizeof(*verdicts));
    struct cluster_job_summary items[] = {running_job("a", 2),
                                          running_job("b", 2)};
    const struct cluster_reply list = {.kind = CLUSTER_REPLY_JOBS,
                                       .jobs = {.items = items, .n_items = 2}};
    const struct cluster_reply why = {
        .kind = CLUSTER_REPLY_WHY,
        .job = {.line = items[1], .missing = "", .hosts = ""}};
    struct job_json_context later = context;

    (void)state;
    free(page_query_take_reply(&page_asks, &list, &context, verdicts));
    assert_null(page_query_take_reply(&list_asks, &why, &context, verdicts));
    char *json = page_query_take_reply(&page_asks, &list, &context, verdicts);
    assert_non_null(strstr(
        json, "\"is_held_up\":false,\"verdict\":\"\"},\n{\"name\":\"b\""));
    assert_non_null(strstr(json, "\"verdict\":\"Nothing is stuck: "));
    free(json);

    /* Another job of the name has none. */
    items[1].epoch = 8;
    json = page_query_take_reply(&page_asks, &list, &context, verdicts);
    assert_null(strstr(json, "Nothing is stuck"));
    free(json);

    /* After a pause, what was true is true no more. */
    items[1].epoch = 7;
    free(page_query_take_reply(&page_asks, &list, &context, verdicts));
    assert_null(page_query_take_reply(&list_asks, &why, &context, verdicts));
    later.now_ns += 6 * CLOCK_NS_PER_S;
    items[0].age_ns += 6 * CLOCK_NS_PER_S;
    items[1].age_ns += 6 * CLOCK_NS_PER_S;
    json = page_query_take_reply(&page_asks, &list, &later, verdicts);
    assert_null(strstr(json, "Nothing is stuck"));
    free(json);
    page_verdicts_deinit(verdicts);
    free(verdicts);
}

/* What a page is told of its job counts for the list, which does not ask again
 * as long as the page does. */
static void
job_of_a_page_has_no_turns(void **state)
{
    struct page_verdicts *verdicts = calloc(1, sizeof(*verdicts));
    struct cluster_job_summary items[] = {running_job("5", 2)};
    const struct cluster_reply list = {.kind = CLUSTER_REPLY_JOBS,
                                       .jobs = {.items = items, .n_items = 1}};
    const struct cluster_reply why = {
        .kind = CLUSTER_REPLY_WHY,
        .job = {.line = items[0], .missing = "", .hosts = ""}};
    uint64_t now_ns = context.now_ns;

    (void)state;
    free(page_query_take_reply(&page_asks, &list, &context, verdicts));
    char *json = page_query_take_reply(&page_asks, &why, &context, verdicts);
    assert_non_null(strstr(json, "\"verdict\":\"Nothing is stuck: "));
    free(json);
    assert_string_equal(
        page_verdicts_find(verdicts, &items[0], now_ns)->sentence,
        "Nothing is stuck: no rank is in a call of hoop.");
    now_ns += CLOCK_NS_PER_S;
    assert_null(page_verdicts_take_turn(verdicts, now_ns));
    now_ns += 2 * CLOCK_NS_PER_S;
    assert_string_equal(page_verdicts_take_turn(verdicts, now_ns), "5");
    page_verdicts_deinit(verdicts);
    free(verdicts);
}

/* Take the turns of one second, count them by job, and return their number. */
static size_t
turns_take(struct page_verdicts *verdicts,
           uint64_t now_ns,
           unsigned char counts[100])
{
    const char *job = NULL;
    size_t n = 0;

    while ((job = page_verdicts_take_turn(verdicts, now_ns))) {
        counts[strtoul(job, NULL, 10)]++;
        n++;
    }
    return n;
}

/* A hundred jobs are not asked in each second, but all in turn. */
static void
jobs_take_turns(void **state)
{
    struct page_verdicts *verdicts = calloc(1, sizeof(*verdicts));
    struct cluster_job_summary items[100];
    char names[100][8];
    unsigned char counts[100] = {0};
    const struct cluster_jobs jobs = {.items = items, .n_items = 100};
    uint64_t now_ns = context.now_ns;

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        items[i] = running_job(names[i], 4);
    }
    for (size_t second = 0; second < 7; second++) {
        page_verdicts_list(verdicts, &jobs, now_ns);
        assert_in_range(turns_take(verdicts, now_ns, counts), 4, 16);
        /* Whoever else looks in the same second asks nobody. */
        if (second < 6)
            assert_int_equal(turns_take(verdicts, now_ns, counts), 0);
        now_ns += CLOCK_NS_PER_S;
        for (size_t i = 0; i < 100; i++)
            items[i].age_ns += CLOCK_NS_PER_S;
    }
    for (size_t i = 0; i < 100; i++)
        assert_in_range(counts[i], 1, 2);

    /* Large ones ask fewer. */
    memset(counts, 0, sizeof(counts));
    for (size_t i = 0; i < 100; i++)
        items[i].size = 300;
    page_verdicts_list(verdicts, &jobs, now_ns);
    assert_int_equal(turns_take(verdicts, now_ns, counts), 4);
    page_verdicts_deinit(verdicts);
    free(verdicts);
}

/* What has ended only ages, and of several of one name the last is told of. */
static void
ended_jobs_are_asked_seldom(void **state)
{
    struct page_verdicts *verdicts = calloc(1, sizeof(*verdicts));
    struct cluster_job_summary items[2] = {
        {.name = "5",
         .state = CLUSTER_JOB_ENDED,
         .age_ns = 40 * CLOCK_NS_PER_S},
        {.name = "5",
         .state = CLUSTER_JOB_ENDED,
         .age_ns = 80 * CLOCK_NS_PER_S},
    };
    const struct cluster_jobs jobs = {.items = items, .n_items = 2};
    const struct verdict verdict = {.sentence = "It ended."};
    unsigned char counts[100] = {0};
    uint64_t now_ns = 100 * CLOCK_NS_PER_S;

    (void)state;
    for (size_t second = 0; second < 6; second++) {
        page_verdicts_list(verdicts, &jobs, now_ns);
        if (turns_take(verdicts, now_ns, counts) > 0)
            page_verdicts_keep(verdicts, &items[0], &verdict, now_ns);
        assert_int_equal(counts[5], 1);
        assert_non_null(page_verdicts_find(verdicts, &items[0], now_ns));
        assert_null(page_verdicts_find(verdicts, &items[1], now_ns));
        now_ns += CLOCK_NS_PER_S;
        items[0].age_ns += CLOCK_NS_PER_S;
        items[1].age_ns += CLOCK_NS_PER_S;
    }
    now_ns += CLOCK_NS_PER_S;
    items[0].age_ns += CLOCK_NS_PER_S;
    items[1].age_ns += CLOCK_NS_PER_S;
    page_verdicts_list(verdicts, &jobs, now_ns);
    assert_int_equal(turns_take(verdicts, now_ns, counts), 1);
    page_verdicts_deinit(verdicts);
    free(verdicts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_tell_since_when_and_not_for_how_long),
        cmocka_unit_test(job_tells_what_each_rank_is_in),
        cmocka_unit_test(forming_job_has_no_activities),
        cmocka_unit_test(call_has_numbers_of_what_its_rank_has_told),
        cmocka_unit_test(notices_and_errors_are_one_line),
        cmocka_unit_test(queries_are_bounded_and_known_by_their_tickets),
        cmocka_unit_test(list_shows_the_verdicts_of_replies),
        cmocka_unit_test(job_of_a_page_has_no_turns),
        cmocka_unit_test(jobs_take_turns),
        cmocka_unit_test(ended_jobs_are_asked_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
