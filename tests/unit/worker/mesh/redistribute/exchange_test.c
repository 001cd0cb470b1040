/*
 * tests/unit/worker/mesh/redistribute/exchange_test.c - pieces tile what is
 * wanted
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
#include "mesh/redistribute/mesh_step.h"
#include "mesh/sharding.h"
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
    const struct redistribution_request request = {
        .from.mesh = scene->from.mesh,
        .to.mesh = scene->to.mesh,
        .shape = scene->shape,
    };
    struct exchange_side sides[2];
    const struct redistribution_problem problem = {
        .request = &request,
        .sides = {&sides[0], &sides[1]},
        .replicas = &replicas,
    };
    unsigned reduced = 0;

    for (uint32_t i = 0; i < before->partial.n_axes; i++)
        reduced |= 1U << before->partial.axes[i];
    side_init(&sides[0], &scene->from, before, &scene->shape, places[0]);
    side_init(&sides[1], &scene->to, after, &scene->shape, places[1]);
    replicas = (struct replicas){
        .n_ranks = RANKS, .source = lists[0], .n_receiving_ranks = lists[1]};
    replicas_assign_sources(&replicas, &sides[0], &sides[1], reduced);
    return exchange_between(&problem, before, after);
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
    struct hoop_part box = {.shape = piece->sent.shape};
    size_t at[HOOP_MAX_DIMS];

    for (uint32_t dim = 0; dim < piece->sent.shape.n_dims; dim++) {
        box.offset[dim] = wants->offset[dim] + piece->received.offset[dim];
        assert_int_equal(box.offset[dim],
                         has->offset[dim] + piece->sent.offset[dim]);
        assert_true(piece->sent.offset[dim] + piece->sent.shape.dims[dim] <=
                    has->shape.dims[dim]);
        assert_true(piece->received.offset[dim] + piece->sent.shape.dims[dim] <=
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
            n_received += part_n_elements(&piece.sent);
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

static const struct hoop_shape exchanged_shapes[] = {
    {0, {0}}, {1, {16}}, {1, {5}}, {2, {8, 16}}, {2, {7, 3}}, {3, {4, 5, 3}},
};

static void
scenes_check(struct scene scene, uint32_t stride)
{
    for (size_t i = 0; i < COUNT_OF(exchanged_shapes); i++) {
        scene.shape = exchanged_shapes[i];
        scene_check(&scene, stride);
    }
}

static const struct seating rows = {{2, {2, 4}}, {0, 1, 2, 3, 4, 5, 6, 7}};
static const struct seating cube = {{3, {2, 2, 2}}, {0, 1, 2, 3, 4, 5, 6, 7}};

static void
exchange_of_one_mesh_gives_each_element_once(void **state)
{
    scenes_check((struct scene){.from = rows, .to = rows}, 1);
    scenes_check((struct scene){.from = cube, .to = cube}, 7);
}

static void
exchange_of_meshes_that_share_ranks_gives_each_element_once(void **state)
{
    static const struct seating mixed = {{2, {3, 2}}, {9, 3, 0, 7, 11, 4}};

    scenes_check((struct scene){.from = rows, .to = mixed}, 1);
    scenes_check((struct scene){.from = mixed, .to = cube}, 3);
}

static void
exchange_of_meshes_apart_gives_each_element_once(void **state)
{
    static const struct seating apart = {{2, {2, 2}}, {8, 9, 10, 11}};

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

    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t j = 0; j < 8; j++)
            assert_int_equal(exchange_find_piece(&exchange, i, j, &piece),
                             i / 4 == j / 4);
    }
}

/*
 * Between all layouts of small meshes, a mesh_step is listed once where
 * comparing the two says that there is one, and nowhere else.
 */

static struct hoop_sharding layouts[LAYOUTS_MAX];

static bool
is_single(const struct layouts_step *step)
{
    return step->axes.n_axes == 1;
}

static bool
is_expected(const struct mesh_step_rules *rules,
            const struct hoop_sharding *from,
            const struct layouts_step *step)
{
    switch (step->kind) {
    case HOOP_STEP_SLICE:
    case HOOP_STEP_REDUCE_SCATTER:
        return is_single(step);
    case HOOP_STEP_ALLREDUCE:
        return is_single(step) ||
               (step->axes.n_axes == from->partial.n_axes &&
                step->axes.n_axes <= rules->n_axes_per_step_max);
    case HOOP_STEP_ALLGATHER:
    case HOOP_STEP_ALL_TO_ALL:
        return step->axes.n_axes <= rules->n_axes_per_step_max &&
               !(axes_mask(&step->axes) & ~rules->gathered);
    case HOOP_STEP_EXCHANGE:
    case HOOP_STEP_FILL:
        return false;
    }
    return false;
}

static void
check_pair(const struct mesh_step_rules *rules,
           const struct hoop_sharding *from,
           const struct hoop_sharding *to)
{
    struct redistribution_step mesh_steps[MESH_STEPS_MAX];
    struct layouts_step step;
    const uint32_t n_mesh_steps = mesh_steps_enumerate(rules, from, mesh_steps);
    const bool is_one =
        layouts_step(from, to, &step) && is_expected(rules, from, &step);
    uint32_t n_found = 0;

    for (uint32_t i = 0; i < n_mesh_steps; i++) {
        if (sharding_key(&mesh_steps[i].after) != sharding_key(to))
            continue;
        n_found++;
        assert_int_equal(mesh_steps[i].kind, step.kind);
        assert_int_equal(axes_mask(&mesh_steps[i].axes), axes_mask(&step.axes));
        assert_int_equal(mesh_steps[i].gather_dim, step.gather_dim);
        assert_int_equal(mesh_steps[i].shard_dim, step.shard_dim);
        assert_true(hoop_sharding_equal(&mesh_steps[i].after, to));
    }
    assert_int_equal(n_found, is_one ? 1 : 0);
}

static void
mesh_steps_between_all_layouts_are_listed_once(void **state)
{
    static const struct hoop_mesh_shape meshes[] = {{2, {2, 4}},
                                                    {3, {2, 2, 2}}};
    static const struct hoop_shape shapes[] = {{1, {16}}, {2, {16, 8}}};

    for (size_t i = 0; i < COUNT_OF(meshes) * COUNT_OF(shapes) * 4; i++) {
        const struct mesh_step_rules rules = {
            .mesh = meshes[i % 2],
            .shape = shapes[i / 2 % 2],
            .cutting = 7,
            .reduced = 7,
            .gathered = i / 8 == 0 ? 7 : 2,
            .n_axes_per_step_max = i / 4 % 2 == 0 ? 1 : HOOP_MAX_AXES,
        };
        const uint32_t n =
            layouts_list(&rules.mesh, rules.shape.n_dims, HOOP_SUM, layouts);

        for (uint32_t j = 0; j < n * n; j++)
            check_pair(&rules, &layouts[j / n], &layouts[j % n]);
    }
}

static uint32_t
count_kind(const struct mesh_step_rules *rules,
           const struct hoop_sharding *from,
           enum hoop_step_kind kind)
{
    struct redistribution_step mesh_steps[MESH_STEPS_MAX];
    const uint32_t n_mesh_steps = mesh_steps_enumerate(rules, from, mesh_steps);
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_mesh_steps; i++)
        n += mesh_steps[i].kind == kind;
    return n;
}

/* 6 along a dimension in 2 and 4: cut once anywhere, in eight nowhere. */
static void
mesh_steps_of_unequal_parts_are_slices_of_whole_ones(void **state)
{
    static const struct mesh_step_rules rules = {.mesh = {2, {2, 4}},
                                                 .shape = {1, {6}},
                                                 .cutting = 3,
                                                 .reduced = 3,
                                                 .gathered = 3,
                                                 .n_axes_per_step_max =
                                                     HOOP_MAX_AXES};
    const struct hoop_sharding whole = {0};
    const struct hoop_sharding even = {.dims = {{1, {0}}}};
    const struct hoop_sharding uneven = {.dims = {{1, {1}}}, .is_uneven = true};
    const struct hoop_sharding addends = {.partial = {2, {0, 1}}};

    assert_int_equal(count_kind(&rules, &whole, HOOP_STEP_SLICE), 2);
    assert_int_equal(count_kind(&rules, &even, HOOP_STEP_SLICE), 0);
    assert_int_equal(count_kind(&rules, &even, HOOP_STEP_ALLGATHER), 1);
    assert_int_equal(count_kind(&rules, &uneven, HOOP_STEP_ALLGATHER), 0);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_REDUCE_SCATTER), 1);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_ALLREDUCE), 3);
}

static void
mesh_steps_use_axes_that_they_may(void **state)
{
    const struct mesh_step_rules rules = {.mesh = {2, {2, 2}},
                                          .shape = {2, {8, 8}},
                                          .cutting = 1,
                                          .n_axes_per_step_max = HOOP_MAX_AXES};
    const struct hoop_sharding addends = {.partial = {1, {1}}};

    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_SLICE), 2);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_ALLREDUCE), 0);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_REDUCE_SCATTER), 0);
}

/* No axes of one place, addends in one order, uneven where it is so. */
static void
plain_sharding_says_a_layout_in_one_way(void **state)
{
    static const struct hoop_mesh_shape mesh = {4, {2, 1, 3, 2}};
    static const struct hoop_shape shape = {2, {12, 7}};
    const struct hoop_sharding sharding = {.dims = {{2, {1, 2}}},
                                           .partial = {2, {3, 0}},
                                           .partial_op = HOOP_MAX,
                                           .is_uneven = true};
    const struct hoop_sharding same = {
        .dims = {{1, {2}}}, .partial = {2, {0, 3}}, .partial_op = HOOP_MAX};
    struct hoop_sharding plain = sharding_canonical(&sharding, &mesh, &shape);

    assert_true(hoop_sharding_equal(&plain, &same));
    assert_int_equal(sharding_key(&plain), sharding_key(&same));
    assert_int_not_equal(sharding_key(&plain), sharding_key(&sharding));
    const struct hoop_sharding alone = {
        .dims = {{0}, {1, {2}}}, .partial = {1, {1}}, .partial_op = HOOP_MAX};
    plain = sharding_canonical(&alone, &mesh, &shape);
    assert_true(plain.is_uneven);
    assert_int_equal(plain.partial.n_axes, 0);
    assert_int_equal(plain.partial_op, HOOP_SUM);
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
        cmocka_unit_test(mesh_steps_between_all_layouts_are_listed_once),
        cmocka_unit_test(mesh_steps_of_unequal_parts_are_slices_of_whole_ones),
        cmocka_unit_test(mesh_steps_use_axes_that_they_may),
        cmocka_unit_test(plain_sharding_says_a_layout_in_one_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
