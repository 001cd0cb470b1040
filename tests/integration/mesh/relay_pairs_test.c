/*
 * tests/integration/mesh/relay_pairs_test.c - from every layout to every other
 *
 * The test takes all ordered pairs of layouts of tensors of one to three
 * dimensions on meshes of up to eight processes, and some pairs between two
 * meshes, forward and as a gradient. The result must be what the whole tensor
 * says, and each rank must send what the plan says. The same redistributions
 * are then done one by one, and several at once.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hoop/sharding.h"
#include "hoop/tensor.h"

#include "base/cleanup.h"
#include "check.h"
#include "dtype/dtype.h"
#include "engine/engine.h"
#include "integration/mesh/sharding_model.h"
#include "mesh/redistribute/redistribute_runner.h"
#include "mesh/redistribute/redistribution.h"
#include "ranks.h"

/*
 * One redistribution of one rank, and its result.
 *
 * It goes from one layout to another, each on a mesh of two axes; if both
 * meshes have the same ranks, they are one mesh. What a rank has at first, and
 * what it must have in the end, follows from the whole tensor
 * (sharding_model.h). Each rank has another gradient.
 */

enum {
    RESHARD_PAIRS_MAX = SHARDING_MODEL_MAX * SHARDING_MODEL_MAX,
    RESHARD_PART_BYTES = SHARDING_MODEL_ELEMENTS_MAX * 8,
};

/* Tensors that some processes bring from each layout to each other one. */
struct group {
    struct hoop_shape shape;
    bool is_uneven;
    enum hoop_dtype dtype;
    enum hoop_reduce_op from_op;
    enum hoop_reduce_op to_op;
};

struct plot_side {
    struct hoop_mesh_shape mesh;
    const uint32_t *ranks; /* [place]; NULL: 0, 1, ... */
};

/* The meshes of all redistributions of a test. */
struct plot {
    struct plot_side from;
    struct plot_side to;
    uint8_t *parts; /* results, [rank][pair], shared by all processes */
};

/* One redistribution of one rank. */
struct reshard {
    struct rank *rank;
    const struct plot *plot;
    const struct group *group;
    const struct hoop_sharding *from;
    const struct hoop_sharding *to;
    enum redistribution_direction way;
    struct redistribution *redistribution;
    struct hoop_tensor input;
    struct hoop_tensor output;
    uint64_t bytes;      /* bytes to send, by the plan */
    unsigned n_finished; /* hooks that were called */
    unsigned n_destroyed;
};

enum {
    GUARD = 64,          /* bytes after a part that must not change */
    GRADIENT_STEP = 100, /* between the gradients of two places */
};

static void
value_set(const struct hoop_tensor *tensor, size_t at, double value)
{
    if (tensor->dtype == HOOP_INT16)
        ((int16_t *)tensor->data)[at] = (int16_t)value;
    else if (tensor->dtype == HOOP_INT64)
        ((int64_t *)tensor->data)[at] = (int64_t)value;
    else if (tensor->dtype == HOOP_FLOAT32)
        ((float *)tensor->data)[at] = (float)value;
    else
        ((double *)tensor->data)[at] = value;
}

static double
reshard_value(const struct hoop_tensor *tensor, size_t at)
{
    if (tensor->dtype == HOOP_INT16)
        return ((const int16_t *)tensor->data)[at];
    if (tensor->dtype == HOOP_INT64)
        return (double)((const int64_t *)tensor->data)[at];
    if (tensor->dtype == HOOP_FLOAT32)
        return (double)((const float *)tensor->data)[at];
    return ((const double *)tensor->data)[at];
}

/* Returns HOOP_NO_RANK if rank is outside. */
static uint32_t
plot_place(const struct plot_side *side, uint32_t rank)
{
    const uint32_t n_places = side->mesh.sizes[0] * side->mesh.sizes[1];

    for (uint32_t place = 0; place < n_places; place++) {
        if ((side->ranks ? side->ranks[place] : place) == rank)
            return place;
    }
    return HOOP_NO_RANK;
}

/* Returns the part of a place in the source layout. */
static struct sharding_model_part
reshard_part_from(const struct reshard *reshard, uint32_t place)
{
    return (struct sharding_model_part){.sharding = reshard->from,
                                        .mesh = &reshard->plot->from.mesh,
                                        .shape = &reshard->group->shape,
                                        .place = place};
}

static struct sharding_model_part
reshard_part_to(const struct reshard *reshard, uint32_t place)
{
    return (struct sharding_model_part){.sharding = reshard->to,
                                        .mesh = &reshard->plot->to.mesh,
                                        .shape = &reshard->group->shape,
                                        .place = place};
}

/* Returns whether this rank has element i at first, and its index. */
static bool
has_before(const struct reshard *reshard, size_t i, size_t *out_at)
{
    const uint32_t place =
        plot_place(&reshard->plot->from, reshard->rank->rank);
    const struct sharding_model_part seat = reshard_part_from(reshard, place);

    return place != HOOP_NO_RANK && sharding_model_has(&seat, i, out_at);
}

static bool
has_after(const struct reshard *reshard, size_t i, size_t *out_at)
{
    const uint32_t place = plot_place(&reshard->plot->to, reshard->rank->rank);
    const struct sharding_model_part seat = reshard_part_to(reshard, place);

    return place != HOOP_NO_RANK && sharding_model_has(&seat, i, out_at);
}

/* Returns the value that the rank at a place has at first. */
static double
value_before(const struct reshard *reshard, size_t i, uint32_t place)
{
    const struct sharding_model_part seat = reshard_part_from(reshard, place);
    uint32_t n_addends;
    const uint32_t number = sharding_model_addend(&seat, &n_addends);

    return reshard->way == REDISTRIBUTION_BACKWARD
               ? sharding_model_value(i) + GRADIENT_STEP * (double)place
               : sharding_model_addend_value(reshard->group->from_op, i, number,
                                             n_addends);
}

/* Returns whether two places belong to one replica, whether or not they have
 * the same elements. */
static bool
same_replica(const struct hoop_sharding *sharding,
             const struct hoop_mesh_shape *mesh,
             uint32_t one,
             uint32_t other)
{
    const uint32_t n_columns = mesh->sizes[1];

    return (sharding_model_cuts(sharding, 0) ||
            one / n_columns == other / n_columns) &&
           (sharding_model_cuts(sharding, 1) ||
            one % n_columns == other % n_columns);
}

/* Returns how many replicas begin before a place. */
static uint32_t
replicas_before(const struct hoop_sharding *sharding,
                const struct hoop_mesh_shape *mesh,
                uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t place = 0; place < end; place++) {
        uint32_t first = 0;

        while (!same_replica(sharding, mesh, first, place))
            first++;
        n += first == place;
    }
    return n;
}

/* Returns a place in the replica from which a new rank takes gradients. It is
 * that of the first rank of its own replica that is not new, or else one chosen
 * by number. */
static uint32_t
source_of_new(const struct reshard *reshard, uint32_t place)
{
    const struct plot_side *from = &reshard->plot->from;
    const struct plot_side *to = &reshard->plot->to;
    const uint32_t n_from = from->mesh.sizes[0] * from->mesh.sizes[1];
    const uint32_t n_to = to->mesh.sizes[0] * to->mesh.sizes[1];
    uint32_t first = n_to;

    for (uint32_t i = n_to; i-- > 0;) {
        if (same_replica(reshard->to, &to->mesh, i, place))
            first = i;
    }
    for (uint32_t i = first; i < n_to; i++) {
        const uint32_t own = plot_place(from, to->ranks ? to->ranks[i] : i);

        if (own != HOOP_NO_RANK &&
            same_replica(reshard->to, &to->mesh, i, place))
            return own;
    }
    const uint32_t number =
        replicas_before(reshard->to, &to->mesh, first) *
        replicas_before(reshard->from, &from->mesh, n_from) /
        replicas_before(reshard->to, &to->mesh, n_to);
    uint32_t source = 0;
    while (replicas_before(reshard->from, &from->mesh, source + 1) <= number)
        source++;
    return source;
}

/* A gradient comes from the replica to which the rank belongs. */
static double
value_after(const struct reshard *reshard, size_t i)
{
    const struct plot_side *from = &reshard->plot->from;
    struct sharding_model_part seat = reshard_part_from(reshard, 0);
    uint32_t source = plot_place(from, reshard->rank->rank);
    size_t at;

    if (reshard->way != REDISTRIBUTION_BACKWARD)
        return sharding_model_value(i);
    if (source == HOOP_NO_RANK)
        source = source_of_new(
            reshard, plot_place(&reshard->plot->to, reshard->rank->rank));
    while (!sharding_model_has(&seat, i, &at) ||
           !same_replica(reshard->from, &from->mesh, seat.place, source))
        seat.place++;
    return value_before(reshard, i, seat.place);
}

/* The tensor has no data if the rank is outside. */
static struct hoop_tensor
tensor_of(const struct reshard *reshard, const struct sharding_model_part *seat)
{
    const enum hoop_dtype dtype = reshard->group->dtype;
    struct hoop_tensor tensor = {.dtype = dtype, .shape = {.n_dims = 1}};

    if (seat->place == HOOP_NO_RANK)
        return tensor;
    tensor.shape.dims[0] = sharding_model_count(seat);
    const size_t n_bytes = tensor.shape.dims[0] * dtype_size(dtype) + GUARD;
    tensor.data = malloc(n_bytes);
    memset(tensor.data, 0x55, n_bytes);
    return tensor;
}

static enum hoop_status
reshard_finish(void *owner)
{
    struct reshard *reshard = owner;

    reshard->n_finished++;
    return HOOP_OK;
}

static void
reshard_destroy(void *owner)
{
    struct reshard *reshard = owner;

    reshard->n_destroyed++;
}

static enum hoop_status
reshard_plan(struct reshard *reshard)
{
    const struct redistribution_request request = {
        .from = {.ranks = reshard->plot->from.ranks,
                 .mesh = reshard->plot->from.mesh,
                 .sharding = *reshard->from},
        .to = {.ranks = reshard->plot->to.ranks,
               .mesh = reshard->plot->to.mesh,
               .sharding = *reshard->to},
        .n_ranks = reshard->rank->size,
        .shape = reshard->group->shape,
        .dtype = reshard->group->dtype,
        .way = reshard->way,
    };
    enum hoop_status status =
        redistribution_create(&request, &reshard->redistribution);

    if (status != HOOP_OK)
        return status;
    for (uint32_t i = 0; i < redistribution_n_steps(reshard->redistribution);
         i++) {
        uint64_t n_bytes = 0;

        status = redistribution_bytes_sent(reshard->redistribution, i,
                                           reshard->rank->rank, &n_bytes);
        if (status != HOOP_OK)
            return status;
        reshard->bytes += n_bytes;
    }
    return HOOP_OK;
}

/* Allocates both parts, and makes the plan. */
static enum hoop_status
reshard_pack(struct reshard *reshard)
{
    const uint32_t rank = reshard->rank->rank;
    const uint32_t place = plot_place(&reshard->plot->from, rank);
    const struct sharding_model_part before = reshard_part_from(reshard, place);
    const struct sharding_model_part after =
        reshard_part_to(reshard, plot_place(&reshard->plot->to, rank));
    size_t at;

    reshard->input = tensor_of(reshard, &before);
    reshard->output = tensor_of(reshard, &after);
    for (size_t i = 0; i < sharding_model_whole(&reshard->group->shape); i++) {
        if (has_before(reshard, i, &at))
            value_set(&reshard->input, at, value_before(reshard, i, place));
    }
    return reshard_plan(reshard);
}

static struct redistribute_runner_request
reshard_request(struct reshard *reshard)
{
    return (struct redistribute_runner_request){
        .redistribution = reshard->redistribution,
        .comm = reshard->rank->comm,
        .rank = reshard->rank->rank,
        .dtype = reshard->group->dtype,
        .count = sharding_model_whole(&reshard->group->shape),
        .from = &reshard->input,
        .to = &reshard->output,
        .hooks = {.finish = reshard_finish,
                  .destroy = reshard_destroy,
                  .owner = reshard},
    };
}

static bool
is_guarded(const struct hoop_tensor *tensor)
{
    const size_t n_bytes = tensor->shape.dims[0] * dtype_size(tensor->dtype);
    const uint8_t *guard =
        tensor->data ? (uint8_t *)tensor->data + n_bytes : NULL;

    for (size_t i = 0; tensor->data && i < GUARD; i++) {
        if (guard[i] != 0x55)
            return false;
    }
    return true;
}

/* Returns where the addends of rank are stored. */
static uint8_t *
reshard_part(const struct plot *plot, uint32_t rank, size_t pair)
{
    return plot->parts + (rank * RESHARD_PAIRS_MAX + pair) * RESHARD_PART_BYTES;
}

/* Checks the result of the rank, and that the hooks were called. Addends are
 * stored, to be checked when all ranks have theirs. Returns 0, or 1 after a
 * report. */
static int
reshard_check(const struct reshard *reshard, size_t pair)
{
    const struct rank *rank = reshard->rank;
    const uint32_t place = plot_place(&reshard->plot->from, rank->rank);
    const bool is_partial = reshard->to->partial.n_axes > 0 &&
                            reshard->way != REDISTRIBUTION_BACKWARD;
    size_t at;

    RANK_CHECK(reshard->n_finished == 1 && reshard->n_destroyed == 1);
    RANK_CHECK(is_guarded(&reshard->input) && is_guarded(&reshard->output));
    for (size_t i = 0; i < sharding_model_whole(&reshard->group->shape); i++) {
        if (has_before(reshard, i, &at))
            RANK_CHECK(reshard_value(&reshard->input, at) ==
                       value_before(reshard, i, place));
        if (has_after(reshard, i, &at) && !is_partial)
            RANK_CHECK(reshard_value(&reshard->output, at) ==
                       value_after(reshard, i));
    }
    if (reshard->output.data)
        memcpy(
            reshard_part(reshard->plot, rank->rank, pair), reshard->output.data,
            reshard->output.shape.dims[0] * dtype_size(reshard->group->dtype));
    return 0;
}

static void
reshard_end(struct reshard *reshard)
{
    redistribution_unref(reshard->redistribution);
    free(reshard->input.data);
    free(reshard->output.data);
}

/* Returns the payload that was sent since the beginning. */
static uint64_t
reshard_bytes_sent(const struct rank *rank)
{
    struct engine_stats stats;

    engine_stats(rank->engine, &stats);
    return stats.transport.bytes_sent;
}

/* Reports for which pair a check has failed. Returns 1. */
static int
reshard_say(const struct reshard *reshard)
{
    const uint32_t n_dims = reshard->group->shape.n_dims;
    const uint32_t *from = reshard->plot->from.mesh.sizes;
    const uint32_t *to = reshard->plot->to.mesh.sizes;

    fprintf(stderr, "from %s on %u x %u to %s on %u x %u%s\n",
            hoop_sharding_describe(reshard->from, n_dims).text, from[0],
            from[1], hoop_sharding_describe(reshard->to, n_dims).text, to[0],
            to[1], reshard->way == REDISTRIBUTION_BACKWARD ? ", backward" : "");
    return 1;
}

enum {
    N_AT_ONCE = 4,
};

/* With a sanitizer, only some of the pairs are tested. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t PAIRS_STEP = 11;
#else
static const size_t PAIRS_STEP = 1;
#endif

static const struct group groups[] = {
    {{1, {16}}, false, HOOP_INT16, HOOP_SUM, HOOP_SUM},
    {{1, {13}}, true, HOOP_FLOAT32, HOOP_MAX, HOOP_MAX},
    {{2, {8, 16}}, false, HOOP_FLOAT64, HOOP_AVG, HOOP_SUM},
    {{2, {7, 5}}, true, HOOP_INT64, HOOP_SUM, HOOP_SUM},
    {{3, {8, 8, 8}}, false, HOOP_FLOAT32, HOOP_SUM, HOOP_SUM},
    {{3, {5, 3, 9}}, true, HOOP_FLOAT32, HOOP_PRODUCT, HOOP_MIN},
};

/* These tensors go from one mesh to another. */
static const struct group groups_of_two[] = {
    {{2, {24, 24}}, false, HOOP_FLOAT32, HOOP_SUM, HOOP_SUM},
    {{2, {7, 5}}, true, HOOP_INT16, HOOP_MAX, HOOP_SUM},
};

/* Redistributes one tensor. */
static int
go_alone(struct reshard *reshard, size_t pair)
{
    const struct rank *rank = reshard->rank;

    RANK_CHECK(reshard_pack(reshard) == HOOP_OK);
    const struct redistribute_runner_request request = reshard_request(reshard);
    const uint64_t before = reshard_bytes_sent(rank);
    RANK_CHECK(redistribute_runner_run(&request, NULL) == HOOP_OK);
    RANK_CHECK(reshard_bytes_sent(rank) - before == reshard->bytes);
    return reshard_check(reshard, pair);
}

/* Starts several redistributions, and waits for them in another order on each
 * rank. */
static int
go_together(struct reshard *reshards, size_t n_cases, size_t first_pair)
{
    const struct rank *rank = reshards[0].rank;
    const uint64_t before = reshard_bytes_sent(rank);
    hoop_op_t *ops[N_AT_ONCE];
    uint64_t bytes = 0;

    for (size_t i = 0; i < n_cases; i++) {
        RANK_CHECK(reshard_pack(&reshards[i]) == HOOP_OK);
        const struct redistribute_runner_request request =
            reshard_request(&reshards[i]);
        RANK_CHECK(redistribute_runner_run(&request, &ops[i]) == HOOP_OK);
        bytes += reshards[i].bytes;
    }
    for (size_t i = 0; i < n_cases; i++) {
        const size_t k = rank->rank % 2 == 0 ? n_cases - 1 - i : i;

        RANK_CHECK(hoop_wait(ops[k], HOOP_FOREVER) == HOOP_OK);
        if (reshard_check(&reshards[k], first_pair + k))
            return reshard_say(&reshards[k]);
    }
    RANK_CHECK(reshard_bytes_sent(rank) - before == bytes);
    return 0;
}

/* All pairs of a group. */
struct tour {
    struct rank *rank;
    const struct plot *plot;
    const struct group *group;
    struct hoop_sharding from[SHARDING_MODEL_MAX];
    struct hoop_sharding to[SHARDING_MODEL_MAX];
    size_t n_layouts;
    size_t step; /* only every so many pairs are tested */
};

static struct reshard
reshard_of(const struct tour *tour,
           size_t pair,
           enum redistribution_direction way)
{
    return (struct reshard){
        .rank = tour->rank,
        .plot = tour->plot,
        .group = tour->group,
        .from = &tour->from[pair / tour->n_layouts],
        .to = &tour->to[pair % tour->n_layouts],
        .way = way,
    };
}

static int
tour_alone(const struct tour *tour,
           enum redistribution_direction way,
           size_t step)
{
    for (size_t pair = 0; pair < tour->n_layouts * tour->n_layouts;
         pair += step) {
        struct reshard reshard = reshard_of(tour, pair, way);

        if (go_alone(&reshard, pair))
            return reshard_say(&reshard);
        reshard_end(&reshard);
    }
    return 0;
}

/* Tests some of the pairs, several at once. */
static int
tour_together(const struct tour *tour)
{
    const size_t n_pairs = tour->n_layouts * tour->n_layouts;

    for (size_t pair = 0; pair < n_pairs; pair += 5 * tour->step * N_AT_ONCE) {
        const size_t n_cases =
            n_pairs - pair < N_AT_ONCE ? n_pairs - pair : N_AT_ONCE;
        struct reshard reshards[N_AT_ONCE];

        for (size_t i = 0; i < n_cases; i++)
            reshards[i] = reshard_of(tour, pair + i, REDISTRIBUTION_FORWARD);
        if (go_together(reshards, n_cases, pair))
            return 1;
        for (size_t i = 0; i < n_cases; i++)
            reshard_end(&reshards[i]);
    }
    return 0;
}

/* Returns element i of the tensor, as the sum of the addends that the ranks of
 * one line have. No addend counts twice. */
static double
sum_over(const struct reshard *reshard, size_t i, size_t pair)
{
    const enum hoop_reduce_op op = reshard->group->to_op;
    bool is_counted[RANKS_MAX] = {false};
    double sum = 0;
    uint32_t n_counted = 0;

    for (uint32_t rank = 0; rank < reshard->rank->size; rank++) {
        const struct sharding_model_part seat =
            reshard_part_to(reshard, plot_place(&reshard->plot->to, rank));
        const struct hoop_tensor part = {
            .data = reshard_part(reshard->plot, rank, pair),
            .dtype = reshard->group->dtype};
        uint32_t n_addends;
        size_t at;

        if (seat.place == HOOP_NO_RANK)
            continue;
        const uint32_t number = sharding_model_addend(&seat, &n_addends);
        if (is_counted[number] || !sharding_model_has(&seat, i, &at))
            continue;
        is_counted[number] = true;
        sum = n_counted++ == 0
                  ? reshard_value(&part, at)
                  : sharding_model_combine(op, sum, reshard_value(&part, at));
    }
    return op == HOOP_AVG ? sum / n_counted : sum;
}

/* Each rank checks some of the pairs. */
static int
tour_add_up(const struct tour *tour)
{
    const struct rank *rank = tour->rank;

    for (size_t pair = tour->step * rank->rank;
         pair < tour->n_layouts * tour->n_layouts;
         pair += tour->step * rank->size) {
        const struct reshard reshard =
            reshard_of(tour, pair, REDISTRIBUTION_FORWARD);

        for (size_t i = 0; reshard.to->partial.n_axes > 0 &&
                           i < sharding_model_whole(&reshard.group->shape);
             i++) {
            if (sum_over(&reshard, i, pair) != sharding_model_value(i))
                return reshard_say(&reshard);
        }
    }
    return 0;
}

static int
tour_go(struct tour *tour)
{
    const struct group *group = tour->group;
    const struct rank *rank = tour->rank;
    struct hoop_sharding empty = {.is_uneven = group->is_uneven};

    empty.partial_op = group->from_op;
    tour->n_layouts =
        sharding_model_list(group->shape.n_dims, &empty, tour->from);
    empty.partial_op = group->to_op;
    sharding_model_list(group->shape.n_dims, &empty, tour->to);
    if (tour_alone(tour, REDISTRIBUTION_FORWARD, tour->step))
        return 1;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (tour_add_up(tour))
        return 1;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return tour_alone(tour, REDISTRIBUTION_BACKWARD,
                      group->shape.n_dims == 1 ? tour->step : 5 * tour->step) ||
           tour_together(tour);
}

static int
pairs_body(struct rank *rank)
{
    const struct plot *plot = rank->input;
    const bool is_one = memcmp(&plot->from, &plot->to, sizeof(plot->to)) == 0;

    for (size_t i = 0; is_one && i < COUNT_OF(groups); i++) {
        struct tour tour = {.rank = rank,
                            .plot = plot,
                            .group = &groups[i],
                            .step = PAIRS_STEP};

        /* The even tensor of three dimensions is tested with all pairs. */
        if (groups[i].shape.n_dims == 3 && groups[i].is_uneven)
            tour.step *= 3;
        if (tour_go(&tour))
            return 1;
    }
    for (size_t i = 0; !is_one && i < COUNT_OF(groups_of_two); i++) {
        struct tour tour = {.rank = rank,
                            .plot = plot,
                            .group = &groups_of_two[i],
                            .step = 5 * PAIRS_STEP};

        if (tour_go(&tour))
            return 1;
    }
    return 0;
}

static void
run_on(uint32_t size, struct plot plot)
{
    const size_t n_bytes =
        (size_t)size * RESHARD_PAIRS_MAX * RESHARD_PART_BYTES;

    plot.parts = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(plot.parts, MAP_FAILED);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = size, .body = pairs_body, .input = &plot}),
                     0);
    munmap(plot.parts, n_bytes);
}

static void
run_on_one(uint32_t n_rows, uint32_t n_columns)
{
    const struct plot_side side = {.mesh = {2, {n_rows, n_columns}}};

    run_on(n_rows * n_columns, (struct plot){.from = side, .to = side});
}

static void
mesh_of_one_rank(void **state)
{
    run_on_one(1, 1);
}

static void
mesh_of_one_row(void **state)
{
    run_on_one(1, 2);
}

static void
mesh_of_two_by_two(void **state)
{
    run_on_one(2, 2);
}

static void
mesh_of_two_by_four(void **state)
{
    run_on_one(2, 4);
}

static void
mesh_to_one_of_the_same_ranks(void **state)
{
    static const uint32_t turned[] = {3, 1, 4, 0, 5, 7, 2, 6};

    run_on(8, (struct plot){.from = {.mesh = {2, {2, 4}}},
                            .to = {.mesh = {2, {4, 2}}, .ranks = turned}});
    run_on(8, (struct plot){.from = {.mesh = {2, {2, 4}}, .ranks = turned},
                            .to = {.mesh = {2, {2, 4}}}});
}

/* Rank 4 is in neither mesh. */
static void
mesh_to_one_of_other_ranks(void **state)
{
    static const uint32_t behind[] = {5, 7, 6};

    run_on(8, (struct plot){.from = {.mesh = {2, {2, 2}}},
                            .to = {.mesh = {2, {1, 3}}, .ranks = behind}});
}

static void
mesh_to_one_that_shares_ranks(void **state)
{
    static const uint32_t three[] = {5, 0, 3};
    static const uint32_t four[] = {3, 2, 5, 4};

    run_on(6, (struct plot){.from = {.mesh = {2, {2, 2}}, .ranks = four},
                            .to = {.mesh = {2, {2, 3}}}});
    run_on(6, (struct plot){.from = {.mesh = {2, {3, 1}}, .ranks = three},
                            .to = {.mesh = {2, {2, 2}}, .ranks = four}});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_of_one_rank),
        cmocka_unit_test(mesh_of_one_row),
        cmocka_unit_test(mesh_of_two_by_two),
        cmocka_unit_test(mesh_of_two_by_four),
        cmocka_unit_test(mesh_to_one_of_the_same_ranks),
        cmocka_unit_test(mesh_to_one_of_other_ranks),
        cmocka_unit_test(mesh_to_one_that_shares_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
