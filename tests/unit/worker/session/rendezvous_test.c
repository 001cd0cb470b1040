/* tests/unit/worker/session/rendezvous_test.c - the pauses of a join */

#include "check.h"
#include "session/rendezvous.h"

/* When a join ends that is refused whenever it tries, each answer taking answer_ms. */
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

    (void)state;
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
        cmocka_unit_test(join_that_is_refused_ends_at_its_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
