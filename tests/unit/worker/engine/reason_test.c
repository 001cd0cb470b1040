/* tests/unit/worker/engine/reason_test.c - engine/failure/failure_detector.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "engine/state.h"

static const char tail[] = ", reported by rank 0 (host:40)";

static void
reason_that_fits_is_left_whole(void **state)
{
    char out[REASON_BYTES];

    (void)state;
    reason_write_truncated("connection reset", tail, out);
    assert_string_equal(out, "connection reset, reported by rank 0 (host:40)");
    /* Where it is. */
    reason_write_truncated(out, "!", out);
    assert_string_equal(out, "connection reset, reported by rank 0 (host:40)!");
    reason_write_truncated("", "", out);
    assert_string_equal(out, "");
}

/* n_words of "words, ". */
static void
words_write(unsigned n_words, char *out)
{
    for (unsigned i = 0; i < n_words; i++)
        out += sprintf(out, "words%s", i + 1 < n_words ? ", " : "");
}

static void
long_reason_is_cut_at_a_word_and_keeps_its_tail(void **state)
{
    char what[2 * REASON_BYTES];
    char out[REASON_BYTES];

    (void)state;
    for (unsigned n_words = 1; n_words < 90; n_words++) {
        words_write(n_words, what);
        const size_t n_what = strlen(what);
        reason_write_truncated(what, tail, out);
        const char *end = strstr(out, tail);

        assert_non_null(end);
        assert_string_equal(end, tail);
        if (n_what + strlen(tail) < REASON_BYTES) {
            assert_memory_equal(out, what, n_what);
            continue;
        }
        assert_memory_equal(end - strlen("words ..."), "words ...",
                            strlen("words ..."));
        assert_in_range(strlen(out), REASON_BYTES - 8, REASON_BYTES - 1);
    }
}

static void
endless_word_is_cut_anywhere(void **state)
{
    char what[2 * REASON_BYTES] = {0};
    char out[REASON_BYTES];

    (void)state;
    memset(what, 'x', sizeof(what) - 1);
    reason_write_truncated(what, tail, out);
    assert_int_equal(strlen(out), REASON_BYTES - 1);
    assert_string_equal(out + REASON_BYTES - 1 - strlen(tail), tail);
    assert_non_null(strstr(out, "x ..., reported"));
}

/* The longest tail there may be. */
static void
tail_that_leaves_no_room_is_whole(void **state)
{
    char longest[REASON_BYTES] = {0};
    char out[REASON_BYTES];

    (void)state;
    memset(longest, 'y', REASON_BYTES - 5);
    reason_write_truncated("connection reset", longest, out);
    assert_int_equal(strlen(out), REASON_BYTES - 1);
    assert_non_null(strstr(out, longest));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reason_that_fits_is_left_whole),
        cmocka_unit_test(long_reason_is_cut_at_a_word_and_keeps_its_tail),
        cmocka_unit_test(endless_word_is_cut_anywhere),
        cmocka_unit_test(tail_that_leaves_no_room_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
