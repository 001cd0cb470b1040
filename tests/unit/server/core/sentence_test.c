/* tests/unit/server/core/sentence_test.c - parts are joined, too many are cut */

#include <string.h>

#include "check.h"
#include "core/sentence.h"

static void
sentence_parts_are_joined(void **state)
{
    struct sentence sentence = {0};

    (void)state;
    sentence_add(&sentence, "%d of %d", 3, 4);
    sentence_add(&sentence, "; %s", "rank 3");
    assert_string_equal(sentence.text, "3 of 4; rank 3");
}

static void
sentence_too_long_is_cut_and_says_so(void **state)
{
    struct sentence sentence = {0};

    (void)state;
    for (int i = 0; i < 500; i++)
        sentence_add(&sentence, "part %d, ", i);
    assert_int_equal(strlen(sentence.text), LIMIT_ERROR_TEXT - 1);
    assert_string_equal(sentence.text + LIMIT_ERROR_TEXT - 4, "...");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentence_parts_are_joined),
        cmocka_unit_test(sentence_too_long_is_cut_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
