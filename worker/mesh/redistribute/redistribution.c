/*
 * mesh/redistribute/redistribution.c - plans how a tensor changes its layout
 *
 * A request is checked first. The sequence of steps is then created, with the
 * tilings that an exchange needs and a signature that all ranks compare. The
 * rest answers questions about it: which part of the tensor a rank holds before
 * a step, with whom it exchanges, and how many bytes it sends.
 */

#include "mesh/redistribute/redistribution.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "mesh/grid.h"
#include "mesh/redistribute/mesh_step.h"
#include "mesh/redistribute/redistribution_steps.h"
#include "tensor/layout.h"

/* Checks the request of a redistribution. */

static enum hoop_status
side_sharding_check(const struct redistribution_request *request,
                    const struct redistribution_side *side,
                    const char *name)
{
    char text[LIMIT_ERROR_TEXT];
    const enum hoop_status status =
        hoop_sharding_check(&side->sharding, &side->mesh, &request->shape);

    if (status == HOOP_OK)
        return HOOP_OK;
    snprintf(text, sizeof(text), "%s", error_text());
    return error_raise(status, "the layout %s: %s", name, text);
}

static enum hoop_status
side_partial_check(const struct redistribution_request *request,
                   const struct redistribution_side *side,
                   const char *name)
{
    const struct hoop_sharding *sharding = &side->sharding;

    if (sharding->partial.n_axes == 0 ||
        request->way == REDISTRIBUTION_BACKWARD ||
        reduction_find(request->dtype, sharding->partial_op))
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID, "the layout %s: %s of %s has no meaning",
                       name, reduce_op_name(sharding->partial_op),
                       dtype_name(request->dtype));
}

/* Checks that each place has a rank of the context and no two have the same. */
static enum hoop_status
side_ranks_check(const struct redistribution_request *request,
                 const struct redistribution_side *side,
                 const char *name)
{
    const uint32_t n_places = mesh_shape_n_places(&side->mesh);
    CLEANUP(free) bool *is_there = calloc(request->n_ranks, sizeof(*is_there));

    if (!is_there)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           request->n_ranks);
    for (uint32_t place = 0; place < n_places; place++) {
        const uint32_t rank = side->ranks ? side->ranks[place] : place;

        if (rank >= request->n_ranks)
            return error_raise(HOOP_E_INVALID,
                               "the layout %s: place %u of the mesh is rank "
                               "%u, which is not below %u",
                               name, place, rank, request->n_ranks);
        if (is_there[rank])
            return error_raise(HOOP_E_INVALID,
                               "the layout %s: rank %u is in the mesh twice",
                               name, rank);
        is_there[rank] = true;
    }
    return HOOP_OK;
}

static enum hoop_status
redistribution_side_check(const struct redistribution_request *request,
                          const struct redistribution_side *side,
                          const char *name)
{
    enum hoop_status status = side_sharding_check(request, side, name);

    if (status == HOOP_OK)
        status = side_partial_check(request, side, name);
    if (status == HOOP_OK)
        status = side_ranks_check(request, side, name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
redistribution_check(const struct redistribution_request *request)
{
    if (dtype_size(request->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)request->dtype);
    enum hoop_status status =
        redistribution_side_check(request, &request->from, "to come from");
    if (status == HOOP_OK)
        status = redistribution_side_check(request, &request->to, "to go to");
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum {
    /* Blocks that a plan cuts begin on cache lines, as in other calls. */
    BLOCK_GRANULE_BYTES = 64,
    REDISTRIBUTION_SIGNATURE_MAX =
        16 + HOOP_MAX_DIMS + 2 * HOOP_MAX_AXES + 6 * HOOP_MAX_STEPS,
};

static const uint32_t NO_STEP = UINT32_MAX;

struct redistribution {
    atomic_uint n_refs;
    struct redistribution_request request; /* its lists are in lists */
    enum exchange_meshes meshes;
    struct exchange_side sides[2];
    struct redistribution_steps steps;
    /* The tiling before each step, and at the end. */
    struct tiling tilings[HOOP_MAX_STEPS + 1];
    struct exchange exchange; /* of exchange_step */
    /* the only step that is an exchange, or NO_STEP */
    uint32_t exchange_step;
    uint32_t n_signature_numbers;
    size_t numbers[REDISTRIBUTION_SIGNATURE_MAX];
    struct replicas replicas; /* its lists are in lists */
    /* The places by rank on both sides, the two lists of the replicas, the
     * ranks in the world, then the ranks by place on both sides. */
    uint32_t lists[];
};

struct redistribution *
redistribution_ref(struct redistribution *redistribution)
{
    atomic_fetch_add(&redistribution->n_refs, 1);
    return redistribution;
}

void
redistribution_unref(struct redistribution *redistribution)
{
    if (redistribution && atomic_fetch_sub(&redistribution->n_refs, 1) == 1)
        free(redistribution);
}

/* Returns the i-th entry of a list of ranks that may be NULL. */
static uint32_t
rank_list_at(const uint32_t *list, uint32_t i)
{
    return list ? list[i] : i;
}

static bool
rank_lists_equal(const uint32_t *one, const uint32_t *other, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (rank_list_at(one, i) != rank_list_at(other, i))
            return false;
    }
    return true;
}

static bool
redistribution_sides_equal(const struct redistribution_side *one,
                           const struct redistribution_side *other)
{
    return mesh_shapes_equal(&one->mesh, &other->mesh) &&
           hoop_sharding_equal(&one->sharding, &other->sharding) &&
           rank_lists_equal(one->ranks, other->ranks,
                            mesh_shape_n_places(&one->mesh));
}

bool
redistribution_is_of_request(const struct redistribution *redistribution,
                             const struct redistribution_request *request)
{
    const struct redistribution_request *kept = &redistribution->request;

    return kept->n_ranks == request->n_ranks && kept->dtype == request->dtype &&
           kept->way == request->way && kept->tuner == request->tuner &&
           shape_equal(&kept->shape, &request->shape) &&
           redistribution_sides_equal(&kept->from, &request->from) &&
           redistribution_sides_equal(&kept->to, &request->to) &&
           rank_lists_equal(kept->world_ranks, request->world_ranks,
                            kept->n_ranks);
}

/* Copies the list of a side and inverts it. */
static void
exchange_side_fill(struct exchange_side *side,
                   struct redistribution_side *asked,
                   uint32_t *places,
                   uint32_t *ranks)
{
    for (uint32_t i = 0; i < mesh_shape_n_places(&asked->mesh); i++) {
        ranks[i] = rank_list_at(asked->ranks, i);
        places[ranks[i]] = i;
    }
    side->places = places;
    side->ranks = ranks;
    asked->ranks = ranks;
}

static enum exchange_meshes
exchange_meshes_compare(const struct redistribution_request *request,
                        const struct exchange_side sides[2])
{
    if (!mesh_shapes_equal(&request->from.mesh, &request->to.mesh) ||
        memcmp(sides[0].places, sides[1].places,
               request->n_ranks * sizeof(*sides[0].places)) != 0)
        return EXCHANGE_TWO_MESHES;
    return EXCHANGE_ONE_MESH;
}

/* Allocates a redistribution and fills its lists. Returns NULL if there is no
 * memory. */
static struct redistribution *
redistribution_allocate(const struct redistribution_request *request)
{
    const size_t n_ranks = request->n_ranks;
    const size_t n_from = mesh_shape_n_places(&request->from.mesh);
    const size_t n_to = mesh_shape_n_places(&request->to.mesh);
    const size_t n_lists = 5 * n_ranks + n_from + n_to;
    struct redistribution *made =
        calloc(1, sizeof(*made) + n_lists * sizeof(*made->lists));

    if (!made)
        return NULL;
    made->n_refs = 1;
    made->request = *request;
    uint32_t *places = made->lists;
    made->replicas = (struct replicas){
        .n_ranks = request->n_ranks,
        .source = places + 2 * n_ranks,
        .n_receiving_ranks = places + 3 * n_ranks,
    };
    uint32_t *world_ranks = made->lists + 4 * n_ranks;
    uint32_t *ranks = made->lists + 5 * n_ranks;
    for (size_t i = 0; i < 2 * n_ranks; i++)
        places[i] = HOOP_NO_RANK;
    for (uint32_t i = 0; i < request->n_ranks; i++)
        world_ranks[i] = rank_list_at(request->world_ranks, i);
    made->request.world_ranks = world_ranks;
    exchange_side_fill(&made->sides[0], &made->request.from, places, ranks);
    exchange_side_fill(&made->sides[1], &made->request.to, places + n_ranks,
                       ranks + n_from);
    made->meshes = exchange_meshes_compare(request, made->sides);
    return made;
}

static struct hoop_sharding
side_requested_sharding(const struct redistribution_request *request,
                        const struct redistribution_side *side)
{
    struct hoop_sharding sharding = side->sharding;

    if (request->way == REDISTRIBUTION_BACKWARD || sharding.partial.n_axes == 0)
        sharding.partial = (struct hoop_axes){0};
    if (sharding.partial.n_axes == 0)
        sharding.partial_op = HOOP_SUM;
    return sharding;
}

/* Returns the mesh on which a step begins. */
static enum redistribution_mesh
step_start_mesh(const struct redistribution *redistribution, uint32_t step)
{
    const struct redistribution_steps *steps = &redistribution->steps;

    if (step < steps->n_steps && steps->steps[step].kind == HOOP_STEP_EXCHANGE)
        return REDISTRIBUTION_MESH_FROM;
    if (step < steps->n_steps)
        return steps->steps[step].mesh;
    return redistribution->meshes == EXCHANGE_ONE_MESH
               ? REDISTRIBUTION_MESH_FROM
               : REDISTRIBUTION_MESH_TO;
}

static void
redistribution_fill_tilings(struct redistribution *redistribution,
                            const struct redistribution_problem *problem)
{
    const struct redistribution_request *request = problem->request;
    const uint32_t n_steps = redistribution->steps.n_steps;

    redistribution->exchange_step = NO_STEP;
    for (uint32_t i = 0; i <= n_steps; i++) {
        const bool is_end = i == n_steps;
        const struct redistribution_step *step =
            &redistribution->steps.steps[i];

        tiling_init(
            &redistribution->tilings[i], is_end ? &problem->to : &step->before,
            step_start_mesh(redistribution, i) == REDISTRIBUTION_MESH_FROM
                ? &request->from.mesh
                : &request->to.mesh,
            &request->shape);
        if (is_end || step->kind != HOOP_STEP_EXCHANGE)
            continue;
        redistribution->exchange_step = i;
        redistribution->exchange =
            exchange_between(problem, &step->before, &step->after);
    }
}

static void
signature_add_number(struct redistribution *redistribution, uint64_t number)
{
    assert(redistribution->n_signature_numbers < REDISTRIBUTION_SIGNATURE_MAX);
    redistribution->numbers[redistribution->n_signature_numbers++] =
        (size_t)number;
}

/* The FNV-1a hash. */
static uint64_t
fnv1a_hash(const void *bytes, size_t n_bytes)
{
    const uint8_t *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static void
signature_add_side(struct redistribution *redistribution,
                   const struct hoop_mesh_shape *mesh,
                   const struct hoop_sharding *sharding)
{
    signature_add_number(redistribution, mesh->n_axes);
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        signature_add_number(redistribution, mesh->sizes[axis]);
    signature_add_number(redistribution, sharding_key(sharding));
    signature_add_number(redistribution, sharding->partial_op);
    signature_add_number(redistribution, sharding->is_uneven);
}

static void
redistribution_fill_signature(struct redistribution *redistribution,
                              const struct redistribution_problem *problem)
{
    const struct redistribution_request *request = problem->request;

    signature_add_number(redistribution, request->way);
    signature_add_number(redistribution, request->dtype);
    signature_add_number(redistribution, request->shape.n_dims);
    for (uint32_t dim = 0; dim < request->shape.n_dims; dim++)
        signature_add_number(redistribution, request->shape.dims[dim]);
    signature_add_side(redistribution, &request->from.mesh, &problem->from);
    signature_add_side(redistribution, &request->to.mesh, &problem->to);
    signature_add_number(
        redistribution,
        fnv1a_hash(redistribution->lists,
                   2 * sizeof(uint32_t) * redistribution->request.n_ranks));
    for (uint32_t i = 0; i < redistribution->steps.n_steps; i++) {
        const struct redistribution_step *step =
            &redistribution->steps.steps[i];
        const char *name = step->algorithm ? step->algorithm->name : "";

        signature_add_number(redistribution, step->kind);
        signature_add_number(redistribution, (uint64_t)step->gather_dim << 32 |
                                                 step->shard_dim);
        signature_add_number(redistribution, sharding_key(&step->after));
        signature_add_number(redistribution, fnv1a_hash(name, strlen(name)));
    }
}

enum hoop_status
redistribution_create(const struct redistribution_request *request,
                      struct redistribution **out_redistribution)
{
    CLEANUP(redistribution_unref) struct redistribution *made = NULL;

    enum hoop_status status = redistribution_check(request);
    if (status != HOOP_OK)
        return error_pass(status);
    made = redistribution_allocate(request);
    if (!made)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           request->n_ranks);
    const struct redistribution_problem problem = {
        .request = request,
        .meshes = made->meshes,
        .from = side_requested_sharding(request, &request->from),
        .to = side_requested_sharding(request, &request->to),
        .sides = {&made->sides[0], &made->sides[1]},
        .replicas = &made->replicas,
    };
    tiling_init(&made->sides[0].tiling, &problem.from, &request->from.mesh,
                &request->shape);
    tiling_init(&made->sides[1].tiling, &problem.to, &request->to.mesh,
                &request->shape);
    replicas_assign_sources(&made->replicas, &made->sides[0], &made->sides[1],
                            redistribution_reduced_axes(&problem));
    status = redistribution_steps_find(&problem, &made->steps);
    if (status != HOOP_OK)
        return error_pass(status);
    redistribution_fill_tilings(made, &problem);
    redistribution_fill_signature(made, &problem);
    *out_redistribution = STEAL(made);
    return HOOP_OK;
}

struct rank_list
redistribution_world_ranks(const struct redistribution *redistribution)
{
    return (struct rank_list){redistribution->request.world_ranks,
                              redistribution->request.n_ranks};
}

uint32_t
redistribution_n_steps(const struct redistribution *redistribution)
{
    return redistribution->steps.n_steps;
}

const struct redistribution_step *
redistribution_step(const struct redistribution *redistribution, uint32_t step)
{
    assert(step < redistribution->steps.n_steps);
    return &redistribution->steps.steps[step];
}

uint32_t
redistribution_place_of_rank(const struct redistribution *redistribution,
                             enum redistribution_mesh mesh,
                             uint32_t rank)
{
    assert(rank < redistribution->request.n_ranks);
    return redistribution->sides[mesh].places[rank];
}

static uint32_t
rank_place_before_step(const struct redistribution *redistribution,
                       uint32_t step,
                       uint32_t rank)
{
    return redistribution_place_of_rank(
        redistribution, step_start_mesh(redistribution, step), rank);
}

bool
redistribution_part_before(const struct redistribution *redistribution,
                           uint32_t step,
                           uint32_t rank,
                           struct hoop_part *out_part)
{
    const struct tiling *tiling = &redistribution->tilings[step];
    const uint32_t place = rank_place_before_step(redistribution, step, rank);
    uint32_t at[HOOP_MAX_AXES];
    struct tile tile;

    if (place == HOOP_NO_RANK)
        return false;
    grid_coordinates_of_place(&tiling->grid, place, at);
    tiling_tile_at(tiling, at, &tile);
    *out_part = tile.part;
    return true;
}

/* Returns the number of elements of a rank's part before step. */
static size_t
part_elements_before_step(const struct redistribution *redistribution,
                          uint32_t step,
                          uint32_t rank)
{
    struct hoop_part part;
    const bool is_there =
        redistribution_part_before(redistribution, step, rank, &part);

    assert(is_there);
    return is_there ? part_n_elements(&part) : 0;
}

struct plan_shape
redistribution_plan_shape(const struct redistribution *redistribution,
                          uint32_t step,
                          uint32_t rank)
{
    const struct redistribution_step *this =
        redistribution_step(redistribution, step);
    const struct grid *grid = &redistribution->tilings[step].grid;
    const size_t granule =
        BLOCK_GRANULE_BYTES / dtype_size(redistribution->request.dtype);
    struct plan_shape shape = {.size = 1, .granule = granule > 0 ? granule : 1};
    uint32_t at[HOOP_MAX_AXES];

    grid_coordinates_of_place(
        grid, rank_place_before_step(redistribution, step, rank), at);
    for (uint32_t i = 0; i < this->axes.n_axes; i++) {
        const uint32_t axis = this->axes.axes[i];

        shape.size *= grid->sizes[axis];
        shape.rank = shape.rank * grid->sizes[axis] + at[axis];
    }
    shape.count = part_elements_before_step(redistribution, step, rank);
    if (this->kind == HOOP_STEP_ALL_TO_ALL ||
        this->kind == HOOP_STEP_REDUCE_SCATTER)
        shape.count /= shape.size;
    return shape;
}

uint32_t
redistribution_line_member(const struct redistribution *redistribution,
                           uint32_t step,
                           uint32_t rank,
                           uint32_t n)
{
    const struct redistribution_step *this =
        redistribution_step(redistribution, step);
    const uint32_t place = grid_line_nth_place(
        &redistribution->tilings[step].grid, &this->axes,
        rank_place_before_step(redistribution, step, rank), n);

    return redistribution->sides[this->mesh].ranks[place];
}

bool
redistribution_piece(const struct redistribution *redistribution,
                     uint32_t step,
                     uint32_t sender,
                     uint32_t receiver,
                     struct redistribution_piece *out_piece)
{
    assert(step == redistribution->exchange_step);
    assert(sender < redistribution->request.n_ranks);
    assert(receiver < redistribution->request.n_ranks);
    return exchange_find_piece(&redistribution->exchange, sender, receiver,
                               out_piece);
}

/* Counts the elements that the plan of a rank sends. */
static enum hoop_status
line_plan_count_sent(const struct redistribution *redistribution,
                     uint32_t step,
                     uint32_t rank,
                     uint64_t *out_n_elements)
{
    const struct algorithm *algorithm =
        redistribution_step(redistribution, step)->algorithm;
    const struct plan_shape shape =
        redistribution_plan_shape(redistribution, step, rank);
    struct plan plan = {0};
    uint64_t n_sent = 0;

    const uint32_t n_rounds = algorithm_n_rounds(algorithm, &shape);
    for (uint32_t round = 0; round < n_rounds; round++) {
        plan_clear(&plan);
        algorithm_plan_round(algorithm, &plan, &shape, round);
        for (size_t i = 0; i < plan.n_steps; i++) {
            if (plan.steps[i].kind == PLAN_SEND)
                n_sent += plan.steps[i].from.count;
        }
    }
    const enum hoop_status status = plan_status(&plan);
    plan_deinit(&plan);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_elements = n_sent;
    return HOOP_OK;
}

enum hoop_status
redistribution_bytes_sent(const struct redistribution *redistribution,
                          uint32_t step,
                          uint32_t rank,
                          uint64_t *out_n_bytes)
{
    const struct redistribution_step *this =
        redistribution_step(redistribution, step);
    uint64_t n_elements = 0;

    if (this->kind == HOOP_STEP_EXCHANGE) {
        n_elements = exchange_n_sent(&redistribution->exchange, rank,
                                     redistribution->request.n_ranks);
    } else if (this->algorithm &&
               rank_place_before_step(redistribution, step, rank) !=
                   HOOP_NO_RANK) {
        const enum hoop_status status =
            line_plan_count_sent(redistribution, step, rank, &n_elements);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_n_bytes = n_elements * dtype_size(redistribution->request.dtype);
    return HOOP_OK;
}

enum hoop_status
redistribution_bytes_total(const struct redistribution *redistribution,
                           uint32_t step,
                           uint64_t *out_n_bytes)
{
    const struct redistribution_step *this =
        redistribution_step(redistribution, step);
    uint64_t n_bytes = 0;

    for (uint32_t rank = 0; rank < redistribution->request.n_ranks; rank++) {
        uint64_t more = 0;
        enum hoop_status status = HOOP_OK;

        /* As many are received as sent, and counting those is cheaper. */
        if (this->kind == HOOP_STEP_EXCHANGE)
            more = exchange_n_received(&redistribution->exchange, rank) *
                   dtype_size(redistribution->request.dtype);
        else
            status =
                redistribution_bytes_sent(redistribution, step, rank, &more);
        if (status != HOOP_OK)
            return error_pass(status);
        n_bytes += more;
    }
    *out_n_bytes = n_bytes;
    return HOOP_OK;
}

const size_t *
redistribution_signature(const struct redistribution *redistribution,
                         uint32_t *out_n_numbers)
{
    *out_n_numbers = redistribution->n_signature_numbers;
    return redistribution->numbers;
}
