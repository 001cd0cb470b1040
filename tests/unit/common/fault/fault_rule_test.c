/* tests/unit/common/fault/fault_rule_test.c - fault/fault_rule.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "fault/fault_rule.h"

static enum hoop_status
parse(const char *text, struct fault_rule *out_rule)
{
    return fault_rule_parse(text, strlen(text), out_rule);
}

static void
rule_of_all_keys_is_parsed(void **state)
{
    struct fault_rule rule;

    assert_ok(parse("rank=1,peer=7,op=allreduce,seq=3,round=2,segment=4,"
                    "at=receive,note=9,do=delay:5s",
                    &rule));
    assert_int_equal(rule.rank, 1);
    assert_int_equal(rule.peer, 7);
    assert_string_equal(rule.op, "allreduce");
    assert_int_equal(rule.seq, 3);
    assert_int_equal(rule.round, 2);
    assert_int_equal(rule.segment, 4);
    assert_int_equal(rule.at, FAULT_AT_RECEIVE);
    assert_int_equal(rule.action, FAULT_DELAY);
    assert_int_equal(rule.note_fd, 9);
    assert_true(rule.amount == 5000000000);
    assert_false(rule.is_spent);
}

static void
rule_of_an_action_alone_is_about_all(void **state)
{
    struct fault_rule rule;

    assert_ok(parse("do=kill", &rule));
    assert_true(rule.rank == FAULT_ANY_RANK && rule.peer == FAULT_ANY_RANK);
    assert_string_equal(rule.op, "");
    assert_int_equal(rule.seq + rule.round + rule.segment, 0);
    assert_int_equal(rule.at, FAULT_AT_BEGIN);
}

/* What nobody says is what somebody means. */
static void
moment_that_is_not_said_follows_from_the_rest(void **state)
{
    static const struct {
        const char *text;
        enum fault_point at;
    } rows[] = {
        {"do=stop", FAULT_AT_BEGIN},          {"do=stop,seq=2", FAULT_AT_BEGIN},
        {"do=stop,round=2", FAULT_AT_SEND},   {"do=stop,peer=2", FAULT_AT_SEND},
        {"do=stop,segment=2", FAULT_AT_SEND}, {"do=reset", FAULT_AT_SEND},
        {"do=stop,at=end", FAULT_AT_END},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault_rule rule;

        assert_ok(parse(rows[i].text, &rule));
        assert_int_equal(rule.at, rows[i].at);
    }
}

static void
every_action_is_known_by_its_name(void **state)
{
    for (int i = FAULT_KILL; i < FAULT_ACTIONS; i++) {
        const enum fault_action action = (enum fault_action)i;
        struct fault_rule rule;
        char text[64];

        snprintf(text, sizeof(text), "do=%s%s", fault_action_name(action),
                 action == FAULT_DELAY    ? ":20ms"
                 : action == FAULT_JITTER ? ":7"
                                          : "");
        assert_ok(parse(text, &rule));
        assert_int_equal(rule.action, action);
        assert_int_equal(rule.at, fault_action_tampers(action) ? FAULT_AT_SEND
                                  : action == FAULT_JITTER     ? FAULT_POINTS
                                                           : FAULT_AT_BEGIN);
    }
}

static void
amounts_are_read_with_their_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t amount;
    } rows[] = {
        {"do=delay:7us", 7000},
        {"do=delay:20ms", 20000000},
        {"do=delay:1s", 1000000000},
        {"do=exit:255", 255},
        {"do=exit", 0},
        {"do=corrupt:1023", 1023},
        {"do=delay:3600s", 3600 * UINT64_C(1000000000)},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault_rule rule;

        assert_ok(parse(rows[i].text, &rule));
        assert_true(rule.amount == rows[i].amount);
    }
}

static void
rule_of_the_coordinator_has_its_own_moments(void **state)
{
    static const struct {
        const char *text;
        enum fault_point at;
    } rows[] = {
        {"rank=coordinator,do=kill", FAULT_AT_BEGIN},
        {"rank=coordinator,do=drop", FAULT_AT_SEND},
        {"do=reset,rank=coordinator", FAULT_AT_SEND},
        {"rank=coordinator,at=begin,do=drop", FAULT_AT_BEGIN},
        {"rank=coordinator,at=end,do=reset", FAULT_AT_END},
        {"rank=coordinator,at=send,op=store_add,seq=2,do=exit:3",
         FAULT_AT_SEND},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault_rule rule;

        assert_ok(parse(rows[i].text, &rule));
        assert_int_equal(rule.rank, FAULT_COORDINATOR);
        assert_int_equal(rule.at, rows[i].at);
    }
}

/* The text says which part of it is wrong, and what is allowed. */
static void
text_that_makes_no_sense_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"", "'' is no pair: give key=value"},
        {"kill", "'kill' is no pair"},
        {"do=kill,", "'' is no pair"},
        {"do=kil", "'kil' is no fault: give do=kill, stop"},
        {"rank=1", "it does nothing: add do=kill"},
        {"colour=1,do=kill", "'colour' is no key: give rank"},
        {"rank=x,do=kill", "'x' is no number"},
        {"rank=,do=kill", "'' is no number"},
        {"rank=-1,do=kill", "'-1' is no number"},
        {"rank=1x,do=kill", "'1x' is no number"},
        {"rank=65536,do=kill", "65536 is too large, 65535 is the most"},
        {"rank=99999999999999999999,do=kill", "is too large"},
        {"seq=0,do=kill", "'0' is no place: give 1 for the first"},
        {"op=All,do=kill", "'All' is no operation"},
        {"op=,do=kill", "'' is no operation"},
        {"op=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,do=kill", "no operation"},
        {"at=noon,do=kill", "'noon' is no moment: give at=begin"},
        {"do=delay", "'delay' is no delay: give how long"},
        {"do=delay:", "'' is no delay"},
        {"do=delay:5", "'5' is no delay: give a number with s, ms or us"},
        {"do=delay:3601s", "an hour at most"},
        {"do=jitter", "'jitter' is no jitter: give its seed: do=jitter:1"},
        {"do=jitter:5s", "'5s' is no number"},
        {"do=exit:256", "256 is too large, 255 is the most"},
        {"do=kill:9", "do=kill has nothing behind a colon"},
        {"do=reset,at=begin", "do=reset happens to what is sent: at=send"},
        {"do=kill,at=begin,round=1", "at=begin has no round"},
        {"do=kill,at=end,peer=1", "at=end has no round"},
        {"peer=coordinator,do=kill", "'coordinator' is no number"},
        {"rank=coordinator,at=receive,do=kill", "has calls alone"},
        {"rank=coordinator,round=1,do=kill", "has calls alone"},
        {"rank=coordinator,peer=1,do=kill", "has calls alone"},
        {"rank=coordinator,do=truncate", "do=truncate happens to frames"},
        {"rank=coordinator,at=end,do=drop", "cannot be dropped"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fault_rule rule = {.n_pieces = 77};

        if (parse(rows[i].text, &rule) != HOOP_E_INVALID ||
            !strstr(error_text(), rows[i].says))
            fail_msg("%s: %s", rows[i].text, error_text());
        assert_int_equal(rule.n_pieces, 77);
    }
}

static void
operations_are_counted_by_name(void **state)
{
    struct fault_rule rule;

    assert_ok(parse("op=barrier,seq=2,do=kill", &rule));
    assert_false(fault_rule_begin(&rule, "barrier"));
    assert_false(fault_rule_begin(&rule, "allreduce"));
    assert_true(fault_rule_begin(&rule, "barrier"));
    assert_false(fault_rule_begin(&rule, "barrier"));

    assert_ok(parse("seq=2,do=kill", &rule));
    assert_false(fault_rule_begin(&rule, "barrier"));
    assert_true(fault_rule_begin(&rule, "allreduce"));

    assert_ok(parse("do=kill", &rule));
    assert_true(fault_rule_begin(&rule, "barrier"));
    assert_true(fault_rule_begin(&rule, "allreduce"));
}

/* The delays of a rank's first calls, each with some pieces. */
enum {
    JITTER_CALLS = 40,
    JITTER_PIECES = 3,
    JITTER_DELAYS = JITTER_CALLS * JITTER_PIECES,
};

static uint64_t
jitter_draw(unsigned seed, uint32_t rank, uint64_t delays[JITTER_DELAYS])
{
    char text[32];
    struct fault_rule rule;
    uint64_t total = 0;

    snprintf(text, sizeof(text), "do=jitter:%u", seed);
    assert_ok(parse(text, &rule));
    fault_rule_settle_on(&rule, rank);
    for (size_t i = 0; i < JITTER_DELAYS; i++) {
        const struct fault_event event = {
            .point = i % JITTER_PIECES ? FAULT_AT_SEND : FAULT_AT_BEGIN,
            .peer = (uint32_t)i,
            .round = 1,
        };

        if (i % JITTER_PIECES == 0)
            assert_true(fault_rule_begin(&rule, "barrier"));
        assert_true(fault_rule_strikes(&rule, &event));
        delays[i] = fault_rule_jitter_ns(&rule, &event);
        assert_true(delays[i] < (i % JITTER_PIECES ? 2 : 20) * CLOCK_NS_PER_MS);
        total += delays[i];
    }
    return total;
}

/* The same for the same seed and rank, and of other ranks other ones; every
 * rank is late under some seeds while another is not. */
static void
jitter_is_drawn_by_seed_and_rank(void **state)
{
    uint64_t delays[2][JITTER_DELAYS];
    unsigned n_late = 0;

    for (unsigned seed = 0; seed < 50; seed++) {
        const uint64_t total = jitter_draw(seed, 2, delays[0]);

        assert_true(total == jitter_draw(seed, 2, delays[1]));
        assert_memory_equal(delays[0], delays[1], sizeof(delays[0]));
        n_late += total > 20 * CLOCK_NS_PER_MS &&
                  jitter_draw(seed, 0, delays[1]) < CLOCK_NS_PER_MS;
    }
    assert_true(n_late >= 2);
}

/* How a call was cut into pieces does not change the next call's delay. */
static void
jitter_of_a_call_does_not_depend_on_pieces_before(void **state)
{
    static const struct fault_event begin = {.point = FAULT_AT_BEGIN};
    static const struct fault_event piece = {.point = FAULT_AT_SEND};
    struct fault_rule rules[2];

    for (size_t i = 0; i < 2; i++) {
        assert_ok(parse("do=jitter:3", &rules[i]));
        /* One of those that are late. */
        rules[i].amount = 3;
    }
    for (unsigned call = 0; call < 20; call++) {
        uint64_t delays[2];

        for (size_t i = 0; i < 2; i++) {
            assert_true(fault_rule_begin(&rules[i], "barrier"));
            assert_true(fault_rule_strikes(&rules[i], &begin));
            delays[i] = fault_rule_jitter_ns(&rules[i], &begin);
        }
        assert_true(delays[0] == delays[1]);
        for (unsigned n = 0; n < call; n++)
            assert_true(fault_rule_strikes(&rules[1], &piece));
    }
}

/* A rule, said in so many words, and where the n-th event of a row would make
 * it strike: a reader's own way of counting. */
struct place {
    uint64_t round;
    uint64_t segment;
    uint32_t peer;
};

static bool
is_meant(const struct place *place, const struct fault_event *event)
{
    return event->point == FAULT_AT_SEND &&
           (place->round == 0 || place->round == event->round) &&
           (place->peer == FAULT_ANY_RANK || place->peer == event->peer ||
            event->peer == FAULT_ANY_RANK);
}

/* The i-th of a row in which every combination comes, some again and again. */
static struct fault_event
event_at(unsigned i)
{
    static const uint32_t peers[] = {0, 1, FAULT_ANY_RANK};

    return (struct fault_event){
        .point = (enum fault_point)(i % FAULT_POINTS),
        .round = 1 + i / FAULT_POINTS % 3,
        .peer = peers[i / FAULT_POINTS / 3 % COUNT_OF(peers)],
        .is_frame = i / FAULT_POINTS / 9 % 2,
    };
}

static void
strike_all(struct fault_rule *rule, const struct place *place, bool tampers)
{
    uint64_t n_meant = 0;
    bool is_over = false;

    for (unsigned i = 0; i < 300; i++) {
        const struct fault_event event = event_at(i);
        const bool counts =
            is_meant(place, &event) && (!tampers || event.is_frame);
        const bool strikes =
            counts && !is_over &&
            (place->segment == 0 || n_meant + 1 == place->segment);

        n_meant += counts;
        assert_int_equal(fault_rule_is_due(rule, &event), strikes);
        assert_int_equal(fault_rule_strikes(rule, &event), strikes);
        is_over |= strikes;
        assert_int_equal(rule->is_spent, is_over);
    }
    assert_true(is_over);
}

static void
rule_strikes_once_where_it_says(void **state)
{
    static const uint32_t peers[] = {0, 1, FAULT_ANY_RANK};

    for (unsigned i = 0; i < 4 * 5 * 3 * 2; i++) {
        const bool tampers = i % 2;
        const struct place place = {
            .round = i / 2 % 4,
            .segment = i / 8 % 5,
            .peer = peers[i / 40],
        };
        struct fault_rule rule = {
            .rank = FAULT_ANY_RANK,
            .peer = place.peer,
            .round = place.round,
            .segment = place.segment,
            .at = FAULT_AT_SEND,
            .action = tampers ? FAULT_DROP : FAULT_KILL,
        };

        strike_all(&rule, &place, tampers);
        assert_false(fault_rule_begin(&rule, "barrier"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_of_all_keys_is_parsed),
        cmocka_unit_test(rule_of_an_action_alone_is_about_all),
        cmocka_unit_test(moment_that_is_not_said_follows_from_the_rest),
        cmocka_unit_test(every_action_is_known_by_its_name),
        cmocka_unit_test(amounts_are_read_with_their_units),
        cmocka_unit_test(rule_of_the_coordinator_has_its_own_moments),
        cmocka_unit_test(text_that_makes_no_sense_is_refused_with_its_place),
        cmocka_unit_test(operations_are_counted_by_name),
        cmocka_unit_test(jitter_is_drawn_by_seed_and_rank),
        cmocka_unit_test(jitter_of_a_call_does_not_depend_on_pieces_before),
        cmocka_unit_test(rule_strikes_once_where_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
