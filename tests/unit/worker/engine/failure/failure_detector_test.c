/* tests/unit/worker/engine/failure/failure_detector_test.c - engine/failure/failure_detector.c */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "engine/events.h"
#include "engine/state.h"
#include "unit/worker/engine/engine_pair.h"

/* engine/failure/failure_detector.c waits a little longer for a launcher. */
static const uint64_t PROCESS_EXIT_STATUS_WAIT_NS = 75 * CLOCK_NS_PER_MS;

static struct engine_pair engine_pair;
static unsigned n_looks;

static enum engine_process_status
fate_alive(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    return ENGINE_PROCESS_ALIVE;
}

/* Its launcher says so at the third look. */
static enum engine_process_status
fate_told(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    if (++n_looks < 3)
        return ENGINE_PROCESS_DYING;
    strcpy(out_how, "killed by signal 9 (Killed)");
    return ENGINE_PROCESS_DEAD;
}

static enum engine_process_status
fate_untold(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    n_looks++;
    return ENGINE_PROCESS_DYING;
}

/* Self finds its connection to the other one at its end. */
static uint64_t
break_link(uint32_t self)
{
    struct side *side = &engine_pair.sides[self];
    int32_t value = 1;
    struct op *op = NULL;

    engine_add_connection(side->engine, 1 - self, engine_pair.fds[self]);
    engine_pair.fds[self] = -1;
    assert_ok(sum_start(side->comms[0].context, &value, 1, &op));
    const uint64_t begin_ns = clock_now_ns();
    close(engine_pair.fds[1 - self]);
    engine_pair.fds[1 - self] = -1;
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    return clock_now_ns() - begin_ns;
}

static void open_with(enum engine_process_status (*process_status_of)(void *,
                                                                      uint32_t,
                                                                      char *))
{
    n_looks = 0;
    engine_pair_open_with(
        &engine_pair,
        &(struct engine_options){.process_status_of = process_status_of});
}

static void
higher_rank_is_accused_by_the_lower_at_once(void **state)
{
    open_with(NULL);
    break_link(0);
    assert_non_null(strstr(error_text(),
                           "rank 1 (host:41) is lost: connection reset, "
                           "reported by rank 0 (host:40)"));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    engine_pair_close(&engine_pair);
}

static void
lower_rank_is_accused_after_a_while(void **state)
{
    open_with(fate_alive);
    assert_true(break_link(1) >= 50 * CLOCK_NS_PER_MS);
    assert_non_null(strstr(error_text(),
                           "rank 0 (host:40) is lost: connection reset, "
                           "reported by rank 1 (host:41)"));
    engine_pair_close(&engine_pair);
}

static void
last_two_believe_the_lower_if_it_lives(void **state)
{
    open_with(fate_alive);
    engine_declare_dead(engine_pair.sides[1].engine, 2, "gone");
    engine_progress_background(engine_pair.sides[1].engine);
    break_link(1);
    assert_non_null(strstr(
        error_text(), "this rank was declared lost by rank 0 (host:40), "
                      "which lives and is believed (connection reset, at "));
    engine_pair_close(&engine_pair);
}

/* As the coordinator says it at most, with the date. */
static void
expelled_rank_is_told_all_of_why(void **state)
{
    static const char why[] =
        "no connection to [2001:db8:1234:5678:9abc:def0:1234:5678]:50001, "
        "advertised by rank 1: Connection refused; if it lives, set HOOP_PORT "
        "to a range that the firewall lets pass, or HOOP_ADVERTISE (inferred: "
        "it lives, and cannot be reached: run hoopctl doctor --listen there, "
        "--peer HOST:PORT elsewhere)";
    static const char who[] =
        ", reported by ranks 2, 3, 4, 5, 6, 7 and 91 others";
    char text[LIMIT_ERROR_TEXT];
    int32_t value = 1;

    open_with(NULL);
    snprintf(text, sizeof(text), "%s%s", why, who);
    engine_declare_dead(engine_pair.sides[1].engine, 1, text);
    assert_int_equal(sum_run(engine_pair.sides[1].comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
    snprintf(text, sizeof(text), "(%s, at ", why);
    if (!strstr(error_text(), text))
        fail_msg("\"%s\" is not in \"%s\"", text, error_text());
    engine_pair_close(&engine_pair);
}

static void
last_two_blame_the_other_if_it_may_be_dead(void **state)
{
    open_with(NULL);
    engine_declare_dead(engine_pair.sides[1].engine, 2, "gone");
    engine_progress_background(engine_pair.sides[1].engine);
    break_link(1);
    assert_non_null(strstr(error_text(), "rank 0 (host:40) is lost"));
    engine_pair_close(&engine_pair);
}

#define ADVICE                                                                 \
    "the other side speaks TLS and this rank does not: HOOP_TLS must be "      \
    "alike "                                                                   \
    "on all ranks"

/* Self is told that the other one is out of reach, and calls. */
static void
lose_for(uint32_t self, const char *why)
{
    struct side *side = &engine_pair.sides[self];
    int32_t value = 1;

    engine_report_unreachable(side->engine, 1 - self, why);
    assert_int_equal(sum_run(side->comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
}

static void
advice_is_told_whole_and_by_whom(void **state)
{
    open_with(NULL);
    lose_for(0, ADVICE);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) is lost: " ADVICE
                                         ", reported by rank 0 (host:40)"));
    engine_pair_close(&engine_pair);

    open_with(fate_alive);
    engine_declare_dead(engine_pair.sides[1].engine, 2, "gone");
    engine_progress_background(engine_pair.sides[1].engine);
    lose_for(1, ADVICE);
    assert_non_null(strstr(error_text(),
                           "this rank was declared lost by rank 0 (host:40), "
                           "which lives and is believed (" ADVICE ", at "));
    engine_pair_close(&engine_pair);
}

/* The other one asks after the call that has failed. */
static void
others_read_of_an_expelled_rank_by_its_name(void **state)
{
    struct op *op = NULL;
    int32_t value = 1;

    open_with(NULL);
    assert_ok(sum_start(engine_pair.sides[1].comms[0].context, &value, 1, &op));
    engine_progress_background(engine_pair.sides[1].engine);
    engine_declare_dead(engine_pair.sides[1].engine, 1,
                        "it sent bytes out of order");
    assert_int_equal(engine_wait(op, clock_deadline_ns(5000)),
                     HOOP_E_PEER_LOST);
    assert_non_null(strstr(
        error_text(),
        "this rank was declared lost by the coordinator (it sent bytes"));
    engine_pair_connect(&engine_pair);
    engine_pair_start_backgrounds(&engine_pair);
    assert_int_equal(sum_run(engine_pair.sides[0].comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) is lost: it sent "
                                         "bytes out of order"));
    assert_null(strstr(error_text(), "this rank was"));
    engine_pair_close(&engine_pair);
}

static void
what_is_too_long_is_cut_before_who_tells_it(void **state)
{
    open_with(NULL);
    lose_for(0, ADVICE "; " ADVICE "; " ADVICE "; " ADVICE "; " ADVICE);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) is lost: " ADVICE));
    assert_non_null(strstr(error_text(), " ..., reported by rank 0 (host:40)"));
    engine_pair_close(&engine_pair);
}

static void
dead_rank_is_told_with_how_it_ended(void **state)
{
    for (uint32_t self = 0; self < 2; self++) {
        uint64_t took_ns = CLOCK_NEVER;

        /* On a busy machine the launcher's time may be over before the third
         * look: once more. */
        for (unsigned i = 0; i < 20 && took_ns > PROCESS_EXIT_STATUS_WAIT_NS;
             i++) {
            if (i > 0)
                engine_pair_close(&engine_pair);
            open_with(fate_told);
            took_ns = break_link(self);
        }
        assert_non_null(strstr(error_text(),
                               " is lost: killed by signal 9 (Killed), "
                               "reported by rank "));
        assert_int_equal(n_looks, 3);
        engine_pair_close(&engine_pair);
    }
}

static void
dead_rank_nobody_tells_of_is_lost_all_the_same(void **state)
{
    unsigned n_looks_untold = 0;

    /* On a busy machine the launcher's time may be over at the second look:
     * once more. */
    for (unsigned i = 0; i < 20 && n_looks_untold <= 2; i++) {
        if (i > 0)
            engine_pair_close(&engine_pair);
        open_with(fate_untold);
        assert_true(break_link(1) >= 40 * CLOCK_NS_PER_MS);
        n_looks_untold = n_looks;
    }
    assert_non_null(strstr(error_text(),
                           "rank 0 (host:40) is lost: its process has ended "
                           "(connection reset)"));
    assert_true(n_looks_untold > 2);
    engine_pair_close(&engine_pair);
}

/* What the coordinator is told, who may conclude more from the one than from the
 * other. */
static void
loss_is_told_with_its_evidence(void **state)
{
    open_with(fate_told);
    break_link(1);
    assert_int_equal(engine_pair.sides[1].evidence, EVIDENCE_ENDED);
    engine_pair_close(&engine_pair);

    open_with(fate_untold);
    break_link(1);
    assert_int_equal(engine_pair.sides[1].evidence, EVIDENCE_ENDED);
    engine_pair_close(&engine_pair);

    /* By the rule for ranks alone. */
    open_with(NULL);
    engine_pair.sides[0].evidence = EVIDENCE_KINDS;
    break_link(0);
    assert_int_equal(engine_pair.sides[0].evidence, EVIDENCE_TOLD);
    engine_pair_close(&engine_pair);

    open_with(NULL);
    engine_events.on_peer_event(engine_pair.sides[0].engine, 1,
                                TRANSPORT_CORRUPTED, "no frame of ours");
    assert_int_equal(engine_pair.sides[0].evidence, EVIDENCE_CLOSED);
    engine_declare_dead(engine_pair.sides[0].engine, 2, "gone");
    engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(engine_pair.sides[0].evidence, EVIDENCE_TOLD);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 2);
    engine_pair_close(&engine_pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_is_told_with_its_evidence),
        cmocka_unit_test(higher_rank_is_accused_by_the_lower_at_once),
        cmocka_unit_test(lower_rank_is_accused_after_a_while),
        cmocka_unit_test(last_two_believe_the_lower_if_it_lives),
        cmocka_unit_test(expelled_rank_is_told_all_of_why),
        cmocka_unit_test(last_two_blame_the_other_if_it_may_be_dead),
        cmocka_unit_test(advice_is_told_whole_and_by_whom),
        cmocka_unit_test(others_read_of_an_expelled_rank_by_its_name),
        cmocka_unit_test(what_is_too_long_is_cut_before_who_tells_it),
        cmocka_unit_test(dead_rank_is_told_with_how_it_ended),
        cmocka_unit_test(dead_rank_nobody_tells_of_is_lost_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
