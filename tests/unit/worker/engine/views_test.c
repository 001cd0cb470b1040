/* tests/unit/worker/engine/views_test.c - engine/failure/heartbeat.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocation.h"
#include "base/clock.h"
#include "check.h"
#include "engine_pair.h"

enum {
    RANKS = 3, /* of the pair's world; the last is connected to nobody */
    QUESTION = 7,
};

static struct engine_pair engine_pair;
static uint64_t answered;
static uint8_t seen[RANKS];
static unsigned n_complaints;

static void
on_views(void *owner, uint64_t question, const uint8_t *views)
{
    answered = question;
    memcpy(seen, views, sizeof(seen));
}

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    n_complaints += suspicion->evidence == EVIDENCE_BROKEN;
}

static void
open(void)
{
    answered = 0;
    n_complaints = 0;
    engine_pair_open_with(
        &engine_pair, &(struct engine_options){.on_views = on_views,
                                               .on_suspected = on_suspected});
}

/* Rank 0 is asked; both drive, or it alone. Returns after how long it
 * answered. */
static uint64_t
ask(unsigned n_drivers)
{
    const uint64_t begin_ns = clock_now_ns();
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    engine_request_peer_views(engine_pair.sides[0].engine, QUESTION);
    while (answered == 0 && !clock_is_past(deadline_ns)) {
        for (unsigned i = 0; i < n_drivers; i++)
            engine_progress_background(engine_pair.sides[i].engine);
    }
    assert_int_equal(answered, QUESTION);
    assert_false(engine_has_views_request(engine_pair.sides[0].engine));
    assert_int_equal(seen[0], VIEW_NONE);
    assert_int_equal(seen[2], VIEW_NONE);
    return clock_now_ns() - begin_ns;
}

static void
peer_that_drives_is_heard(void **state)
{
    open();
    engine_pair_connect(&engine_pair);
    ask(2);
    assert_int_equal(seen[1], VIEW_HEARD);
    engine_pair_close(&engine_pair);
}

static void
peer_that_stands_still_has_not_answered(void **state)
{
    open();
    engine_pair_connect(&engine_pair);
    assert_true(ask(1) >= EVIDENCE_ANSWER_MS * CLOCK_NS_PER_MS);
    assert_int_equal(seen[1], VIEW_UNANSWERED);
    engine_pair_close(&engine_pair);
}

static void
peer_that_is_not_connected_is_nobody(void **state)
{
    open();
    ask(1);
    assert_int_equal(seen[1], VIEW_NONE);
    engine_pair_close(&engine_pair);
}

/* And it is not lost for that: others decide. */
static void
peer_whose_connection_broke_is_told_as_that(void **state)
{
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    open();
    engine_add_connection(engine_pair.sides[0].engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    engine_progress_background(engine_pair.sides[0].engine);
    close(engine_pair.fds[1]);
    engine_pair.fds[1] = -1;
    while (n_complaints == 0 && !clock_is_past(deadline_ns))
        engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(n_complaints, 1);
    ask(1);
    assert_int_equal(seen[1], VIEW_BROKEN);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
    engine_pair_close(&engine_pair);
}

static void
question_that_finds_no_memory_is_answered(void **state)
{
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    open();
    engine_pair_connect(&engine_pair);
    malloc_refuse();
    engine_request_peer_views(engine_pair.sides[0].engine, QUESTION - 1);
    malloc_allow();
    while (answered == 0 && !clock_is_past(deadline_ns))
        engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(answered, QUESTION - 1);
    engine_pair_close(&engine_pair);
}

/* While the first is being answered, which nobody waits for any more. */
static void
question_replaces_the_one_before(void **state)
{
    open();
    engine_pair_connect(&engine_pair);
    engine_request_peer_views(engine_pair.sides[0].engine, QUESTION - 2);
    engine_progress_background(engine_pair.sides[0].engine);
    engine_request_peer_views(engine_pair.sides[0].engine, QUESTION - 1);
    ask(2);
    assert_int_equal(seen[1], VIEW_HEARD);
    engine_pair_close(&engine_pair);
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
