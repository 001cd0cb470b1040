/* tests/unit/worker/api/scatter_object_test.c - api/objects.c */

#include <stdlib.h>

#include "couple_case.h"

static void
wrong_arguments_are_invalid(void **state)
{
    struct hoop_object objects[2] = {{"", 0}, {NULL, 3}};
    void *bytes = NULL;
    size_t n_bytes;
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 0, NULL),
                   "comm is NULL");
    assert_invalid(hoop_scatter_object(NULL, &bytes, &n_bytes, 0, both()),
                   "send is NULL on rank 0");
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 0, both()),
                   "the object for rank 1 is NULL");
    objects[1] = (struct hoop_object){"", ((size_t)1 << 40) + 1};
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 0, both()),
                   "too large");
    assert_invalid(hoop_scatter_object(objects, NULL, &n_bytes, 0, both()),
                   "out_bytes or out_n_bytes is NULL on rank 0");
    assert_invalid(hoop_scatter_object(objects, &bytes, NULL, 1, both()),
                   "out_bytes or out_n_bytes is NULL on rank 0");
    assert_invalid(hoop_scatter_object(objects, &bytes, &n_bytes, 2, both()),
                   "root 2");
    assert_invalid(
        hoop_scatter_object_start(NULL, &bytes, &n_bytes, 1, both(), NULL),
        "out_op is NULL");
    assert_invalid(
        hoop_scatter_object_start(objects, &bytes, &n_bytes, 3, both(), &op),
        "root 3");
    assert_null(op);
    assert_null(bytes);
}

static void
no_member_gets_nothing(void **state)
{
    void *bytes = NULL;
    size_t n_bytes = 7;
    hoop_op_t *op = NULL;

    (void)state;
    assert_int_equal(hoop_scatter_object(NULL, &bytes, &n_bytes, 0, foreign()),
                     HOOP_OK);
    assert_int_equal(
        hoop_scatter_object_start(NULL, NULL, NULL, 5, foreign(), &op),
        HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_OK);
    assert_null(bytes);
    assert_int_equal(n_bytes, 7);
}

/* Rank 0 gets five letters, rank 1 nothing, from either root. */
static int
side_each(struct side *side)
{
    const struct hoop_object objects[2] = {{"seven", 5}, {NULL, 0}};

    for (uint32_t root = 0; root < 2; root++) {
        void *bytes = &bytes;
        size_t n_bytes = 99;

        SIDE_CHECK(hoop_scatter_object(side->rank == root ? objects : NULL,
                                       &bytes, &n_bytes, root,
                                       side->comms) == HOOP_OK);
        SIDE_CHECK(n_bytes == (side->rank == 0 ? 5 : 0));
        SIDE_CHECK(side->rank == 0 ? !memcmp(bytes, "seven", 5)
                                   : bytes == NULL);
        hoop_object_free(bytes);
    }
    return 0;
}

static void
each_rank_gets_its_own_object(void **state)
{
    (void)state;
    couple_run(&couple, side_each);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(no_member_gets_nothing),
        COUPLE_TEST(each_rank_gets_its_own_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
