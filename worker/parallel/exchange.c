/* parallel/exchange.c - who gives which elements to whom */

#include "parallel/exchange.h"

#include <string.h>

/* Axes that cut in neither of masks, and are not in but. */
static struct grid_axes
axes_without(const struct grid *grid, unsigned but)
{
    struct grid_axes axes = {0};

    for (uint32_t axis = 0; axis < grid->n_axes; axis++) {
        if (!(but & 1U << axis))
            axes.axes[axes.n_axes++] = axis;
    }
    return axes;
}

void
exchange_init(struct exchange *exchange, enum exchange_meshes meshes)
{
    const struct tiling *from = &exchange->from.tiling;
    const struct tiling *to = &exchange->to.tiling;
    unsigned kept = 0;

    exchange->kept = (struct grid_axes){0};
    if (meshes == EXCHANGE_ONE_MESH) {
        exchange->kept = axes_without(&from->grid, from->cutting | to->cutting);
        kept = ~(from->cutting | to->cutting);
    }
    exchange->havers = axes_without(&from->grid, from->cutting | kept);
    exchange->wanters = axes_without(&to->grid, to->cutting | kept);
}

/* A rank on a side. */
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

static uint64_t
number_of(const struct grid *grid,
          const struct grid_axes *axes,
          const uint32_t at[HOOP_MAX_AXES])
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < axes->n_axes; i++)
        number = number * grid->sizes[axes->axes[i]] + at[axes->axes[i]];
    return number;
}

/* The number of one who wants some of have among all who do. */
static uint64_t
turn_of(const struct exchange *exchange,
        const struct hoop_part *have,
        const struct stand *wants)
{
    const struct tiling *to = &exchange->to.tiling;
    uint64_t turn = number_of(&to->grid, &exchange->wanters, wants->at);

    for (uint32_t dim = 0; dim < have->shape.n_dims; dim++) {
        const size_t size = to->shape.dims[dim];
        const uint32_t n = to->n_tiles[dim];
        const size_t end = have->offset[dim] + have->shape.dims[dim];
        const uint32_t first = tile_of(size, n, have->offset[dim]);
        const uint32_t last = tile_of(size, n, end - 1);

        turn = turn * (last - first + 1) + (wants->tile.numbers[dim] - first);
    }
    return turn;
}

/* Of those who have the same tile, is it has whom wants asks? */
static bool
is_asked(const struct exchange *exchange,
         const struct stand *has,
         const struct stand *wants)
{
    const struct grid *grid = &exchange->from.tiling.grid;

    for (uint32_t i = 0; i < exchange->kept.n_axes; i++) {
        const uint32_t axis = exchange->kept.axes[i];

        if (has->at[axis] != wants->at[axis])
            return false;
    }
    const uint64_t number = number_of(grid, &exchange->havers, has->at);
    if (exchange->way == REDISTRIBUTION_BACKWARD)
        return number == 0;
    return number == turn_of(exchange, &has->tile.part, wants) %
                         grid_line_count(grid, &exchange->havers);
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
    struct stand own;
    struct hoop_part both;

    if (!stand_find(&exchange->from, sender, &has) ||
        !stand_find(&exchange->to, receiver, &wants) ||
        !part_meet(&has.tile.part, &wants.tile.part, &both))
        return false;
    if (sender != receiver) {
        if (stand_find(&exchange->from, receiver, &own) &&
            memcmp(own.tile.numbers, has.tile.numbers,
                   sizeof(own.tile.numbers)) == 0)
            return false;
        if (!is_asked(exchange, &has, &wants))
            return false;
    }
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
        !part_meet(&own.tile.part, &wants.tile.part, &both))
        return count;
    return count - part_count(&both);
}

/* Tiles of tiling that part, which has elements, is in. */
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

static void
load_send(const struct exchange *exchange,
          const struct stand *has,
          struct exchange_load *load)
{
    const double count = (double)part_count(&has->tile.part);
    const struct grid *from = &exchange->from.tiling.grid;
    double n_havers = grid_line_count(from, &exchange->havers);
    const double n_wanters =
        grid_line_count(&exchange->to.tiling.grid, &exchange->wanters);
    const double n_own = n_havers;

    if (count == 0)
        return;
    if (exchange->way == REDISTRIBUTION_BACKWARD) {
        /* The first of them sends it all. */
        if (number_of(from, &exchange->havers, has->at) > 0)
            return;
        n_havers = 1;
    }
    const double n_asked =
        n_wanters * tiles_met(&exchange->to.tiling, &has->tile.part);
    load->n_sent = (count * n_wanters - n_own * load->n_kept) / n_havers;
    load->sends = (n_asked - (load->n_kept > 0 ? n_own : 0)) / n_havers;
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
        part_meet(&has.tile.part, &wants.tile.part, &both))
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
