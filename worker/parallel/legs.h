/*
 * parallel/legs.h - where one rank's part lies, step by step
 *
 * Pure. A part begins in the input and ends in the output, and in between there
 * are two buffers: whatever is copied or received goes to the one it is not in.
 * A slice stays where it is, as a view; blocks that lie as they are sent or
 * wanted are sent and received where they lie.
 */

#ifndef PARALLEL_LEGS_H
#define PARALLEL_LEGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/crossing.h"
#include "parallel/redistribution.h"
#include "parallel/view.h"

enum room {
    ROOM_NONE, /* nothing lies there */
    ROOM_INPUT,
    ROOM_OUTPUT,
    ROOM_FIRST,
    ROOM_SECOND,
};

enum {
    N_ROOMS = ROOM_SECOND + 1
};

/* A part, or what is left of it to look at. */
struct stay {
    enum room room;
    struct view view;
};

/* One step. */
struct leg {
    const struct redistribution_step *step;
    struct stay before;
    struct stay after;
    struct crossing *crossing; /* NULL: nothing is sent */
    bool is_filled; /* after is to be filled with what adds nothing */
    /* Of a crossing. */
    enum room packed; /* blocks sorted by rank; NONE: they are sent from where
                         they lie */
    size_t first;     /* element of the room where they begin */
    enum room landed; /* blocks as they come; that of after: in their places */
    /* What an exchange leaves on this rank: from before to after, not sent. */
    bool has_kept;
    struct hoop_part kept_out;
    struct hoop_part kept_in;
};

struct legs {
    uint32_t n_legs;
    struct leg legs[HOOP_MAX_STEPS];
    struct stay last;
    size_t counts[N_ROOMS]; /* elements that the two buffers must hold */
    bool is_local;          /* no leg has a crossing, on any rank */
};

/* legs is zeroed memory of the caller's, who gives it to legs_deinit(), also
 * after a failure; redistribution is borrowed for its life. place's step says
 * nothing. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
legs_init(struct legs *legs,
          const struct crossing_place *place,
          enum hoop_dtype dtype);
void
legs_deinit(struct legs *legs);

#endif
