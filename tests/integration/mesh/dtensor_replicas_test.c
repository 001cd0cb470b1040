/*
 * tests/integration/mesh/dtensor_replicas_test.c - from which rank elements
 * come
 *
 * There are eight workers, and in each tensor every rank has other values, so
 * that each element of a result shows from which rank it came. The test takes
 * pairs of process groups of the first n ranks (n up to 8, with each T that
 * divides n) and of some other ranks, and goes from every sharding to every
 * other, forward and backward. A rank must get all elements from one replica,
 * chosen by the rule of docs/tensors.md. The test finds that replica by
 * searching all places, and shares no code with the library.
 *
 * The suite takes some of the pairs, and different ones with another
 * REPLICAS_SEED. REPLICAS_STEP=1 takes all pairs.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"
#include "pseudo_random.h"

enum {
    RANKS = 8,
    AXES_MAX = 3,
    GROUPS_MAX = 40,
    LAYOUTS_MAX = 100,
    ELEMENTS_MAX = 96,
    RANK_STEP = 1000, /* between the values of two ranks */
    PARTS = 16,       /* of all pairs, since workers have 100 s */
};

/* The suite takes one in so many pairs, and fewer with a sanitizer. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const uint64_t STEP = 1009;
#else
static const uint64_t STEP = 121;
#endif

/* Says what an axis of a row does to the tensor. */
enum use {
    CUTS_DIM_0,
    CUTS_DIM_1,
    LEAVES,
    HOLDS_ADDENDS,
    N_USES,
};

struct members {
    uint32_t n_ranks;
    uint32_t ranks[RANKS];
    uint32_t tp;
};

struct layout {
    const struct members *members;
    uint32_t n_axes;
    uint32_t sizes[AXES_MAX]; /* product: tp */
    enum use uses[AXES_MAX];
};

static const struct hoop_shape shapes[] = {{2, {12, 8}}, {2, {3, 5}}};

/* --- The rule, found by searching all places. --- */

struct spot {
    uint32_t row;
    uint32_t at[AXES_MAX];
};

static struct spot
spot_of(const struct layout *layout, uint32_t place)
{
    struct spot spot = {.row = place / layout->members->tp};
    uint32_t column = place % layout->members->tp;

    for (uint32_t axis = layout->n_axes; axis-- > 0;) {
        spot.at[axis] = column % layout->sizes[axis];
        column /= layout->sizes[axis];
    }
    return spot;
}

static uint32_t
place_of(const struct layout *layout, uint32_t rank)
{
    for (uint32_t i = 0; i < layout->members->n_ranks; i++) {
        if (layout->members->ranks[i] == rank)
            return i;
    }
    return HOOP_NO_RANK;
}

/* Returns where the part of a place begins and ends along a dimension. The
 * first parts have one element more. */
static void
range_of(const struct layout *layout,
         const struct spot *spot,
         uint32_t dim,
         size_t size,
         size_t out_range[2])
{
    size_t number = 0;
    size_t n_parts = 1;
    size_t begin = 0;

    for (uint32_t axis = 0; axis < layout->n_axes; axis++) {
        if ((uint32_t)layout->uses[axis] != dim)
            continue;
        number = number * layout->sizes[axis] + spot->at[axis];
        n_parts *= layout->sizes[axis];
    }
    for (size_t i = 0; i < number; i++)
        begin += size / n_parts + (i < size % n_parts);
    out_range[0] = begin;
    out_range[1] = begin + size / n_parts + (number < size % n_parts);
}

/* Returns whether a place has element i of the whole, and its index in the
 * part. */
static bool
has_element(const struct layout *layout,
            const struct hoop_shape *shape,
            uint32_t place,
            size_t i,
            size_t *out_at)
{
    const struct spot spot = spot_of(layout, place);
    const size_t row = i / shape->dims[1];
    const size_t column = i % shape->dims[1];
    size_t rows[2];
    size_t columns[2];

    range_of(layout, &spot, 0, shape->dims[0], rows);
    range_of(layout, &spot, 1, shape->dims[1], columns);
    *out_at = (row - rows[0]) * (columns[1] - columns[0]) + column - columns[0];
    return row >= rows[0] && row < rows[1] && column >= columns[0] &&
           column < columns[1];
}

/* Returns whether two places are in one replica. If addends count, they are
 * parts of it, too. */
static bool
same_replica(const struct layout *layout,
             uint32_t one,
             uint32_t other,
             bool has_addends)
{
    const struct spot a = spot_of(layout, one);
    const struct spot b = spot_of(layout, other);
    bool is_same = a.row == b.row;

    for (uint32_t axis = 0; axis < layout->n_axes; axis++) {
        if (layout->uses[axis] == LEAVES ||
            (layout->uses[axis] == HOLDS_ADDENDS && !has_addends))
            is_same = is_same && a.at[axis] == b.at[axis];
    }
    return is_same;
}

/* Lists the first places of all replicas in order. Returns how many there
 * are. */
static uint32_t
replicas_list(const struct layout *layout,
              bool has_addends,
              uint32_t out_firsts[RANKS])
{
    uint32_t n = 0;

    for (uint32_t place = 0; place < layout->members->n_ranks; place++) {
        bool is_new = true;

        for (uint32_t i = 0; i < n; i++)
            is_new = is_new &&
                     !same_replica(layout, out_firsts[i], place, has_addends);
        if (is_new)
            out_firsts[n++] = place;
    }
    return n;
}

/* Returns a place in the replica of from that rank takes its elements from. */
static uint32_t
source_of(const struct layout *from,
          const struct layout *to,
          uint32_t rank,
          bool has_addends)
{
    const uint32_t place = place_of(to, rank);
    uint32_t sources[RANKS];
    uint32_t targets[RANKS];
    uint32_t number = 0;

    if (place_of(from, rank) != HOOP_NO_RANK)
        return place_of(from, rank);
    for (uint32_t i = 0; i < to->members->n_ranks; i++) {
        const uint32_t other = place_of(from, to->members->ranks[i]);

        if (other != HOOP_NO_RANK && same_replica(to, i, place, false))
            return other;
    }
    const uint32_t n_sources = replicas_list(from, has_addends, sources);
    const uint32_t n_targets = replicas_list(to, false, targets);
    while (!same_replica(to, targets[number], place, false))
        number++;
    return sources[number * n_sources / n_targets];
}

static int64_t
value_of(uint32_t rank, size_t i)
{
    return RANK_STEP * (int64_t)(rank + 1) + (int64_t)i;
}

/* What a rank must get between two layouts. Addends are summed; in a gradient
 * they count as whole. */
struct due {
    const struct layout *from;
    const struct layout *to;
    const struct hoop_shape *shape;
    uint32_t rank;
    bool has_addends;
};

/* Returns the expected value of element i. */
static int64_t
value_due(const struct due *due, size_t i)
{
    const struct layout *from = due->from;
    const uint32_t source =
        source_of(from, due->to, due->rank, due->has_addends);
    int64_t sum = 0;
    size_t at;

    for (uint32_t place = 0; place < from->members->n_ranks; place++) {
        if (same_replica(from, source, place, due->has_addends) &&
            has_element(from, due->shape, place, i, &at))
            sum += value_of(from->members->ranks[place], i);
    }
    return sum;
}

/* --- Groups and shardings. --- */

static size_t
groups_list(struct members out_groups[GROUPS_MAX])
{
    static const struct members others[] = {
        {4, {1, 3, 5, 7}, 2},
        {4, {4, 5, 6, 7}, 1},
        {4, {4, 5, 6, 7}, 2},
        {4, {4, 5, 6, 7}, 4},
        {4, {2, 3, 4, 5}, 2},
        {4, {2, 3, 4, 5}, 4},
        {3, {5, 6, 7}, 1},
        {3, {5, 6, 7}, 3},
        {2, {6, 7}, 2},
        {6, {2, 3, 4, 5, 6, 7}, 2},
        {6, {2, 3, 4, 5, 6, 7}, 3},
        {6, {0, 1, 2, 4, 6, 7}, 2},
    };
    size_t n = 0;

    for (uint32_t n_ranks = 1; n_ranks <= RANKS; n_ranks++) {
        for (uint32_t tp = 1; tp <= n_ranks; tp++) {
            if (n_ranks % tp == 0)
                out_groups[n++] =
                    (struct members){n_ranks, {0, 1, 2, 3, 4, 5, 6, 7}, tp};
        }
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        out_groups[n++] = others[i];
    return n;
}

/* Adds all uses of the axes of sizes. */
static void
uses_list(const struct layout *sizes, struct layout *layouts, size_t *n)
{
    size_t n_all = 1;

    for (uint32_t axis = 0; axis < sizes->n_axes; axis++)
        n_all *= N_USES;
    for (size_t i = 0; i < n_all; i++) {
        struct layout layout = *sizes;
        size_t rest = i;

        for (uint32_t axis = 0; axis < sizes->n_axes; axis++) {
            layout.uses[axis] = (enum use)(rest % N_USES);
            rest /= N_USES;
        }
        layouts[(*n)++] = layout;
    }
}

/* Lists the layouts over rows of one axis, and over rows of several axes. */
static size_t
layouts_list(const struct members *members,
             struct layout out_layouts[LAYOUTS_MAX])
{
    const uint32_t tp = members->tp;
    struct layout sizes = {.members = members, .n_axes = 1, .sizes = {tp}};
    size_t n = 0;

    uses_list(&sizes, out_layouts, &n);
    for (uint32_t first = 2; first < tp; first++) {
        if (tp % first != 0)
            continue;
        sizes.n_axes = 2;
        sizes.sizes[0] = first;
        sizes.sizes[1] = tp / first;
        uses_list(&sizes, out_layouts, &n);
    }
    if (tp == RANKS) {
        sizes = (struct layout){
            .members = members, .n_axes = 3, .sizes = {2, 2, 2}};
        uses_list(&sizes, out_layouts, &n);
    }
    return n;
}

static bool
is_partial(const struct layout *layout)
{
    for (uint32_t axis = 0; axis < layout->n_axes; axis++) {
        if (layout->uses[axis] == HOLDS_ADDENDS)
            return true;
    }
    return false;
}

/* --- One redistribution. --- */

struct move {
    uint32_t rank;
    hoop_session_t *session;
    hoop_pg_t *groups[2];
    const struct layout *from;
    const struct layout *to;
    const struct hoop_shape *shape;
    size_t number;
};

static int
spec_make(hoop_pg_t *group,
          const struct layout *layout,
          struct hoop_tensor_spec *out_spec)
{
    struct hoop_group_sharding dist = {.mesh.n_axes = layout->n_axes};

    dist.sharding.is_uneven = true;
    for (uint32_t axis = 0; axis < layout->n_axes; axis++) {
        struct hoop_axes *axes = &dist.sharding.partial;

        dist.mesh.sizes[axis] = layout->sizes[axis];
        if (layout->uses[axis] == LEAVES)
            continue;
        if (layout->uses[axis] != HOLDS_ADDENDS)
            axes = &dist.sharding.dims[layout->uses[axis]];
        axes->axes[axes->n_axes++] = axis;
    }
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, out_spec) == HOOP_OK);
    return 0;
}

/* Each rank writes its own values. */
static int
tensor_make(const struct move *move,
            const struct layout *layout,
            const struct hoop_tensor_spec *spec,
            hoop_dtensor_t **out_dtensor)
{
    const uint32_t place = place_of(layout, move->rank);
    size_t at;

    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, move->shape, spec,
                                     out_dtensor) == HOOP_OK);
    if (place == HOOP_NO_RANK)
        return 0;
    int64_t *values = hoop_dtensor_local(*out_dtensor)->data;
    for (size_t i = 0; i < move->shape->dims[0] * move->shape->dims[1]; i++) {
        if (has_element(layout, move->shape, place, i, &at))
            values[at] = value_of(move->rank, i);
    }
    return 0;
}

static int
tensor_is_right(const struct move *move,
                const struct layout *from,
                const struct layout *to,
                const hoop_dtensor_t *dtensor,
                bool has_addends)
{
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    const uint32_t place = place_of(to, move->rank);
    const struct due due = {from, to, move->shape, move->rank, has_addends};
    size_t n_seen = 0;
    size_t at;

    WORKER_CHECK((local != NULL) == (place != HOOP_NO_RANK));
    for (size_t i = 0; local && i < move->shape->dims[0] * move->shape->dims[1];
         i++) {
        if (!has_element(to, move->shape, place, i, &at))
            continue;
        const int64_t wanted = value_due(&due, i);
        const int64_t value = ((const int64_t *)local->data)[at];
        if (value != wanted)
            fprintf(stderr, "rank %u, element %zu: %ld, not %ld\n", move->rank,
                    i, (long)value, (long)wanted);
        WORKER_CHECK(value == wanted);
        n_seen++;
    }
    WORKER_CHECK(!local ||
                 n_seen == local->shape.dims[0] * local->shape.dims[1]);
    return 0;
}

/* The whole tensor must be composed from the replica of this rank. */
static int
gather_is_right(const struct move *move, const hoop_dtensor_t *dtensor)
{
    struct layout whole = *move->from;
    const struct due due = {move->from, &whole, move->shape, move->rank, true};
    struct hoop_tensor out = {.data = NULL};

    for (uint32_t axis = 0; axis < whole.n_axes; axis++)
        whole.uses[axis] = LEAVES;
    WORKER_CHECK(hoop_dtensor_gather(dtensor, &out) == HOOP_OK);
    WORKER_CHECK((out.data != NULL) ==
                 (place_of(move->from, move->rank) != HOOP_NO_RANK));
    for (size_t i = 0;
         out.data && i < move->shape->dims[0] * move->shape->dims[1]; i++)
        WORKER_CHECK(((const int64_t *)out.data)[i] == value_due(&due, i));
    hoop_tensor_free(&out);
    return 0;
}

/* Repeats the redistribution, which forms no communicator this time: the rank
 * must send what the plan says. */
static int
sends_as_planned(const struct move *move,
                 const hoop_dtensor_t *before,
                 const struct hoop_tensor_spec *to)
{
    struct hoop_redistribution plan;
    struct hoop_stats stats[2];
    hoop_dtensor_t *after = NULL;

    WORKER_CHECK(hoop_redistribute_plan(before, to, &plan) == HOOP_OK);
    hoop_session_stats(move->session, &stats[0]);
    WORKER_CHECK(hoop_dtensor_redistribute(before, to, &after) == HOOP_OK);
    hoop_session_stats(move->session, &stats[1]);
    hoop_dtensor_free(after);
    WORKER_CHECK(stats[1].bytes_sent - stats[0].bytes_sent == plan.bytes_sent);
    return 0;
}

/* Uses one of three forms of the call. */
static int
forward_is_right(const struct move *move,
                 const struct hoop_tensor_spec *from,
                 const struct hoop_tensor_spec *to)
{
    hoop_dtensor_t *before = NULL;
    hoop_dtensor_t *after = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(tensor_make(move, move->from, from, &before) == 0);
    if (move->number % 5 == 0)
        WORKER_CHECK(gather_is_right(move, before) == 0);
    if (move->number % 3 == 0) {
        WORKER_CHECK(hoop_dtensor_redistribute(before, to, &after) == HOOP_OK);
        WORKER_CHECK(sends_as_planned(move, before, to) == 0);
    } else if (move->number % 3 == 1) {
        WORKER_CHECK(hoop_dtensor_redistribute_start(before, to, &after, &op) ==
                     HOOP_OK);
        WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    } else {
        WORKER_CHECK(hoop_dtensor_set_spec(before, to) == HOOP_OK);
        after = before;
        before = NULL;
    }
    WORKER_CHECK(tensor_is_right(move, move->from, move->to, after, true) == 0);
    hoop_dtensor_free(after);
    hoop_dtensor_free(before);
    return 0;
}

/* The gradient has the layout of the result, and goes to the layout of the
 * input. */
static int
backward_is_right(const struct move *move,
                  const struct hoop_tensor_spec *from,
                  const struct hoop_tensor_spec *to)
{
    hoop_dtensor_t *grad = NULL;
    hoop_dtensor_t *result = NULL;

    WORKER_CHECK(tensor_make(move, move->to, to, &grad) == 0);
    WORKER_CHECK(hoop_dtensor_redistribute_backward(grad, from, &result) ==
                 HOOP_OK);
    WORKER_CHECK(tensor_is_right(move, move->to, move->from, result, false) ==
                 0);
    hoop_dtensor_free(result);
    hoop_dtensor_free(grad);
    return 0;
}

static void
layout_say(const char *name, const struct layout *layout)
{
    static const char *const uses[] = {"S0", "S1", "R", "P"};

    fprintf(stderr, "%s n=%u from rank %u T=%u:", name,
            layout->members->n_ranks, layout->members->ranks[0],
            layout->members->tp);
    for (uint32_t i = 0; i < layout->n_axes; i++)
        fprintf(stderr, " %u %s", layout->sizes[i], uses[layout->uses[i]]);
    fprintf(stderr, "\n");
}

static int
move_go(const struct move *move)
{
    struct hoop_tensor_spec from;
    struct hoop_tensor_spec to;

    WORKER_CHECK(spec_make(move->groups[0], move->from, &from) == 0);
    WORKER_CHECK(spec_make(move->groups[1], move->to, &to) == 0);
    if (forward_is_right(move, &from, &to) == 0 &&
        backward_is_right(move, &from, &to) == 0)
        return 0;
    layout_say("from", move->from);
    layout_say("to", move->to);
    return 1;
}

/* The workers take this one of so many parts of the pairs. */
static size_t pairs_part;
static size_t n_pairs_parts;

/* Goes from each layout of one group to each of the other. *number counts
 * pairs. */
static int
pairs_go(struct move *move, const struct members *groups, size_t *number)
{
    const size_t step = (size_t)number_from_environment("REPLICAS_STEP", STEP);
    const size_t seed = (size_t)number_from_environment("REPLICAS_SEED", 0);
    static struct layout from[LAYOUTS_MAX];
    static struct layout to[LAYOUTS_MAX];
    const size_t n_from = layouts_list(&groups[0], from);
    const size_t n_to = layouts_list(&groups[1], to);

    for (size_t i = 0; i < n_from * n_to * COUNT_OF(shapes); i++) {
        move->from = &from[i / COUNT_OF(shapes) / n_to];
        move->to = &to[i / COUNT_OF(shapes) % n_to];
        move->shape = &shapes[i % COUNT_OF(shapes)];
        /* Addends of a result belong to no single rank. */
        if (is_partial(move->to))
            continue;
        move->number = *number / step;
        if ((*number)++ % step != seed % step ||
            move->number % n_pairs_parts != pairs_part)
            continue;
        if (move_go(move))
            return 1;
    }
    return 0;
}

static int
group_make(const struct move *move,
           const struct members *members,
           hoop_pg_t **out_group)
{
    WORKER_CHECK(hoop_pg_create(move->session,
                                &(struct hoop_pg_options){members->ranks,
                                                          members->n_ranks,
                                                          members->tp, 0},
                                out_group) == HOOP_OK);
    return 0;
}

static int
groups_body(struct mesh_process *mesh_process)
{
    static struct members groups[GROUPS_MAX];
    const size_t n = groups_list(groups);
    struct move move = {.rank = mesh_process->rank,
                        .session = mesh_process->session};
    size_t number = 0;

    for (size_t i = 0; i < n; i++) {
        WORKER_CHECK(group_make(&move, &groups[i], &move.groups[0]) == 0);
        for (size_t j = 0; j < n; j++) {
            const struct members pair[] = {groups[i], groups[j]};

            WORKER_CHECK(group_make(&move, &groups[j], &move.groups[1]) == 0);
            if (pairs_go(&move, pair, &number))
                return 1;
            hoop_pg_free(move.groups[1]);
        }
        hoop_pg_free(move.groups[0]);
    }
    return 0;
}

static void
results_between_all_groups_come_from_one_replica(void **state)
{
    n_pairs_parts =
        number_from_environment("REPLICAS_STEP", STEP) < PARTS ? PARTS : 1;
    for (pairs_part = 0; pairs_part < n_pairs_parts; pairs_part++)
        assert_int_equal(mesh_processes_run(2, 4, 0, groups_body), 0);
}

/* --- Worked examples. --- */

/* Makes a vector of n elements over the first ranks, in rows of tp. */
static hoop_dtensor_t *
vector_over(hoop_pg_t *group, uint32_t tp, size_t n, int64_t first)
{
    const struct hoop_group_sharding dist = {.mesh = {1, {tp}},
                                             .sharding = {.dims = {{1, {0}}}}};
    const struct hoop_shape shape = {1, {n}};
    struct hoop_tensor_spec spec;
    hoop_dtensor_t *vector = NULL;
    struct hoop_part part;

    if (hoop_pg_tensor_spec(group, &dist, &spec) != HOOP_OK ||
        hoop_dtensor_create(HOOP_FLOAT64, &shape, &spec, &vector) != HOOP_OK)
        return NULL;
    const struct hoop_tensor *local = hoop_dtensor_local(vector);
    if (local && hoop_dtensor_part(vector, &part) == HOOP_OK) {
        for (size_t i = 0; i < local->shape.dims[0]; i++)
            ((double *)local->data)[i] =
                (double)first + (double)(part.offset[0] + i);
    }
    return vector;
}

/* Row r has the values 10000 * (r + 1) + i. The vector goes from rows of 2 to
 * rows of tp. */
static int
rows_move(struct mesh_process *mesh_process, uint32_t tp, const double *due)
{
    const struct hoop_pg_options pairs = {.tp_degree = 2};
    const struct hoop_pg_options rows = {.tp_degree = tp};
    const size_t n_elements = tp == 3 ? 6 : 4;
    hoop_pg_t *one = NULL;
    hoop_pg_t *other = NULL;
    hoop_dtensor_t *after = NULL;

    WORKER_CHECK(hoop_pg_create(mesh_process->session, &pairs, &one) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_pg_create(mesh_process->session, &rows, &other) ==
                 HOOP_OK);
    hoop_dtensor_t *before =
        vector_over(one, 2, n_elements, 10000 * (mesh_process->rank / 2 + 1));
    hoop_dtensor_t *like = vector_over(other, tp, n_elements, 0);
    WORKER_CHECK(before && like);
    WORKER_CHECK(hoop_dtensor_redistribute(before, hoop_dtensor_spec(like),
                                           &after) == HOOP_OK);
    const struct hoop_tensor *local = hoop_dtensor_local(after);
    for (size_t i = 0; i < local->shape.dims[0]; i++)
        WORKER_CHECK(((const double *)local->data)[i] ==
                     due[mesh_process->rank * local->shape.dims[0] + i]);
    hoop_dtensor_free(after);
    hoop_dtensor_free(like);
    hoop_dtensor_free(before);
    hoop_pg_free(other);
    hoop_pg_free(one);
    return 0;
}

static int
wider_rows_get_what_their_ranks_rows_had(struct mesh_process *mesh_process)
{
    static const double due[] = {10000, 10001, 20002, 20003,
                                 30000, 30001, 40002, 40003};

    return rows_move(mesh_process, 4, due);
}

static int
rows_that_do_not_nest_get_what_their_ranks_rows_had(
    struct mesh_process *mesh_process)
{
    static const double due[] = {10000, 10001, 10002, 10003, 20004, 20005,
                                 20000, 20001, 30002, 30003, 30004, 30005};

    return rows_move(mesh_process, 3, due);
}

/* The tensor goes from a row of 4 to two rows of 2. The gradient of rank r is
 * 10000 * (r + 1) + i, where i is the index in its part. */
static int
gradients_come_from_the_row_that_a_rank_is_in(struct mesh_process *mesh_process)
{
    static const double due[] = {10000, 10001, 40000, 40001};
    const struct hoop_pg_options row = {.tp_degree = 4};
    const struct hoop_pg_options pairs = {.tp_degree = 2};
    hoop_pg_t *one = NULL;
    hoop_pg_t *other = NULL;
    hoop_dtensor_t *result = NULL;

    WORKER_CHECK(hoop_pg_create(mesh_process->session, &row, &one) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(mesh_process->session, &pairs, &other) ==
                 HOOP_OK);
    hoop_dtensor_t *like = vector_over(one, 4, 4, 0);
    hoop_dtensor_t *grad = vector_over(other, 2, 4, 0);
    WORKER_CHECK(like && grad);
    double *values = hoop_dtensor_local(grad)->data;
    for (size_t i = 0; i < 2; i++)
        values[i] = 10000.0 * (mesh_process->rank + 1) + (double)i;
    WORKER_CHECK(hoop_dtensor_redistribute_backward(
                     grad, hoop_dtensor_spec(like), &result) == HOOP_OK);
    WORKER_CHECK(((const double *)hoop_dtensor_local(result)->data)[0] ==
                 due[mesh_process->rank]);
    hoop_dtensor_free(result);
    hoop_dtensor_free(grad);
    hoop_dtensor_free(like);
    hoop_pg_free(other);
    hoop_pg_free(one);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MESH_TEST(wider_rows_get_what_their_ranks_rows_had, 2, 4, 0),
        MESH_TEST(rows_that_do_not_nest_get_what_their_ranks_rows_had, 2, 3, 0),
        MESH_TEST(gradients_come_from_the_row_that_a_rank_is_in, 2, 2, 0),
        cmocka_unit_test(results_between_all_groups_come_from_one_replica),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
