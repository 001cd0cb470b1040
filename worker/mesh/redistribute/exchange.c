/* mesh/redistribute/exchange.c - which rank gives which elements to which
 * rank */

#include "mesh/redistribute/exchange.h"

#include <string.h>

#include "mesh/sharding.h"

/* Returns the axes of grid that are not in mask. */
static struct hoop_axes
grid_axes_without(const struct grid *grid, unsigned mask)
{
    struct hoop_axes axes = {0};

    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        if (!(mask & 1U << axis))
            axes.axes[axes.n_axes++] = axis;
    }
    return axes;
}

/* Returns the coordinates along axes as a number in mixed radix. */
static uint32_t
coordinates_to_index(const struct grid *grid,
                     const struct hoop_axes *axes,
                     const uint32_t at[HOOP_MAX_AXES])
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        number = number * grid->sizes[axes->axes[i]] + at[axes->axes[i]];
    return number;
}

static uint32_t
place_index_along_axes(const struct grid *grid,
                       const struct hoop_axes *axes,
                       uint32_t place)
{
    uint32_t at[HOOP_MAX_AXES];

    grid_coordinates_of_place(grid, place, at);
    return coordinates_to_index(grid, axes, at);
}

/* Lets ranks of the source take from their own replica. For each replica of the
 * target, firsts is set to the replica that the first such rank takes from. */
static void
replicas_assign_source_ranks(struct replicas *replicas,
                             const struct exchange_side *from,
                             const struct exchange_side *to,
                             const struct hoop_axes *apart,
                             uint32_t *firsts)
{
    const struct grid *grid = &to->tiling.grid;

    for (uint32_t i = 0; i < replicas->n_ranks; i++) {
        replicas->source[i] = HOOP_NO_RANK;
        firsts[i] = HOOP_NO_RANK;
    }
    for (uint32_t place = 0; place < grid->n_places; place++) {
        const uint32_t rank = to->ranks[place];
        uint32_t *first = &firsts[place_index_along_axes(grid, apart, place)];

        if (from->places[rank] == HOOP_NO_RANK)
            continue;
        replicas->source[rank] = place_index_along_axes(
            &from->tiling.grid, &replicas->axes, from->places[rank]);
        if (*first == HOOP_NO_RANK)
            *first = replicas->source[rank];
    }
}

void
replicas_assign_sources(struct replicas *replicas,
                        const struct exchange_side *from,
                        const struct exchange_side *to,
                        unsigned reduced)
{
    const struct grid *grid = &to->tiling.grid;
    const struct hoop_axes apart = grid_axes_without(grid, to->tiling.cutting);
    const uint32_t n_apart = grid_line_n_places(grid, &apart);
    uint32_t *firsts = replicas->n_receiving_ranks;

    replicas->axes =
        grid_axes_without(&from->tiling.grid, from->tiling.cutting | reduced);
    replicas->n_replicas =
        grid_line_n_places(&from->tiling.grid, &replicas->axes);
    replicas_assign_source_ranks(replicas, from, to, &apart, firsts);
    for (uint32_t place = 0; place < grid->n_places; place++) {
        const uint32_t number = place_index_along_axes(grid, &apart, place);
        uint32_t *source = &replicas->source[to->ranks[place]];

        if (*source == HOOP_NO_RANK && firsts[number] != HOOP_NO_RANK)
            *source = firsts[number];
        else if (*source == HOOP_NO_RANK)
            *source =
                (uint32_t)((uint64_t)number * replicas->n_replicas / n_apart);
    }
    for (uint32_t i = 0; i < replicas->n_ranks; i++)
        replicas->n_receiving_ranks[i] = 0;
    for (uint32_t place = 0; place < grid->n_places; place++)
        replicas->n_receiving_ranks[replicas->source[to->ranks[place]]]++;
}

unsigned
replicas_shared_axes(const struct replicas *replicas,
                     const struct exchange_side *side)
{
    const struct grid *grid = &side->tiling.grid;
    unsigned shared = 0;

    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        const struct hoop_axes line = {1, {axis}};
        bool is_shared = true;

        for (uint32_t place = 0; is_shared && place < grid->n_places; place++) {
            const uint32_t first = grid_line_nth_place(grid, &line, place, 0);

            is_shared = replicas->source[side->ranks[place]] ==
                        replicas->source[side->ranks[first]];
        }
        shared |= is_shared ? 1U << axis : 0;
    }
    return shared;
}

struct exchange
exchange_between(const struct redistribution_problem *problem,
                 const struct hoop_sharding *before,
                 const struct hoop_sharding *after)
{
    const struct redistribution_request *request = problem->request;
    struct exchange exchange = {
        .from = *problem->sides[REDISTRIBUTION_MESH_FROM],
        .to = *problem->sides[REDISTRIBUTION_MESH_TO],
        .replicas = problem->replicas,
    };
    const struct tiling *from = &exchange.from.tiling;

    tiling_init(&exchange.from.tiling, before, &request->from.mesh,
                &request->shape);
    tiling_init(&exchange.to.tiling, after, &request->to.mesh, &request->shape);
    exchange.copies = grid_axes_without(
        &from->grid, from->cutting | axes_mask(&problem->replicas->axes));
    return exchange;
}

/* The position of a rank on a side. */
struct side_position {
    uint32_t at[HOOP_MAX_AXES];
    struct tile tile;
};

static bool
side_position_of_rank(const struct exchange_side *side,
                      uint32_t rank,
                      struct side_position *out_stand)
{
    const uint32_t place = side->places[rank];

    if (place == HOOP_NO_RANK)
        return false;
    grid_coordinates_of_place(&side->tiling.grid, place, out_stand->at);
    tiling_tile_at(&side->tiling, out_stand->at, &out_stand->tile);
    return true;
}

/* Returns whether receiver takes from the rank at has. That rank must be in the
 * replica that receiver takes from, and be the one chosen for receiver among
 * those with equal tiles. */
static bool
is_sender_for_receiver(const struct exchange *exchange,
                       const struct side_position *has,
                       uint32_t receiver)
{
    const struct exchange_side *from = &exchange->from;
    const struct grid *grid = &from->tiling.grid;
    const struct hoop_axes *copies = &exchange->copies;
    const struct replicas *replicas = exchange->replicas;

    if (coordinates_to_index(grid, &replicas->axes, has->at) !=
        replicas->source[receiver])
        return false;
    if (copies->n_axes == 0)
        return true;
    const uint32_t wanted =
        from->places[receiver] != HOOP_NO_RANK
            ? place_index_along_axes(grid, copies, from->places[receiver])
            : exchange->to.places[receiver] % grid_line_n_places(grid, copies);
    return coordinates_to_index(grid, copies, has->at) == wanted;
}

bool
exchange_find_piece(const struct exchange *exchange,
                    uint32_t sender,
                    uint32_t receiver,
                    struct redistribution_piece *out_piece)
{
    struct side_position has;
    struct side_position wants;
    struct hoop_part both;

    if (!side_position_of_rank(&exchange->from, sender, &has) ||
        !is_sender_for_receiver(exchange, &has, receiver) ||
        !side_position_of_rank(&exchange->to, receiver, &wants) ||
        !part_intersect(&has.tile.part, &wants.tile.part, &both))
        return false;
    out_piece->sent = part_within(&both, &has.tile.part);
    out_piece->received = part_within(&both, &wants.tile.part);
    return true;
}

size_t
exchange_n_sent(const struct exchange *exchange,
                uint32_t rank,
                uint32_t n_ranks)
{
    struct redistribution_piece piece;
    size_t count = 0;

    for (uint32_t other = 0; other < n_ranks; other++) {
        if (other != rank && exchange_find_piece(exchange, rank, other, &piece))
            count += part_n_elements(&piece.sent);
    }
    return count;
}

size_t
exchange_n_received(const struct exchange *exchange, uint32_t rank)
{
    struct side_position wants;
    struct side_position own;
    struct hoop_part both;

    if (!side_position_of_rank(&exchange->to, rank, &wants))
        return 0;
    const size_t count = part_n_elements(&wants.tile.part);
    if (!side_position_of_rank(&exchange->from, rank, &own) ||
        !part_intersect(&own.tile.part, &wants.tile.part, &both))
        return count;
    return count - part_n_elements(&both);
}

/* Returns the number of tiles that overlap part, which has elements. */
static double
overlapping_tiles_count(const struct tiling *tiling,
                        const struct hoop_part *part)
{
    double n_met = 1;

    for (uint32_t dim = 0; dim < part->shape.n_dims; dim++) {
        const size_t size = tiling->shape.dims[dim];
        const uint32_t n = tiling->n_tiles[dim];
        const size_t end = part->offset[dim] + part->shape.dims[dim];

        n_met *= tile_index_of_element(size, n, end - 1) -
                 tile_index_of_element(size, n, part->offset[dim]) + 1;
    }
    return n_met;
}

/* Assumes that each tile of a replica is wanted equally often. */
static void
rank_work_estimate_sends(const struct exchange *exchange,
                         const struct side_position *has,
                         struct exchange_rank_work *load)
{
    const double count = (double)part_n_elements(&has->tile.part);
    const struct grid *grid = &exchange->from.tiling.grid;
    const struct tiling *to = &exchange->to.tiling;
    const struct replicas *replicas = exchange->replicas;
    const uint32_t replica =
        coordinates_to_index(grid, &replicas->axes, has->at);
    const double n_copies = grid_line_n_places(grid, &exchange->copies);
    double n_tiles = 1;

    if (count == 0)
        return;
    for (uint32_t dim = 0; dim < to->shape.n_dims; dim++)
        n_tiles *= to->n_tiles[dim];
    const double n_wanters = replicas->n_receiving_ranks[replica] / n_tiles;
    load->n_sent = count * n_wanters / n_copies - load->n_kept;
    load->sends =
        overlapping_tiles_count(to, &has->tile.part) * n_wanters / n_copies -
        (load->n_kept > 0 ? 1 : 0);
    if (load->n_sent < 0)
        load->n_sent = 0;
    if (load->sends < 0)
        load->sends = 0;
}

struct exchange_rank_work
exchange_rank_work(const struct exchange *exchange, uint32_t rank)
{
    struct exchange_rank_work load = {0};
    struct hoop_part both;
    struct side_position has;
    struct side_position wants;
    const bool is_haver = side_position_of_rank(&exchange->from, rank, &has);
    const bool is_wanter = side_position_of_rank(&exchange->to, rank, &wants);

    if (is_haver && is_wanter &&
        part_intersect(&has.tile.part, &wants.tile.part, &both))
        load.n_kept = (double)part_n_elements(&both);
    if (is_wanter && part_n_elements(&wants.tile.part) > 0) {
        load.n_received =
            (double)part_n_elements(&wants.tile.part) - load.n_kept;
        load.receives =
            overlapping_tiles_count(&exchange->from.tiling, &wants.tile.part) -
            (load.n_kept > 0 ? 1 : 0);
    }
    if (is_haver)
        rank_work_estimate_sends(exchange, &has, &load);
    return load;
}
