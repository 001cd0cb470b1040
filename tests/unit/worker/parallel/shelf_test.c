/* tests/unit/worker/parallel/shelf_test.c - parallel/shelf.c */

#include "check.h"
#include "parallel/shelf.h"

static const struct hoop_schedule_options shape = {HOOP_INTERLEAVED, 2, 3, 2};

static void
place_fill(struct shelf_place *place)
{
    const struct hoop_shape one = {1, {4}};

    assert_int_equal(hoop_tensor_create(HOOP_INT32, &one, &place->tensor),
                     HOOP_OK);
}

static void
shelf_has_a_place_for_each(void **state)
{
    struct shelf shelf;

    (void)state;
    assert_int_equal(shelf_init(&shelf, &shape), HOOP_OK);
    for (unsigned i = 0; i < SHELF_ROWS * 2 * 3; i++) {
        struct shelf_place *place =
            shelf_at(&shelf, (enum shelf_row)(i / 6), i / 3 % 2, i % 3);

        assert_null(place->tensor.data);
        place_fill(place);
    }
    /* frees them all */
    shelf_deinit(&shelf);
    assert_null(shelf.places);
    shelf_deinit(&shelf);
}

static void
shelf_move_empties_the_place(void **state)
{
    struct shelf shelf;

    (void)state;
    assert_int_equal(shelf_init(&shelf, &shape), HOOP_OK);
    struct shelf_place *from = shelf_at(&shelf, SHELF_OUTPUT, 0, 1);
    struct shelf_place *to = shelf_at(&shelf, SHELF_INPUT, 1, 1);
    place_fill(from);
    const void *bytes = from->tensor.data;
    shelf_move(from, to);
    assert_null(from->tensor.data);
    assert_ptr_equal(to->tensor.data, bytes);
    shelf_clear(to);
    assert_null(to->tensor.data);
    shelf_clear(to);
    shelf_deinit(&shelf);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shelf_has_a_place_for_each),
        cmocka_unit_test(shelf_move_empties_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
