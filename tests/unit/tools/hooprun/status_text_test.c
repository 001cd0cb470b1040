/* tests/unit/tools/hooprun/status_text_test.c - hooprun/status_text.c */

#include "check.h"
/* after cmocka */
#include <string.h>

#include "base/cleanup.h"
#include "hooprun/status_text.h"

enum {
    N_RANKS = 4,
    LEASE_MS = 9000,
};

struct fixture {
    struct status_text status;
    struct hoop_control_rank ranks[N_RANKS];
    struct hoop_control_rank_totals totals[N_RANKS];
    struct hoop_control_activity activities[N_RANKS];
    struct hoop_control_roster roster;
    int64_t now_ms;
    char text[STATUS_TEXT_MAX];
};

static void
fixture_init(struct fixture *f)
{
    *f = (struct fixture){.now_ms = 1000000};
    f->roster = (struct hoop_control_roster){.job = {.state = "running"},
                                             .n_ranks = N_RANKS,
                                             .ranks = f->ranks,
                                             .missing = "",
                                             .hosts = ""};
    for (uint32_t i = 0; i < N_RANKS; i++)
        f->ranks[i] = (struct hoop_control_rank){.rank = i,
                                                 .incarnation = i + 1,
                                                 .state = "active",
                                                 .lease_left_ms = LEASE_MS,
                                                 .totals = &f->totals[i]};
}

/* So much later the leases are renewed, or all but that of one rank. */
static void
fixture_go_on(struct fixture *f, uint32_t ms)
{
    f->now_ms += ms;
}

static const char *
fixture_line(struct fixture *f)
{
    assert_true(status_text_update(&f->status, &f->roster, f->now_ms));
    status_text_format(&f->status, &f->roster, NULL, f->text);
    return f->text;
}

/* What each rank does from one renewal to the next. */
static void
totals_add(struct fixture *f,
           uint32_t rank,
           struct hoop_control_rank_totals gain)
{
    f->totals[rank].calls += gain.calls;
    f->totals[rank].bytes_sent += gain.bytes_sent;
    f->totals[rank].wait_us += gain.wait_us;
}

static void
rates_are_those_between_two_renewals(void **state)
{
    struct fixture f;

    fixture_init(&f);
    assert_string_equal(fixture_line(&f), "hoop: 4 ranks");
    fixture_go_on(&f, 4000);
    for (uint32_t i = 0; i < N_RANKS; i++)
        totals_add(&f, i,
                   (struct hoop_control_rank_totals){.calls = 6000,
                                                     .bytes_sent = 2000000});
    assert_string_equal(fixture_line(&f),
                        "hoop: 4 ranks, 1.50 kcalls/s each, 2.00 MB/s");

    /* A second later nobody has renewed its lease, which is shorter. */
    fixture_go_on(&f, 1000);
    for (uint32_t i = 0; i < N_RANKS; i++)
        f.ranks[i].lease_left_ms = LEASE_MS - 1000;
    assert_string_equal(fixture_line(&f),
                        "hoop: 4 ranks, 1.50 kcalls/s each, 2.00 MB/s");

    /* Who tells nothing more is not counted: its renewal is late after 7 s. */
    for (int i = 0; i < 6; i++) {
        fixture_go_on(&f, 1000);
        for (uint32_t j = 1; j < N_RANKS; j++)
            f.ranks[j].lease_left_ms = LEASE_MS - 1000;
        for (uint32_t j = 1; j < N_RANKS; j++)
            totals_add(&f, j, (struct hoop_control_rank_totals){.calls = 10});
        f.ranks[0].lease_left_ms = f.ranks[0].lease_left_ms > 1000
                                       ? f.ranks[0].lease_left_ms - 1000
                                       : 0;
        (void)fixture_line(&f);
    }
    assert_string_equal(fixture_line(&f),
                        "hoop: 4 ranks, 10.0 calls/s each, 0 B/s");
    status_text_deinit(&f.status);
}

static void
rank_that_waits_least_is_the_slow_one(void **state)
{
    struct fixture f;

    fixture_init(&f);
    (void)fixture_line(&f);
    fixture_go_on(&f, 1000);
    for (uint32_t i = 0; i < N_RANKS; i++)
        totals_add(&f, i,
                   (struct hoop_control_rank_totals){
                       .calls = 10, .wait_us = i == 2 ? 50000 : 800000});
    assert_string_equal(fixture_line(&f),
                        "hoop: 4 ranks, 10.0 calls/s each, 0 B/s; rank 2 is "
                        "slow: others wait 80% of the time");
    /* Now all wait for each other alike, as over a slow network. */
    fixture_go_on(&f, 1000);
    for (uint32_t i = 0; i < N_RANKS; i++)
        totals_add(
            &f, i,
            (struct hoop_control_rank_totals){.calls = 10, .wait_us = 700000});
    assert_string_equal(fixture_line(&f),
                        "hoop: 4 ranks, 10.0 calls/s each, 0 B/s");
    assert_false(status_text_is_stuck(&f.status));
    status_text_deinit(&f.status);
}

static void
stuck_job_shows_who_is_awaited(void **state)
{
    struct fixture f;

    fixture_init(&f);
    (void)fixture_line(&f);
    assert_false(status_text_is_stuck(&f.status));
    fixture_go_on(&f, 1000);
    totals_add(&f, 0, (struct hoop_control_rank_totals){.wait_us = 1000000});
    f.ranks[3].state = "lost";
    (void)fixture_line(&f);
    assert_true(status_text_is_stuck(&f.status));
    for (uint32_t i = 0; i < N_RANKS; i++) {
        f.activities[i] = (struct hoop_control_activity){.waits_for = ""};
        f.ranks[i].activity = &f.activities[i];
    }
    f.activities[1] = (struct hoop_control_activity){
        .waits_for = "rank 2 (a:7)", .age_ms = 2000};
    f.activities[0] = (struct hoop_control_activity){
        .waits_for = "rank 2 (\x1b[2J:7)", .age_ms = 12300};
    status_text_format(&f.status, &f.roster, &f.roster, f.text);
    assert_string_equal(
        f.text, "hoop: 3 ranks, 1 lost, 0 calls/s each, 0 B/s; rank 0 waits "
                "since 12 s for rank 2 (\\u001b[2J:7)");
    status_text_deinit(&f.status);
}

static void
forming_job_shows_who_is_missing(void **state)
{
    struct fixture f;

    fixture_init(&f);
    f.roster.job = (struct hoop_control_job){
        .state = "forming", .n_members = 2, .size = 4};
    f.roster.missing = "ranks 1, 3";
    f.roster.n_ranks = 2;
    assert_string_equal(fixture_line(&f),
                        "hoop: 2 of 4 ranks have joined, missing: ranks 1, 3");
    status_text_deinit(&f.status);
}

/* Another worker has the rank, whose totals begin again. */
static void
rank_of_another_worker_has_no_rates_yet(void **state)
{
    struct fixture f;

    fixture_init(&f);
    for (uint32_t i = 0; i < N_RANKS; i++)
        f.totals[i].calls = 1000;
    (void)fixture_line(&f);
    fixture_go_on(&f, 1000);
    f.ranks[0].incarnation = 77;
    f.totals[0].calls = 5000;
    for (uint32_t i = 1; i < N_RANKS; i++)
        f.totals[i].calls += 5;
    assert_string_equal(fixture_line(&f),
                        "hoop: 4 ranks, 5.0 calls/s each, 0 B/s");
    status_text_deinit(&f.status);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_between_two_renewals),
        cmocka_unit_test(rank_that_waits_least_is_the_slow_one),
        cmocka_unit_test(stuck_job_shows_who_is_awaited),
        cmocka_unit_test(forming_job_shows_who_is_missing),
        cmocka_unit_test(rank_of_another_worker_has_no_rates_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
