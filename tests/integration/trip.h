/*
 * tests/integration/trip.h - one redistribution, of one rank, and its result
 *
 * From one layout to another, each on a mesh of two axes; where both have one,
 * the two meshes are one. What a rank begins with and what it is to have in the end follow from the
 * whole tensor (placings.h). Of a gradient each rank has another.
 */

#ifndef TESTS_TRIP_H
#define TESTS_TRIP_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/sharding.h"
#include "hoop/tensor.h"

#include "mesh/redistribute/redistribute_runner.h"
#include "mesh/redistribute/redistribution.h"
#include "placings.h"
#include "ranks.h"

enum {
    TRIP_PAIRS_MAX = PLACINGS_MAX * PLACINGS_MAX,
    TRIP_PART_BYTES = PLACING_ELEMENTS_MAX * 8,
};

/* Tensors that a set of processes takes from each layout to each. */
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

/* Where all trips of a test are from and to. */
struct plot {
    struct plot_side from;
    struct plot_side to;
    uint8_t *parts; /* results, [rank][pair], shared by all processes */
};

/* HOOP_NO_RANK: rank is outside. */
uint32_t
plot_place(const struct plot_side *side, uint32_t rank);

/* One redistribution, of one rank. */
struct trip {
    struct rank *rank;
    const struct plot *plot;
    const struct group *group;
    const struct hoop_sharding *from;
    const struct hoop_sharding *to;
    enum redistribution_direction way;
    struct redistribution *redistribution;
    struct hoop_tensor input;
    struct hoop_tensor output;
    uint64_t bytes;      /* that it is to send */
    unsigned n_finished; /* hooks that were called */
    unsigned n_destroyed;
};

/* Memory for both parts, and the plan. */
enum hoop_status
trip_pack(struct trip *trip);
struct redistribute_runner_request
trip_request(struct trip *trip);
/* What the rank has now is right, and the hooks were called; addends are kept,
 * to be looked at when all have theirs. 0, or 1 after a report. */
int
trip_check(const struct trip *trip, size_t pair);
/* Says of which pair a failure is; 1. */
int
trip_say(const struct trip *trip);
void
trip_end(struct trip *trip);

/* Payload, since the beginning. */
uint64_t
trip_bytes_sent(const struct rank *rank);
/* Where rank's addends are, and how. */
uint8_t *
trip_part(const struct plot *plot, uint32_t rank, size_t pair);
double
trip_value(const struct hoop_tensor *tensor, size_t at);
/* From where its layouts are looked at. */
struct placing_seat
trip_seat_from(const struct trip *trip, uint32_t place);
struct placing_seat
trip_seat_to(const struct trip *trip, uint32_t place);

#endif
