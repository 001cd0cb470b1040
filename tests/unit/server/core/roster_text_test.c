/* tests/unit/server/core/roster_text_test.c - who is missing, in words */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core/roster_text.h"
#include "fixture.h"

/* The text when nobody else comes. */
static void
roster_text_expect(struct fixture *f, uint64_t ticket, const char *part)
{
    fixture_next(f);
    fixture_refused(f, ticket, HOOP_E_TIMEOUT, part);
}

static void
roster_text_no_requests_counts_workers(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 1; i < 3; i++)
        fixture_join(&f, i, CLUSTER_RANK_ANY, 4);
    roster_text_expect(
        &f, fixture_join(&f, 3, CLUSTER_RANK_ANY, 4),
        "3 of 4 have joined: h:1, h:2, h:3; missing: 1 more worker");
    fixture_deinit(&f);
}

static void
roster_text_some_requests_name_the_free_ranks(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 5);
    roster_text_expect(&f, fixture_join(&f, 2, CLUSTER_RANK_ANY, 5),
                       "2 of 5 have joined: rank 1 (h:1), h:2; missing: 3 more "
                       "workers for the ranks 0, 2-4");
    fixture_deinit(&f);
}

static void
roster_text_unknown_size_says_how_to_give_it(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    roster_text_expect(&f, fixture_join(&f, 1, 0, 0), "HOOP_WORLD_SIZE");
    fixture_deinit(&f);
}

static void
roster_text_range_says_how_many_are_enough(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 8, .size_min = 3});
    roster_text_expect(
        &f, fixture_join(&f, 1, 7, 0),
        "1 of 3 to 8 has joined: rank 7 (h:1); missing: at least 2 "
        "more workers");
    fixture_deinit(&f);
}

static void
roster_text_many_are_not_all_named(void **state)
{
    struct fixture f;
    uint64_t ticket = 0;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 20; i++)
        ticket = fixture_join(&f, 1 + i, 2 * i, 100);
    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT, "and 12 more");
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT,
                    "1, 3, 5, 7, 9, 11, 13, 15, ...");
    fixture_deinit(&f);
}

/* Of job "a". */
static const struct cluster_job_detail *
job_ask(struct fixture *f)
{
    const uint64_t ticket =
        fixture_step(f, (struct cluster_event){.kind = CLUSTER_JOB,
                                               .view = CLUSTER_VIEW_BRIEF});

    return &fixture_reply(f, ticket)->job;
}

static void
roster_text_before_the_deadline_says_for_whom_it_waits(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){
                         .world_size = 8, .size_min = 3, .settle_ms = 2500});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 0);
    assert_string_equal(job_ask(&f)->missing, "at least 2 more workers");
    fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);
    assert_string_equal(job_ask(&f)->missing, "at least 1 more worker");
    fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);
    assert_string_equal(job_ask(&f)->missing,
                        "others, until nobody has come for 2.5 s");
    assert_int_equal(job_ask(&f)->size_min, 3);
    fixture_join(&f, 4, 5, 0);
    assert_string_equal(job_ask(&f)->missing,
                        "2 more workers for the ranks 0-4");
    fixture_deinit(&f);
}

static void
roster_text_without_a_size_misses_the_size(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 0);
    assert_string_equal(job_ask(&f)->missing, "");
    assert_int_equal(job_ask(&f)->line.size, 0);
    fixture_join(&f, 2, 0, 3);
    assert_string_equal(job_ask(&f)->missing, "rank 2");
    fixture_deinit(&f);
}

static void
roster_text_names_each_host_once_and_not_all(void **state)
{
    struct fixture f;
    char host[8];

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 100});
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(host, sizeof(host), "n%u", i / 2);
        fixture_step(&f,
                     (struct cluster_event){
                         .kind = CLUSTER_JOIN,
                         .join = {.incarnation = 1 + i,
                                  .protocol_version = CLUSTER_PROTOCOL_VERSION,
                                  .rank = CLUSTER_RANK_ANY,
                                  .pid = 1,
                                  .host = host,
                                  .address = "n:1"}});
        if (i == 3)
            assert_string_equal(job_ask(&f)->hosts, "n0, n1");
    }
    assert_string_equal(job_ask(&f)->hosts,
                        "n0, n1, n2, n3, n4, n5, n6, n7, ...");
    fixture_deinit(&f);
}

static void
text_buffer_parts_are_joined(void **state)
{
    struct text_buffer text_buffer = {0};

    (void)state;
    text_buffer_append(&text_buffer, "%d of %d", 3, 4);
    text_buffer_append(&text_buffer, "; %s", "rank 3");
    assert_string_equal(text_buffer.text, "3 of 4; rank 3");
}

static void
text_buffer_too_long_is_cut_and_says_so(void **state)
{
    struct text_buffer text_buffer = {0};

    (void)state;
    for (int i = 0; i < 500; i++)
        text_buffer_append(&text_buffer, "part %d, ", i);
    assert_int_equal(strlen(text_buffer.text), LIMIT_ERROR_TEXT - 1);
    assert_string_equal(text_buffer.text + LIMIT_ERROR_TEXT - 4, "...");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roster_text_no_requests_counts_workers),
        cmocka_unit_test(roster_text_some_requests_name_the_free_ranks),
        cmocka_unit_test(roster_text_unknown_size_says_how_to_give_it),
        cmocka_unit_test(roster_text_range_says_how_many_are_enough),
        cmocka_unit_test(roster_text_many_are_not_all_named),
        cmocka_unit_test(
            roster_text_before_the_deadline_says_for_whom_it_waits),
        cmocka_unit_test(roster_text_without_a_size_misses_the_size),
        cmocka_unit_test(roster_text_names_each_host_once_and_not_all),
        cmocka_unit_test(text_buffer_parts_are_joined),
        cmocka_unit_test(text_buffer_too_long_is_cut_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
