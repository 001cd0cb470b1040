/* tests/unit/worker/session/join_notice_test.c - what a join says it waits
 * for */

#include "check.h"
#include "session/join_notice.h"
#include "session/rendezvous.h"

static const struct config config = {
    .coordinator = "10.0.0.1:4667",
    .job = "train",
    .rank = 1,
};
static const struct config grown = {
    .coordinator = "10.0.0.1:4667",
    .job = "train+1.2.3",
    .place.root = "train",
    .rank = RENDEZVOUS_RANK_ANY,
};

static void
assert_job(const struct config *of,
           const struct job_reply *job,
           const char *expected)
{
    char text[LIMIT_ERROR_TEXT];

    join_notice_describe_job(of, job, text);
    assert_string_equal(text, expected);
}

static void
join_without_a_coordinator_says_why(void **state)
{
    static const char *const rows[][2] = {
        {"cannot connect: Connection refused",
         "waiting for hoopd at 10.0.0.1:4667: cannot connect: Connection "
         "refused"},
        {"", "waiting for hoopd at 10.0.0.1:4667: no answer yet"},
    };
    char text[LIMIT_ERROR_TEXT];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        join_notice_describe_unreachable(&config, rows[i][0], text);
        assert_string_equal(text, rows[i][1]);
    }
}

static void
join_says_who_has_come_and_who_has_not(void **state)
{
    struct job_reply job = {
        .line = {.state = "forming", .size = 4, .n_members = 2},
        .size_min = 4,
        .missing = "ranks 0, 3",
        .hosts = "a, b",
    };

    assert_job(&config, &job,
               "joined job 'train' as rank 1; waiting for ranks 0, 3; 2 of 4 "
               "are here: hosts a, b");
    job.size_min = 2;
    assert_job(&grown, &job,
               "joined job 'train'; waiting for ranks 0, 3; 2 of 2 to 4 are "
               "here: hosts a, b");
}

static void
join_of_an_older_coordinator_says_what_it_knows(void **state)
{
    const struct job_reply job = {
        .line = {.state = "forming", .size = 4, .n_members = 1},
    };

    assert_job(&config, &job,
               "joined job 'train' as rank 1; waiting for others; 1 of 4 is "
               "here");
}

static void
join_without_a_size_says_how_to_give_one(void **state)
{
    const struct job_reply job = {
        .line = {.state = "forming", .n_members = 1},
        .hosts = "a",
    };

    assert_job(&config, &job,
               "joined job 'train' as rank 1; nobody has given a world size "
               "yet: set HOOP_WORLD_SIZE, or world_size in the options of "
               "hoop_join(), for one rank at least, or start hoopd with "
               "--world-size; 1 is here: host a");
}

static void
join_that_is_refused_for_now_says_why(void **state)
{
    char text[LIMIT_ERROR_TEXT];

    join_notice_describe_refusal(&config, "job \"train\" is full", text);
    assert_string_equal(text,
                        "waiting to join job 'train': job \"train\" is full");
}

static void
join_of_a_silent_coordinator_says_so(void **state)
{
    char text[LIMIT_ERROR_TEXT];

    join_notice_describe_no_answer(&config, "", text);
    assert_string_equal(text, "waiting for hoopd at 10.0.0.1:4667: it is "
                              "connected, but does not answer");
    join_notice_describe_no_answer(&config, "no such method", text);
    assert_string_equal(text,
                        "waiting for job 'train' to form; hoopd at "
                        "10.0.0.1:4667 does not say who has come: no such "
                        "method");
}

/* When a join ends that is refused whenever it tries, each answer taking
 * answer_ms. */
static uint64_t
end_ms(uint64_t deadline_ms, uint64_t answer_ms)
{
    uint64_t now_ms = answer_ms;

    while (now_ms < deadline_ms) {
        const uint64_t pause_ms =
            rendezvous_retry_delay_ms(deadline_ms - now_ms);

        assert_true(pause_ms > 0);
        now_ms += pause_ms + answer_ms;
    }
    return now_ms;
}

static void
join_that_is_refused_ends_at_its_deadline(void **state)
{
    static const uint64_t deadlines_ms[] = {1, 49, 50, 51, 300, 3000, 15000};

    for (size_t i = 0; i < sizeof(deadlines_ms) / sizeof(*deadlines_ms); i++) {
        for (uint64_t answer_ms = 0; answer_ms <= 60; answer_ms++) {
            const uint64_t ended_ms = end_ms(deadlines_ms[i], answer_ms);

            assert_true(ended_ms >= deadlines_ms[i]);
            assert_true(ended_ms <= deadlines_ms[i] + answer_ms);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_without_a_coordinator_says_why),
        cmocka_unit_test(join_says_who_has_come_and_who_has_not),
        cmocka_unit_test(join_of_an_older_coordinator_says_what_it_knows),
        cmocka_unit_test(join_without_a_size_says_how_to_give_one),
        cmocka_unit_test(join_that_is_refused_for_now_says_why),
        cmocka_unit_test(join_of_a_silent_coordinator_says_so),
        cmocka_unit_test(join_that_is_refused_ends_at_its_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
