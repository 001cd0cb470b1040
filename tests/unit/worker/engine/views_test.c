/* tests/unit/worker/engine/views_test.c - engine/failure/heartbeat.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocation.h"
#include "base/clock.h"
#include "check.h"
#include "couple.h"

enum {
    RANKS = 3, /* of the couple's world; the last is connected to nobody */
    QUESTION = 7,
};

static struct couple couple;
static uint64_t answered;
static uint8_t seen[RANKS];
static unsigned n_complaints;

static void
on_views(void *owner, uint64_t question, const uint8_t *views)
{
    (void)owner;
    answered = question;
    memcpy(seen, views, sizeof(seen));
}

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    (void)owner;
    (void)rank;
    n_complaints += suspicion->evidence == EVIDENCE_BROKEN;
}

static void
open(void)
{
    answered = 0;
    n_complaints = 0;
    couple_open_with(&couple,
                     &(struct engine_options){.on_views = on_views,
                                              .on_suspected = on_suspected});
}

/* Rank 0 is asked; both drive, or it alone. Returns after how long it answered. */
static uint64_t
ask(unsigned n_drivers)
{
    const uint64_t begin_ns = clock_now_ns();
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    engine_request_peer_views(couple.sides[0].engine, QUESTION);
    while (answered == 0 && !clock_is_past(deadline_ns)) {
        for (unsigned i = 0; i < n_drivers; i++)
            engine_progress_background(couple.sides[i].engine);
    }
    assert_int_equal(answered, QUESTION);
    assert_false(engine_has_views_request(couple.sides[0].engine));
    assert_int_equal(seen[0], VIEW_NONE);
    assert_int_equal(seen[2], VIEW_NONE);
    return clock_now_ns() - begin_ns;
}

static void
peer_that_drives_is_heard(void **state)
{
    (void)state;
    open();
    couple_connect(&couple);
    ask(2);
    assert_int_equal(seen[1], VIEW_HEARD);
    couple_close(&couple);
}

static void
peer_that_stands_still_has_not_answered(void **state)
{
    (void)state;
    open();
    couple_connect(&couple);
    assert_true(ask(1) >= EVIDENCE_ANSWER_MS * CLOCK_NS_PER_MS);
    assert_int_equal(seen[1], VIEW_UNANSWERED);
    couple_close(&couple);
}

static void
peer_that_is_not_connected_is_nobody(void **state)
{
    (void)state;
    open();
    ask(1);
    assert_int_equal(seen[1], VIEW_NONE);
    couple_close(&couple);
}

/* And it is not lost for that: others decide. */
static void
peer_whose_connection_broke_is_told_as_that(void **state)
{
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    (void)state;
    open();
    engine_add_connection(couple.sides[0].engine, 1, couple.fds[0]);
    couple.fds[0] = -1;
    engine_progress_background(couple.sides[0].engine);
    close(couple.fds[1]);
    couple.fds[1] = -1;
    while (n_complaints == 0 && !clock_is_past(deadline_ns))
        engine_progress_background(couple.sides[0].engine);
    assert_int_equal(n_complaints, 1);
    ask(1);
    assert_int_equal(seen[1], VIEW_BROKEN);
    assert_int_equal(atomic_load(&couple.sides[0].n_lost), 0);
    couple_close(&couple);
}

static void
question_that_finds_no_memory_is_answered(void **state)
{
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    (void)state;
    open();
    couple_connect(&couple);
    malloc_refuse();
    engine_request_peer_views(couple.sides[0].engine, QUESTION - 1);
    malloc_allow();
    while (answered == 0 && !clock_is_past(deadline_ns))
        engine_progress_background(couple.sides[0].engine);
    assert_int_equal(answered, QUESTION - 1);
    couple_close(&couple);
}

/* While the first is being answered, which nobody waits for any more. */
static void
question_replaces_the_one_before(void **state)
{
    (void)state;
    open();
    couple_connect(&couple);
    engine_request_peer_views(couple.sides[0].engine, QUESTION - 2);
    engine_progress_background(couple.sides[0].engine);
    engine_request_peer_views(couple.sides[0].engine, QUESTION - 1);
    ask(2);
    assert_int_equal(seen[1], VIEW_HEARD);
    couple_close(&couple);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peer_that_drives_is_heard),
        cmocka_unit_test(peer_that_stands_still_has_not_answered),
        cmocka_unit_test(peer_that_is_not_connected_is_nobody),
        cmocka_unit_test(peer_whose_connection_broke_is_told_as_that),
        cmocka_unit_test(question_that_finds_no_memory_is_answered),
        cmocka_unit_test(question_replaces_the_one_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
