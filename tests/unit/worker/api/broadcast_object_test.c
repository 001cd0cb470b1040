/* tests/unit/worker/api/broadcast_object_test.c - api/objects.c */

#include <stdlib.h>

#include "couple_case.h"

static void
wrong_arguments_are_invalid(void **state)
{
    void *bytes = NULL;
    size_t n_bytes = 0;
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_broadcast_object("", 0, NULL, NULL, 0, NULL),
                   "comm is NULL");
    assert_invalid(hoop_broadcast_object(NULL, 1, NULL, NULL, 0, both()),
                   "send is NULL on rank 0");
    assert_invalid(
        hoop_broadcast_object("", ((size_t)1 << 40) + 1, NULL, NULL, 0, both()),
        "an object of 1099511627777 bytes is too large");
    assert_invalid(hoop_broadcast_object(NULL, 0, NULL, &n_bytes, 1, both()),
                   "out_bytes or out_n_bytes is NULL on rank 0");
    assert_invalid(hoop_broadcast_object(NULL, 0, &bytes, &n_bytes, 2, both()),
                   "root 2 is not below the communicator's size, 2");
    assert_invalid(
        hoop_broadcast_object_start(NULL, 0, &bytes, &n_bytes, 2, both(), &op),
        "root 2");
    assert_invalid(
        hoop_broadcast_object_start(NULL, 0, &bytes, &n_bytes, 1, both(), NULL),
        "out_op is NULL");
    assert_null(op);
}

static void
no_member_gets_nothing(void **state)
{
    size_t n_bytes = 7;
    hoop_op_t *op = NULL;

    (void)state;
    assert_int_equal(
        hoop_broadcast_object(NULL, 0, NULL, &n_bytes, 0, foreign()), HOOP_OK);
    assert_int_equal(
        hoop_broadcast_object_start(NULL, 0, NULL, &n_bytes, 0, foreign(), &op),
        HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_OK);
    assert_int_equal(n_bytes, 7);
}

static int
side_copy(struct side *side)
{
    void *bytes = &bytes;
    size_t n_bytes = 99;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_broadcast_object(side->rank == 1 ? "hi!" : NULL,
                                     side->rank == 1 ? 3 : 0, &bytes, &n_bytes,
                                     1, side->comms) == HOOP_OK);
    SIDE_CHECK(n_bytes == 3);
    SIDE_CHECK(side->rank == 1 ? bytes == NULL : !memcmp(bytes, "hi!", 3));
    hoop_object_free(bytes);
    SIDE_CHECK(
        finish(hoop_broadcast_object_start(
                   "again", 5, side->rank == 0 ? NULL : &bytes,
                   side->rank == 0 ? NULL : &n_bytes, 0, side->comms, &op),
               &op) == HOOP_OK);
    if (side->rank == 1) {
        SIDE_CHECK(n_bytes == 5 && !memcmp(bytes, "again", 5));
        hoop_object_free(bytes);
    }
    return 0;
}

static void
everybody_else_has_a_copy(void **state)
{
    (void)state;
    couple_run(&couple, side_copy);
}

static int
side_lengths(struct side *side)
{
    static const size_t lengths[] = {0, 1, 63, 65536, 300001};
    uint8_t *object = malloc(300001);

    for (size_t i = 0; i < 300001; i++)
        object[i] = (uint8_t)(i * 7);
    for (unsigned i = 0; i < 5; i++) {
        const bool is_root = side->rank == i % 2;
        void *bytes = &bytes;
        size_t n_bytes = 99;

        SIDE_CHECK(hoop_broadcast_object(
                       is_root ? object : NULL, is_root ? lengths[i] : 1000,
                       &bytes, &n_bytes, i % 2, side->comms) == HOOP_OK);
        SIDE_CHECK(n_bytes == lengths[i]);
        SIDE_CHECK((bytes == NULL) == (is_root || lengths[i] == 0));
        SIDE_CHECK(!bytes || !memcmp(bytes, object, n_bytes));
        hoop_object_free(bytes);
    }
    free(object);
    return 0;
}

static void
only_the_root_knows_the_length(void **state)
{
    (void)state;
    couple_run(&couple, side_lengths);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(no_member_gets_nothing),
        COUPLE_TEST(everybody_else_has_a_copy),
        COUPLE_TEST(only_the_root_knows_the_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
