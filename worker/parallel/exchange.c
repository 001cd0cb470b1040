/* parallel/exchange.c - which rank gives which elements to which rank */

#include "parallel/exchange.h"

#include <string.h>

/* Returns the axes of grid that are not in mask. */
static struct grid_axes
axes_without(const struct grid *grid, unsigned mask)
{
    struct grid_axes axes = {0};

    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        if (!(mask & 1U << axis))
            axes.axes[axes.n_axes++] = axis;
    }
    return axes;
}

static unsigned
axes_bits(const struct grid_axes *axes)
{
    unsigned mask = 0;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        mask |= 1U << axes->axes[i];
    return mask;
}

/* Returns the coordinates along axes as a number in mixed radix. */
static uint32_t
number_of(const struct grid *grid,
          const struct grid_axes *axes,
          const uint32_t at[HOOP_MAX_AXES])
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        number = number * grid->sizes[axes->axes[i]] + at[axes->axes[i]];
    return number;
}

static uint32_t
number_at(const struct grid *grid, const struct grid_axes *axes, uint32_t place)
{
    uint32_t at[HOOP_MAX_AXES];

    grid_coordinates(grid, place, at);
    return number_of(grid, axes, at);
}

/* Lets ranks of the source take from their own replica. For each replica of the
 * target, firsts is set to the replica that the first such rank takes from. */
static void
assign_own(struct replicas *replicas,
           const struct exchange_side *from,
           const struct exchange_side *to,
           const struct grid_axes *apart,
           uint32_t *firsts)
{
    const struct grid *grid = &to->tiling.grid;

    for (uint32_t i = 0; i < replicas->n_ranks; i++) {
        replicas->source[i] = HOOP_NO_RANK;
        firsts[i] = HOOP_NO_RANK;
    }
    for (uint32_t place = 0; place < grid->n_places; place++) {
        const uint32_t rank = to->ranks[place];
        uint32_t *first = &firsts[number_at(grid, apart, place)];

        if (from->places[rank] == HOOP_NO_RANK)
            continue;
        replicas->source[rank] =
            number_at(&from->tiling.grid, &replicas->axes, from->places[rank]);
        if (*first == HOOP_NO_RANK)
            *first = replicas->source[rank];
    }
}

void
replicas_assign(struct replicas *replicas,
                const struct exchange_side *from,
                const struct exchange_side *to,
                unsigned reduced)
{
    const struct grid *grid = &to->tiling.grid;
    const struct grid_axes apart = axes_without(grid, to->tiling.cutting);
    const uint32_t n_apart = grid_line_count(grid, &apart);
    uint32_t *firsts = replicas->n_takers;

    replicas->axes =
        axes_without(&from->tiling.grid, from->tiling.cutting | reduced);
    replicas->n_replicas = grid_line_count(&from->tiling.grid, &replicas->axes);
    assign_own(replicas, from, to, &apart, firsts);
    for (uint32_t place = 0; place < grid->n_places; place++) {
        const uint32_t number = number_at(grid, &apart, place);
        uint32_t *source = &replicas->source[to->ranks[place]];

        if (*source == HOOP_NO_RANK && firsts[number] != HOOP_NO_RANK)
            *source = firsts[number];
        else if (*source == HOOP_NO_RANK)
            *source =
                (uint32_t)((uint64_t)number * replicas->n_replicas / n_apart);
    }
    for (uint32_t i = 0; i < replicas->n_ranks; i++)
        replicas->n_takers[i] = 0;
    for (uint32_t place = 0; place < grid->n_places; place++)
        replicas->n_takers[replicas->source[to->ranks[place]]]++;
}

unsigned
replicas_shared_axes(const struct replicas *replicas,
                     const struct exchange_side *side)
{
    const struct grid *grid = &side->tiling.grid;
    unsigned shared = 0;

    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        const struct grid_axes line = {1, {axis}};
        bool is_shared = true;

        for (uint32_t place = 0; is_shared && place < grid->n_places; place++) {
            const uint32_t first = grid_line_place(grid, &line, place, 0);

            is_shared = replicas->source[side->ranks[place]] ==
                        replicas->source[side->ranks[first]];
        }
        shared |= is_shared ? 1U << axis : 0;
    }
    return shared;
}

void
exchange_init(struct exchange *exchange)
{
    const struct tiling *from = &exchange->from.tiling;

    exchange->copies = axes_without(
        &from->grid, from->cutting | axes_bits(&exchange->replicas->axes));
}

/* The position of a rank on a side. */
struct stand {
    uint32_t at[HOOP_MAX_AXES];
    struct tile tile;
};

static bool
stand_find(const struct exchange_side *side,
           uint32_t rank,
           struct stand *out_stand)
{
    const uint32_t place = side->places[rank];

    if (place == HOOP_NO_RANK)
        return false;
    grid_coordinates(&side->tiling.grid, place, out_stand->at);
    tiling_tile(&side->tiling, out_stand->at, &out_stand->tile);
    return true;
}

/* Returns whether receiver takes from the rank at has. That rank must be in the
 * replica that receiver takes from, and be the one chosen for receiver among
 * those with equal tiles. */
static bool
is_asked(const struct exchange *exchange,
         const struct stand *has,
         uint32_t receiver)
{
    const struct exchange_side *from = &exchange->from;
    const struct grid *grid = &from->tiling.grid;
    const struct grid_axes *copies = &exchange->copies;
    const struct replicas *replicas = exchange->replicas;

    if (number_of(grid, &replicas->axes, has->at) != replicas->source[receiver])
        return false;
    if (copies->n_axes == 0)
        return true;
    const uint32_t wanted =
        from->places[receiver] != HOOP_NO_RANK
            ? number_at(grid, copies, from->places[receiver])
            : exchange->to.places[receiver] % grid_line_count(grid, copies);
    return number_of(grid, copies, has->at) == wanted;
}

static struct redistribution_piece
piece_of(const struct hoop_part *both,
         const struct hoop_part *has,
         const struct hoop_part *wants)
{
    struct redistribution_piece piece = {.shape = both->shape};

    for (uint32_t dim = 0; dim < both->shape.n_dims; dim++) {
        piece.in_sender[dim] = both->offset[dim] - has->offset[dim];
        piece.in_receiver[dim] = both->offset[dim] - wants->offset[dim];
    }
    return piece;
}

bool
exchange_piece(const struct exchange *exchange,
               uint32_t sender,
               uint32_t receiver,
               struct redistribution_piece *out_piece)
{
    struct stand has;
    struct stand wants;
    struct hoop_part both;

    if (!stand_find(&exchange->from, sender, &has) ||
        !is_asked(exchange, &has, receiver) ||
        !stand_find(&exchange->to, receiver, &wants) ||
        !part_intersect(&has.tile.part, &wants.tile.part, &both))
        return false;
    *out_piece = piece_of(&both, &has.tile.part, &wants.tile.part);
    return true;
}

static size_t
piece_count(const struct redistribution_piece *piece)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < piece->shape.n_dims; dim++)
        count *= piece->shape.dims[dim];
    return count;
}

size_t
exchange_sent(const struct exchange *exchange, uint32_t rank, uint32_t n_ranks)
{
    struct redistribution_piece piece;
    size_t count = 0;

    for (uint32_t other = 0; other < n_ranks; other++) {
        if (other != rank && exchange_piece(exchange, rank, other, &piece))
            count += piece_count(&piece);
    }
    return count;
}

size_t
exchange_received(const struct exchange *exchange, uint32_t rank)
{
    struct stand wants;
    struct stand own;
    struct hoop_part both;

    if (!stand_find(&exchange->to, rank, &wants))
        return 0;
    const size_t count = part_count(&wants.tile.part);
    if (!stand_find(&exchange->from, rank, &own) ||
        !part_intersect(&own.tile.part, &wants.tile.part, &both))
        return count;
    return count - part_count(&both);
}

/* Returns the number of tiles that overlap part, which has elements. */
static double
tiles_met(const struct tiling *tiling, const struct hoop_part *part)
{
    double n_met = 1;

    for (uint32_t dim = 0; dim < part->shape.n_dims; dim++) {
        const size_t size = tiling->shape.dims[dim];
        const uint32_t n = tiling->n_tiles[dim];
        const size_t end = part->offset[dim] + part->shape.dims[dim];

        n_met *=
            tile_of(size, n, end - 1) - tile_of(size, n, part->offset[dim]) + 1;
    }
    return n_met;
}

/* Assumes that each tile of a replica is wanted equally often. */
static void
load_send(const struct exchange *exchange,
          const struct stand *has,
          struct exchange_load *load)
{
    const double count = (double)part_count(&has->tile.part);
    const struct grid *grid = &exchange->from.tiling.grid;
    const struct tiling *to = &exchange->to.tiling;
    const struct replicas *replicas = exchange->replicas;
    const uint32_t replica = number_of(grid, &replicas->axes, has->at);
    const double n_copies = grid_line_count(grid, &exchange->copies);
    double n_tiles = 1;

    if (count == 0)
        return;
    for (uint32_t dim = 0; dim < to->shape.n_dims; dim++)
        n_tiles *= to->n_tiles[dim];
    const double n_wanters = replicas->n_takers[replica] / n_tiles;
    load->n_sent = count * n_wanters / n_copies - load->n_kept;
    load->sends = tiles_met(to, &has->tile.part) * n_wanters / n_copies -
                  (load->n_kept > 0 ? 1 : 0);
    if (load->n_sent < 0)
        load->n_sent = 0;
    if (load->sends < 0)
        load->sends = 0;
}

struct exchange_load
exchange_load(const struct exchange *exchange, uint32_t rank)
{
    struct exchange_load load = {0};
    struct hoop_part both;
    struct stand has;
    struct stand wants;
    const bool is_haver = stand_find(&exchange->from, rank, &has);
    const bool is_wanter = stand_find(&exchange->to, rank, &wants);

    if (is_haver && is_wanter &&
        part_intersect(&has.tile.part, &wants.tile.part, &both))
        load.n_kept = (double)part_count(&both);
    if (is_wanter && part_count(&wants.tile.part) > 0) {
        load.n_received = (double)part_count(&wants.tile.part) - load.n_kept;
        load.receives = tiles_met(&exchange->from.tiling, &wants.tile.part) -
                        (load.n_kept > 0 ? 1 : 0);
    }
    if (is_haver)
        load_send(exchange, &has, &load);
    return load;
}
