/*
 * tests/unit/server/diagnosis/slow_findings_test.c - what is told of ranks and
 * links that are slow
 */

#include "recorded.h"

static void
rank_that_holds_others_up_is_named_while_all_moves(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};

    recorded_load("moving", &recorded);
    recorded.ranks[1].held_up = (struct snapshot_wait){0, 41000, 60000};
    sentence_check(&recorded, "slow-rank", 1,
                   "Nothing is stuck, but rank 0 (host:1000) waited 41 s of "
                   "the last minute for rank 1 (host:1001) to call.");
    recorded.ranks[1].held_up = (struct snapshot_wait){0, 1500, 2800};
    sentence_check(&recorded, "slow-rank", 1,
                   "Nothing is stuck, but rank 0 (host:1000) waited T s of "
                   "the last T s for rank 1 (host:1001) to call.");
}

/* A checkpoint of a second is no reason to look for a slow rank. */
static void
rank_that_held_others_up_for_a_moment_is_not_named(void **state)
{
    static const struct snapshot_wait waits[] = {{0, 5900, 60000},
                                                 {0, 1300, 2800}};

    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        CLEANUP(recorded_free) struct recorded recorded = {0};
        struct verdict verdict = {0};

        recorded_load("moving", &recorded);
        recorded.ranks[1].held_up = waits[i];
        diagnosis_make(&recorded.snapshot, &verdict);
        assert_string_equal(verdict.kind, "moving");
    }
}

/* Rank 1 holds rank 0 up because rank 2 holds it up. */
static void
rank_that_is_late_because_it_waits_is_not_the_cause(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("moving", &recorded);
    recorded.ranks[1].held_up = (struct snapshot_wait){0, 2500, 2800};
    recorded.ranks[1].waited = (struct snapshot_wait){2, 2000, 2600};
    recorded.ranks[2].held_up = (struct snapshot_wait){1, 2000, 2600};
    sentence_check(&recorded, "slow-rank", 2,
                   "Nothing is stuck, but rank 1 (host:1001) waited T s of "
                   "the last T s for rank 2 (host:1002) to call.");

    /* It waits little: it is the cause itself. */
    recorded.ranks[1].waited.wait_ms = 600;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_int_equal(verdict.culprits[0], 1);

    /* It waits for bytes, too. */
    recorded.ranks[1].waiting = (struct snapshot_wait){1, 2400, 2600};
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    recorded.ranks[1].waiting.wait_ms = 0;

    /* It waits at this moment, perhaps in the coordinator. */
    recorded.ranks[1].call.text = "hoop_comm_create (3 ranks)";
    recorded.ranks[1].call.is_setup = true;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    recorded.ranks[1].call.text = "";

    /* Each waits for the other for half of the time: there is no cause. */
    recorded.ranks[1].waited = (struct snapshot_wait){2, 2000, 2600};
    recorded.ranks[2].waited = (struct snapshot_wait){1, 2000, 2600};
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
}

/* All wait for bytes, but these wait before a link of rank 1. */
static void
slow_link_is_the_one_before_which_bytes_wait(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("moving", &recorded);
    for (uint32_t i = 0; i < 3; i++) {
        recorded.ranks[i].waiting = (struct snapshot_wait){i, 2000 - i, 2800};
        recorded.ranks[i].backlog_rank = (i + 1) % 3;
        recorded.ranks[i].backlog_ms = 20;
    }
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
    recorded.ranks[0].backlog_ms = 300;
    sentence_check(&recorded, "slow-link", 0,
                   "Nothing is stuck, but data move slowly between rank 0 "
                   "(host:1000) and rank 1 (host:1001): rank 0 (host:1000) "
                   "waited T s of the last T s for bytes.");

    /* Both of its links are slow. */
    recorded.ranks[1].backlog_ms = 200;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "slow-link");
    assert_int_equal(verdict.n_culprits, 2);
    assert_int_equal(verdict.culprits[0], 1);

    /* All links are alike. */
    recorded.ranks[2].backlog_ms = 250;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "moving");
}

/* In the call that is stuck, rank 0 waits for rank 1, whose link is not the slow
 * one. */
static void
slow_link_of_a_stuck_call_is_the_one_before_which_bytes_wait(void **state)
{
    CLEANUP(recorded_free) struct recorded recorded = {0};
    struct verdict verdict = {0};

    recorded_load("link_slow", &recorded);
    recorded.ranks[2] = recorded.ranks[1];
    recorded.ranks[2].rank = 2;
    recorded.ranks[2].backlog_ms = 900;
    recorded.ranks[2].backlog_rank = 1;
    recorded.snapshot.n_ranks = recorded.snapshot.size = 3;
    diagnosis_make(&recorded.snapshot, &verdict);
    assert_string_equal(verdict.kind, "slow-link");
    assert_int_equal(verdict.n_culprits, 2);
    assert_int_equal(verdict.culprits[0], 2);
    assert_int_equal(verdict.culprits[1], 1);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_holds_others_up_is_named_while_all_moves),
        cmocka_unit_test(rank_that_held_others_up_for_a_moment_is_not_named),
        cmocka_unit_test(rank_that_is_late_because_it_waits_is_not_the_cause),
        cmocka_unit_test(slow_link_is_the_one_before_which_bytes_wait),
        cmocka_unit_test(
            slow_link_of_a_stuck_call_is_the_one_before_which_bytes_wait),
    };

    if (argc != 2)
        return fprintf(stderr, "usage: slow_findings_test FOLDER\n"), 64;
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
