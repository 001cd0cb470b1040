/*
 * tests/unit/worker/mesh/redistribute/exchange_test.c - pieces tile what is wanted
 *
 * Between all layouts of small meshes: one mesh, meshes that share ranks in
 * another order, and meshes that share none; with sizes that divide and that do
 * not. Every element of every part comes once, from who has it, and all of a
 * part from one replica: that of the receiver, if it is in one.
 */

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "layouts.h"
#include "mesh/redistribute/exchange.h"
#include "tokens.h"

enum {
    RANKS = 12,
};

/* Where a mesh lies in the context. */
struct seating {
    struct hoop_mesh_shape mesh;
    uint32_t ranks[RANKS];
};

/* Those of one test. */
struct scene {
    struct seating from;
    struct seating to;
    struct hoop_shape shape;
};

static uint32_t places[2][RANKS];
static uint32_t lists[2][RANKS];
static struct replicas replicas;

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

/* Addends have been reduced before. */
static struct exchange
exchange_of(const struct scene *scene,
            const struct hoop_sharding *before,
            const struct hoop_sharding *after)
{
    struct exchange exchange = {.replicas = &replicas};
    unsigned reduced = 0;

    for (uint32_t i = 0; i < before->partial.n_axes; i++)
        reduced |= 1U << before->partial.axes[i];
    side_init(&exchange.from, &scene->from, before, &scene->shape, places[0]);
    side_init(&exchange.to, &scene->to, after, &scene->shape, places[1]);
    replicas = (struct replicas){
        .n_ranks = RANKS, .source = lists[0], .n_takers = lists[1]};
    replicas_assign_sources(&replicas, &exchange.from, &exchange.to, reduced);
    exchange_find_copy_axes(&exchange);
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
    grid_coordinates_of_place(&side->tiling.grid, side->places[rank], at);
    tiling_tile_at(&side->tiling, at, &tile);
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
    assert_true(part_n_elements(&box) > 0);
    for (size_t i = 0; i < part_n_elements(&box); i++) {
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
            assert_false(
                exchange_find_piece(exchange, sender, receiver, &piece));
        assert_int_equal(exchange_n_received(exchange, receiver), 0);
        return;
    }
    memset(seen, 0, sizeof(seen));
    for (uint32_t sender = 0; sender < RANKS; sender++) {
        if (!exchange_find_piece(exchange, sender, receiver, &piece))
            continue;
        assert_true(part_of(&exchange->from, sender, &has));
        check_piece(&piece, &has, &wants, seen);
        if (sender != receiver)
            n_received +=
                part_n_elements(&(struct hoop_part){.shape = piece.shape});
    }
    for (size_t i = 0; i < part_n_elements(&wants); i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(exchange_n_received(exchange, receiver), n_received);
    /* What it had itself, it has kept: all of that. */
    if (part_of(&exchange->from, receiver, &has) &&
        part_intersect(&has, &wants, &both))
        assert_int_equal(n_received,
                         part_n_elements(&wants) - part_n_elements(&both));
    else
        assert_int_equal(n_received, part_n_elements(&wants));
}

static bool
is_cut(const struct hoop_sharding *sharding, uint32_t axis)
{
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        for (uint32_t i = 0; i < sharding->dims[dim].n_axes; i++) {
            if (sharding->dims[dim].axes[i] == axis)
                return true;
        }
    }
    return false;
}

static bool
is_partial(const struct hoop_sharding *sharding, uint32_t axis)
{
    for (uint32_t i = 0; i < sharding->partial.n_axes; i++) {
        if (sharding->partial.axes[i] == axis)
            return true;
    }
    return false;
}

/* Whether two ranks of from are in one replica, all their copies included. */
static bool
same_replica(const struct exchange *exchange,
             const struct hoop_sharding *before,
             uint32_t one,
             uint32_t other)
{
    const struct grid *grid = &exchange->from.tiling.grid;
    uint32_t a[HOOP_MAX_AXES];
    uint32_t b[HOOP_MAX_AXES];

    grid_coordinates_of_place(grid, exchange->from.places[one], a);
    grid_coordinates_of_place(grid, exchange->from.places[other], b);
    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        if (a[axis] != b[axis] && !is_cut(before, axis) &&
            !is_partial(before, axis))
            return false;
    }
    return true;
}

/* All who give something to one rank are of one replica: its own, if it has
 * one. */
static void
check_replicas(const struct exchange *exchange,
               const struct hoop_sharding *before)
{
    struct redistribution_piece piece;

    for (uint32_t receiver = 0; receiver < RANKS; receiver++) {
        uint32_t source = receiver;

        if (exchange->from.places[receiver] == HOOP_NO_RANK)
            source = HOOP_NO_RANK;
        for (uint32_t sender = 0; sender < RANKS; sender++) {
            if (!exchange_find_piece(exchange, sender, receiver, &piece))
                continue;
            if (source == HOOP_NO_RANK)
                source = sender;
            assert_true(same_replica(exchange, before, source, sender));
        }
    }
}

/* Along shared axes, whose target replicas are whole, all take from one. */
static void
check_shared_axes(const struct exchange *exchange)
{
    const struct grid *grid = &exchange->to.tiling.grid;
    const unsigned shared = replicas_shared_axes(&replicas, &exchange->to);
    uint32_t a[HOOP_MAX_AXES];
    uint32_t b[HOOP_MAX_AXES];

    for (uint32_t i = 0; i < grid->n_places * grid->n_places; i++) {
        const uint32_t one = i / grid->n_places;
        const uint32_t other = i % grid->n_places;
        unsigned differ = 0;

        grid_coordinates_of_place(grid, one, a);
        grid_coordinates_of_place(grid, other, b);
        for (uint32_t axis = 0; axis < grid->n_axes; axis++)
            differ |= a[axis] != b[axis] ? 1U << axis : 0;
        if (replicas.source[exchange->to.ranks[one]] !=
            replicas.source[exchange->to.ranks[other]]) {
            /* Joined along shared axes alone they would be mixed. */
            assert_true((differ & ~shared) != 0);
        }
    }
}

static void
case_check(const struct scene *scene,
           const struct exchange *exchange,
           const struct hoop_sharding *before)
{
    size_t n_sent = 0;
    size_t n_received = 0;
    double n_guessed = 0;
    bool is_uneven = false;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct exchange_rank_work load =
            exchange_rank_work(exchange, rank);

        check_receiver(exchange, rank);
        n_sent += exchange_n_sent(exchange, rank, RANKS);
        n_received += exchange_n_received(exchange, rank);
        n_guessed += load.n_sent;
        assert_true(load.n_sent >= 0 && load.sends >= 0 && load.receives >= 0);
        assert_true(load.n_received ==
                    (double)exchange_n_received(exchange, rank));
    }
    for (uint32_t dim = 0; dim < scene->shape.n_dims; dim++)
        is_uneven =
            is_uneven ||
            scene->shape.dims[dim] % exchange->from.tiling.n_tiles[dim] != 0 ||
            scene->shape.dims[dim] % exchange->to.tiling.n_tiles[dim];
    assert_int_equal(n_sent, n_received);
    check_replicas(exchange, before);
    check_shared_axes(exchange);
    /* Of one replica on one mesh, means are exact where parts are alike. */
    if (memcmp(&scene->from, &scene->to, sizeof(scene->to)) == 0 &&
        !is_uneven && replicas.n_replicas == 1 && before->partial.n_axes == 0)
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

        if (to->partial.n_axes > 0)
            continue;
        const struct exchange exchange = exchange_of(scene, from, to);
        case_check(scene, &exchange, from);
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
    scenes_check((struct scene){.from = rows, .to = mixed}, 1);
    scenes_check((struct scene){.from = mixed, .to = cube}, 3);
}

static void
exchange_of_meshes_apart_gives_each_element_once(void **state)
{
    static const struct seating apart = {{2, {2, 2}}, {8, 9, 10, 11}};

    (void)state;
    scenes_check((struct scene){.from = rows, .to = apart}, 1);
    scenes_check((struct scene){.from = apart, .to = rows}, 1);
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
            assert_int_equal(exchange_find_piece(&exchange, i, j, &piece),
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
