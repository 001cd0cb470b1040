/* tests/unit/common/codec/codec_autotune_test.c - codec/codec_autotune.c, on
 * a clock of its own */

#include "check.h"
#include "codec/codec_autotune.h"

enum {
    BLOCK = 262144,
    MS = 1000000,
};

/* A link that is never idle, looked at once a block. */
struct link {
    struct codec_autotune codec_autotune;
    double byte_ns;
    double now_ns;
    uint64_t n_gone;
};

static void
link_carry(struct link *link, unsigned n_blocks)
{
    for (unsigned i = 0; i < n_blocks; i++) {
        codec_autotune_observe(&link->codec_autotune,
                               &(struct codec_autotune_sample){
                                   .now_ns = (uint64_t)link->now_ns,
                                   .n_gone = link->n_gone,
                                   .n_queued = BLOCK,
                               });
        link->n_gone += BLOCK;
        link->now_ns += BLOCK * link->byte_ns;
    }
}

static struct link
link_of(double byte_ns)
{
    struct link link = {.byte_ns = byte_ns, .now_ns = MS};

    link_carry(&link, 50);
    return link;
}

static void
judge_that_has_seen_nothing_asks_for_nothing(void **state)
{
    struct codec_autotune codec_autotune = {0};

    assert_false(codec_autotune_wants_trial(&codec_autotune));
    codec_autotune_observe(&codec_autotune, &(struct codec_autotune_sample){
                                                .now_ns = MS, .n_gone = 1});
    assert_false(codec_autotune_wants_trial(&codec_autotune));
}

static void
judge_learns_what_the_link_does(void **state)
{
    struct link link = link_of(8);

    assert_true(link.codec_autotune.link_ns > 7.9 &&
                link.codec_autotune.link_ns < 8.1);
    link.byte_ns = 0.8;
    link_carry(&link, 4);
    assert_true(link.codec_autotune.link_ns > 1);
    link_carry(&link, 500);
    assert_true(link.codec_autotune.link_ns > 0.79 &&
                link.codec_autotune.link_ns < 0.81);
    link.byte_ns = 8;
    link_carry(&link, 200);
    assert_true(link.codec_autotune.link_ns > 7.5);
}

static void
judge_does_not_count_time_in_which_nothing_waits(void **state)
{
    struct link link = link_of(8);

    for (unsigned i = 0; i < 1000; i++) {
        codec_autotune_observe(&link.codec_autotune,
                               &(struct codec_autotune_sample){
                                   .now_ns = (uint64_t)link.now_ns,
                                   .n_gone = link.n_gone,
                                   .n_queued = i % 2 ? BLOCK : 0,
                               });
        link.now_ns += 100 * MS;
    }
    /* Nor in which little does: whoever codes may be the slow one. */
    for (unsigned i = 0; i < 1000; i++) {
        link.n_gone += BLOCK;
        codec_autotune_observe(&link.codec_autotune,
                               &(struct codec_autotune_sample){
                                   .now_ns = (uint64_t)link.now_ns,
                                   .n_gone = link.n_gone,
                                   .n_queued = BLOCK / 4,
                               });
        link.now_ns += 100 * MS;
    }
    assert_true(link.codec_autotune.link_ns > 7.9 &&
                link.codec_autotune.link_ns < 8.1);
}

static void
slow_link_takes_what_becomes_smaller(void **state)
{
    struct link link = link_of(8); /* 1 Gbit/s */

    codec_autotune_learn(&link.codec_autotune, BLOCK, BLOCK);
    assert_true(codec_autotune_wants_trial(&link.codec_autotune));
    assert_true(codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK / 2));
    assert_true(codec_autotune_wants_trial(&link.codec_autotune));
    assert_true(
        codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK / 4 * 3));
    assert_true(codec_autotune_wants_trial(&link.codec_autotune));
    assert_false(
        codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK / 100 * 99));
}

/* Ten Gbit/s of which a busy processor takes two thirds. */
static void
little_is_not_saved_on_a_link_that_is_about_as_fast_as_the_codec(void **state)
{
    struct link link = link_of(2.2);

    codec_autotune_learn(&link.codec_autotune, BLOCK, BLOCK / 2);
    assert_true(codec_autotune_wants_trial(&link.codec_autotune));
    assert_false(
        codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK / 20 * 17));
    assert_true(codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK / 2));
}

static void
fast_link_is_not_even_asked(void **state)
{
    struct link link = link_of(0.3);

    codec_autotune_learn(&link.codec_autotune, BLOCK, BLOCK);
    for (unsigned i = 0; i < 1000; i++)
        assert_false(codec_autotune_wants_trial(&link.codec_autotune));
    /* A codec that was slow once, in a busy hour, is given another chance. */
    link = link_of(4);
    codec_autotune_learn(&link.codec_autotune, BLOCK, 100 * (uint64_t)BLOCK);
    assert_false(codec_autotune_wants_trial(&link.codec_autotune));
    for (unsigned i = 0; i < 10000; i++)
        (void)codec_autotune_wants_trial(&link.codec_autotune);
    link.codec_autotune.n_paused = 0;
    assert_true(codec_autotune_wants_trial(&link.codec_autotune));
}

/* Of 1000 blocks that do not compress, few are looked at; the first that does
 * is found within a pause. */
static void
samples_that_do_not_pay_become_rare_and_do_not_end(void **state)
{
    struct link link = link_of(8);
    unsigned n_asked = 0;
    unsigned n_more = 0;

    for (unsigned i = 0; i < 1000; i++) {
        if (!codec_autotune_wants_trial(&link.codec_autotune))
            continue;
        n_asked++;
        assert_false(codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK));
    }
    assert_true(n_asked > 50 && n_asked < 80);
    while (!codec_autotune_wants_trial(&link.codec_autotune))
        n_more++;
    assert_true(n_more <= 15);
    assert_true(codec_autotune_pays(&link.codec_autotune, BLOCK, BLOCK / 2));
    assert_true(codec_autotune_wants_trial(&link.codec_autotune));
}

static void
ratio_that_pays_grows_with_the_link(void **state)
{
    struct link slow = link_of(8);
    struct link fast = link_of(3.5); /* 2 Gbit/s */

    codec_autotune_learn(&slow.codec_autotune, BLOCK, BLOCK);
    codec_autotune_learn(&fast.codec_autotune, BLOCK, BLOCK);
    /* A quarter of 1.7 ns there and back: of 8 saves 1.2, of 3.5 0.5. */
    assert_true(codec_autotune_pays(&slow.codec_autotune, 1000, 850));
    assert_false(codec_autotune_pays(&fast.codec_autotune, 1000, 850));
    assert_true(codec_autotune_pays(&fast.codec_autotune, 1000, 700));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_that_has_seen_nothing_asks_for_nothing),
        cmocka_unit_test(judge_learns_what_the_link_does),
        cmocka_unit_test(judge_does_not_count_time_in_which_nothing_waits),
        cmocka_unit_test(slow_link_takes_what_becomes_smaller),
        cmocka_unit_test(
            little_is_not_saved_on_a_link_that_is_about_as_fast_as_the_codec),
        cmocka_unit_test(fast_link_is_not_even_asked),
        cmocka_unit_test(samples_that_do_not_pay_become_rare_and_do_not_end),
        cmocka_unit_test(ratio_that_pays_grows_with_the_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
