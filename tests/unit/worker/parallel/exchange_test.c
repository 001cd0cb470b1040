/*
 * tests/unit/worker/parallel/exchange_test.c - pieces tile what is wanted
 *
 * Between all layouts of small meshes: one mesh, meshes that share ranks in
 * another order, and meshes that share none; with sizes that divide and that do
 * not. Every element of every part comes once, from who has it.
 */

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "layouts.h"
#include "parallel/exchange.h"
#include "tokens.h"

enum {
    RANKS = 12,
};

/* Where a mesh lies in the channel. */
struct seating {
    struct hoop_mesh_shape mesh;
    uint32_t ranks[RANKS];
};

/* Those of one test. */
struct scene {
    struct seating from;
    struct seating to;
    enum exchange_meshes meshes;
    enum redistribution_way way;
    struct hoop_shape shape;
};

static uint32_t places[2][RANKS];

static void
side_init(struct exchange_side *side,
          const struct seating *seating,
          const struct hoop_sharding *sharding,
          const struct hoop_shape *shape,
          uint32_t *by_rank)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        by_rank[rank] = HOOP_NO_RANK;
    for (uint32_t i = 0; i < layouts_places(&seating->mesh); i++)
        by_rank[seating->ranks[i]] = i;
    side->places = by_rank;
    side->ranks = seating->ranks;
    tiling_init(&side->tiling, sharding, &seating->mesh, shape);
}

static struct exchange
exchange_of(const struct scene *scene,
            const struct hoop_sharding *before,
            const struct hoop_sharding *after)
{
    struct exchange exchange = {.way = scene->way};

    side_init(&exchange.from, &scene->from, before, &scene->shape, places[0]);
    side_init(&exchange.to, &scene->to, after, &scene->shape, places[1]);
    exchange_init(&exchange, scene->meshes);
    return exchange;
}

/* False: the rank is not there. */
static bool
part_of(const struct exchange_side *side,
        uint32_t rank,
        struct hoop_part *out_part)
{
    uint32_t at[HOOP_MAX_AXES];
    struct tile tile;

    if (side->places[rank] == HOOP_NO_RANK)
        return false;
    grid_coordinates(&side->tiling.grid, side->places[rank], at);
    tiling_tile(&side->tiling, at, &tile);
    *out_part = tile.part;
    return true;
}

/* Lies inside both parts, and is counted in seen. */
static void
check_piece(const struct redistribution_piece *piece,
            const struct hoop_part *has,
            const struct hoop_part *wants,
            uint8_t *seen)
{
    struct hoop_part box = {.shape = piece->shape};
    size_t at[HOOP_MAX_DIMS];

    for (uint32_t dim = 0; dim < piece->shape.n_dims; dim++) {
        box.offset[dim] = wants->offset[dim] + piece->in_receiver[dim];
        assert_int_equal(box.offset[dim],
                         has->offset[dim] + piece->in_sender[dim]);
        assert_true(piece->in_sender[dim] + piece->shape.dims[dim] <=
                    has->shape.dims[dim]);
        assert_true(piece->in_receiver[dim] + piece->shape.dims[dim] <=
                    wants->shape.dims[dim]);
    }
    assert_true(part_count(&box) > 0);
    for (size_t i = 0; i < part_count(&box); i++) {
        tokens_locate(&box, i, at);
        seen[tokens_index(wants, at)]++;
    }
}

static void
check_receiver(const struct exchange *exchange, uint32_t receiver)
{
    static uint8_t seen[TOKENS_ELEMENTS];
    struct redistribution_piece piece;
    struct hoop_part wants;
    struct hoop_part has;
    struct hoop_part both;
    size_t n_received = 0;

    if (!part_of(&exchange->to, receiver, &wants)) {
        for (uint32_t sender = 0; sender < RANKS; sender++)
            assert_false(exchange_piece(exchange, sender, receiver, &piece));
        assert_int_equal(exchange_received(exchange, receiver), 0);
        return;
    }
    memset(seen, 0, sizeof(seen));
    for (uint32_t sender = 0; sender < RANKS; sender++) {
        if (!exchange_piece(exchange, sender, receiver, &piece))
            continue;
        assert_true(part_of(&exchange->from, sender, &has));
        check_piece(&piece, &has, &wants, seen);
        if (sender != receiver)
            n_received += part_count(&(struct hoop_part){.shape = piece.shape});
    }
    for (size_t i = 0; i < part_count(&wants); i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(exchange_received(exchange, receiver), n_received);
    /* What it had itself, it has kept: all of that. */
    if (part_of(&exchange->from, receiver, &has) &&
        part_meet(&has, &wants, &both))
        assert_int_equal(n_received, part_count(&wants) - part_count(&both));
    else
        assert_int_equal(n_received, part_count(&wants));
}

/* Of those who have the same tile, and may be asked for it by the same ranks,
 * nobody is asked by more than all take turns for. */
static void
check_turns(const struct exchange *exchange)
{
    const uint32_t n_havers =
        grid_line_count(&exchange->from.tiling.grid, &exchange->havers);
    const uint32_t n_wanters =
        grid_line_count(&exchange->to.tiling.grid, &exchange->wanters);
    struct redistribution_piece piece;

    for (uint32_t sender = 0; sender < RANKS; sender++) {
        struct hoop_part has;
        struct hoop_part wants;
        struct hoop_part both;
        uint32_t n_tiles = 0;
        uint32_t n_asked = 0;
        struct hoop_part tiles[RANKS];

        if (!part_of(&exchange->from, sender, &has))
            continue;
        for (uint32_t i = 0; i < RANKS; i++) {
            if (!part_of(&exchange->to, i, &wants) ||
                !part_meet(&has, &wants, &both))
                continue;
            uint32_t k = 0;
            while (k < n_tiles && memcmp(&tiles[k], &wants, sizeof(wants)) != 0)
                k++;
            if (k == n_tiles)
                tiles[n_tiles++] = wants;
            n_asked +=
                i != sender && exchange_piece(exchange, sender, i, &piece);
        }
        assert_true(n_asked <= (n_tiles * n_wanters + n_havers - 1) / n_havers);
    }
}

static void
case_check(const struct scene *scene, const struct exchange *exchange)
{
    size_t n_sent = 0;
    size_t n_received = 0;
    double n_guessed = 0;
    bool is_uneven = false;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct exchange_load load = exchange_load(exchange, rank);

        check_receiver(exchange, rank);
        n_sent += exchange_sent(exchange, rank, RANKS);
        n_received += exchange_received(exchange, rank);
        n_guessed += load.n_sent;
        assert_true(load.n_sent >= 0 && load.sends >= 0 && load.receives >= 0);
        assert_true(load.n_received ==
                    (double)exchange_received(exchange, rank));
    }
    for (uint32_t dim = 0; dim < scene->shape.n_dims; dim++)
        is_uneven =
            is_uneven ||
            scene->shape.dims[dim] % exchange->from.tiling.n_tiles[dim] != 0 ||
            scene->shape.dims[dim] % exchange->to.tiling.n_tiles[dim];
    assert_int_equal(n_sent, n_received);
    if (scene->way == REDISTRIBUTION_FORWARD)
        check_turns(exchange);
    /* Within one mesh, means are as they are where parts are alike. */
    if (scene->meshes == EXCHANGE_ONE_MESH && !is_uneven)
        assert_true(fabs(n_guessed - (double)n_sent) < 1e-6);
}

static void
scene_check(const struct scene *scene, uint32_t stride)
{
    static struct hoop_sharding before[LAYOUTS_MAX];
    static struct hoop_sharding after[LAYOUTS_MAX];
    const uint32_t n_dims = scene->shape.n_dims;
    const uint32_t n_before =
        layouts_list(&scene->from.mesh, n_dims, HOOP_SUM, before);
    const uint32_t n_after =
        layouts_list(&scene->to.mesh, n_dims, HOOP_SUM, after);

    for (uint32_t i = 0; i < n_before * n_after; i += stride) {
        const struct hoop_sharding *from = &before[i / n_after];
        const struct hoop_sharding *to = &after[i % n_after];

        if (from->partial.n_axes > 0 || to->partial.n_axes > 0)
            continue;
        const struct exchange exchange = exchange_of(scene, from, to);
        case_check(scene, &exchange);
    }
}

static const struct hoop_shape shapes[] = {
    {0, {0}}, {1, {16}}, {1, {5}}, {2, {8, 16}}, {2, {7, 3}}, {3, {4, 5, 3}},
};

static void
scenes_check(struct scene scene, uint32_t stride)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        scene.shape = shapes[i];
        scene.way = REDISTRIBUTION_FORWARD;
        scene_check(&scene, stride);
        scene.way = REDISTRIBUTION_BACKWARD;
        scene_check(&scene, stride);
    }
}

static const struct seating rows = {{2, {2, 4}}, {0, 1, 2, 3, 4, 5, 6, 7}};
static const struct seating cube = {{3, {2, 2, 2}}, {0, 1, 2, 3, 4, 5, 6, 7}};

static void
exchange_of_one_mesh_gives_each_element_once(void **state)
{
    (void)state;
    scenes_check((struct scene){.from = rows, .to = rows}, 1);
    scenes_check((struct scene){.from = cube, .to = cube}, 7);
}

static void
exchange_of_meshes_that_share_ranks_gives_each_element_once(void **state)
{
    static const struct seating mixed = {{2, {3, 2}}, {9, 3, 0, 7, 11, 4}};

    (void)state;
    scenes_check((struct scene){.from = rows,
                                .to = mixed,
                                .meshes = EXCHANGE_TWO_MESHES},
                 1);
    scenes_check((struct scene){.from = mixed,
                                .to = cube,
                                .meshes = EXCHANGE_TWO_MESHES},
                 3);
}

static void
exchange_of_meshes_apart_gives_each_element_once(void **state)
{
    static const struct seating apart = {{2, {2, 2}}, {8, 9, 10, 11}};

    (void)state;
    scenes_check((struct scene){.from = rows,
                                .to = apart,
                                .meshes = EXCHANGE_TWO_MESHES},
                 1);
    scenes_check((struct scene){.from = apart,
                                .to = rows,
                                .meshes = EXCHANGE_TWO_MESHES},
                 1);
}

/* Along an axis that neither layout uses, ranks do not ask each other. */
static void
exchange_stays_in_its_row(void **state)
{
    const struct hoop_sharding before = {.dims = {{1, {1}}}};
    const struct hoop_sharding after = {.dims = {{0}, {1, {1}}}};
    const struct scene scene = {
        .from = rows, .to = rows, .shape = {2, {8, 16}}};
    const struct exchange exchange = exchange_of(&scene, &before, &after);
    struct redistribution_piece piece;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t j = 0; j < 8; j++)
            assert_int_equal(exchange_piece(&exchange, i, j, &piece),
                             i / 4 == j / 4);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchange_of_one_mesh_gives_each_element_once),
        cmocka_unit_test(
            exchange_of_meshes_that_share_ranks_gives_each_element_once),
        cmocka_unit_test(exchange_of_meshes_apart_gives_each_element_once),
        cmocka_unit_test(exchange_stays_in_its_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
