/*
 * tests/unit/worker/checkpoint/overlap_test.c - what a piece has of a part
 *
 * All boxes of small tensors against loops over single elements.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "checkpoint/piece.h"

enum {
    SIZE = 4,
    ROOM = SIZE * SIZE * SIZE,
    NOTHING = 255,
};

/* Where element i of a part is in a whole of SIZE each way. */
static size_t
place_of(const struct hoop_part *part, size_t i)
{
    size_t place = 0;
    size_t stride = 1;

    for (uint32_t dim = part->shape.n_dims; dim > 0; dim--) {
        const size_t size = part->shape.dims[dim - 1];

        place += (part->offset[dim - 1] + i % size) * stride;
        i /= size;
        stride *= SIZE;
    }
    return place;
}

static size_t
count_of(const struct hoop_part *part)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < part->shape.n_dims; dim++)
        count *= part->shape.dims[dim];
    return count;
}

/* What lands in the part, element by element: the whole's places. */
static void
expect(const struct tensor_piece *piece,
       const struct hoop_part *part,
       uint8_t *out)
{
    memset(out, NOTHING, ROOM);
    for (size_t to = 0; to < count_of(part); to++) {
        for (size_t from = piece->first;
             from < piece->first + piece->n_elements; from++) {
            if (place_of(&piece->part, from) == place_of(part, to))
                out[to] = (uint8_t)(from - piece->first);
        }
    }
}

static void
require_runs(const struct tensor_piece *piece, const struct hoop_part *part)
{
    struct overlap overlap = overlap_of_piece_and_part(piece, part);
    uint8_t expected[ROOM];
    uint8_t found[ROOM];
    struct overlap_run run;
    size_t from_end = 0;
    size_t to_end = 0;

    expect(piece, part, expected);
    memset(found, NOTHING, sizeof(found));
    while (overlap_next_run(&overlap, &run)) {
        assert_true(run.n_elements > 0);
        assert_true(run.from >= from_end && run.to >= to_end);
        from_end = run.from + run.n_elements;
        to_end = run.to + run.n_elements;
        assert_true(from_end <= piece->n_elements && to_end <= ROOM);
        for (size_t i = 0; i < run.n_elements; i++)
            found[run.to + i] = (uint8_t)(run.from + i);
    }
    assert_false(overlap_next_run(&overlap, &run));
    assert_memory_equal(found, expected, ROOM);
}

/* Box number n of n_dims: offsets and sizes. */
static struct hoop_part
box(uint32_t n_dims, uint32_t n)
{
    static const uint8_t stretches[][2] = {{0, 4}, {0, 2}, {1, 2},
                                           {2, 2}, {3, 1}, {0, 0}};
    struct hoop_part part = {.shape.n_dims = n_dims};

    for (uint32_t dim = 0; dim < n_dims; dim++) {
        const uint8_t *stretch = stretches[n % COUNT_OF(stretches)];

        part.offset[dim] = stretch[0];
        part.shape.dims[dim] = stretch[1];
        n /= COUNT_OF(stretches);
    }
    return part;
}

static void
overlap_of_all_boxes_is_that_of_their_elements(void **state)
{
    static const uint32_t n_boxes[] = {1, 6, 36, 216};

    (void)state;
    for (uint32_t n_dims = 0; n_dims <= 3; n_dims++) {
        for (uint32_t n = 0; n < n_boxes[n_dims] * n_boxes[n_dims]; n++) {
            const struct hoop_part part = box(n_dims, n / n_boxes[n_dims]);
            struct tensor_piece piece = {.part =
                                             box(n_dims, n % n_boxes[n_dims])};
            const size_t count = count_of(&piece.part);

            piece.first = count / 3;
            piece.n_elements = count - count / 3 - count / 5;
            require_runs(&piece, &part);
            piece.first = 0;
            piece.n_elements = count;
            require_runs(&piece, &part);
        }
    }
}

static void
overlap_of_equal_boxes_is_one_run(void **state)
{
    const struct hoop_part part = {{1, 0, 2}, {3, {2, 4, 2}}};
    const struct tensor_piece piece = {part, 3, 9};
    struct overlap overlap = overlap_of_piece_and_part(&piece, &part);
    struct overlap_run run;

    (void)state;
    assert_true(overlap_next_run(&overlap, &run));
    assert_int_equal(run.from, 0);
    assert_int_equal(run.to, 3);
    assert_int_equal(run.n_elements, 9);
    assert_false(overlap_next_run(&overlap, &run));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap_of_all_boxes_is_that_of_their_elements),
        cmocka_unit_test(overlap_of_equal_boxes_is_one_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
