/* hoop/mesh.h - ranks laid out as a grid with named axes
 *
 * Data, pipeline and tensor parallel are axes of one grid: every rank has a
 * coordinate on each, and ranks that differ on one axis only form a
 * communicator. The last axis varies fastest: its neighbours are neighbours in
 * the list of ranks, which tensor parallelism wants to be on one node.
 * torch's DeviceMesh, ColossalAI's device mesh.
 */

#ifndef HOOP_MESH_H
#define HOOP_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_mesh hoop_mesh_t;

enum {
    HOOP_MAX_AXES = 8
};

/* As an axis: there is none of that name. */
#define HOOP_NO_AXIS UINT32_MAX

struct hoop_mesh_axis {
    const char *name; /* up to 31 letters, each name once */
    uint32_t size;    /* at least 1 */
};

/* Outermost axis first. */
struct hoop_mesh_options {
    const struct hoop_mesh_axis *axes; /* [n_axes] */
    uint32_t n_axes;                   /* 1 to HOOP_MAX_AXES */
    /* World ranks, row-major, each once, as many as the sizes' product; NULL:
     * 0, 1, ... */
    const uint32_t *ranks;
};

/*
 * A mesh of ranks of session's world. It communicates with nobody: the
 * communicators are formed when they are asked for. A process that is not in
 * the mesh may have one, too, and is no member of its communicators.
 *
 * options is borrowed for the call. *out_mesh is the caller's, who gives it to
 * hoop_mesh_free(), before hoop_leave(). It borrows the session.
 *
 * Handle: HOOP_E_INVALID (no axis or too many, a size of 0, a name that is
 * missing or there twice, a rank out of range or there twice, more ranks than
 * the world has), HOOP_E_EXHAUSTED. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_mesh_create(hoop_session_t *session,
                 const struct hoop_mesh_options *options,
                 hoop_mesh_t **out_mesh);

/* Frees its communicators, too, as hoop_comm_free() does. NULL is fine.
 * Thread: any, when no other uses the mesh. */
HOOP_API void
hoop_mesh_free(hoop_mesh_t *mesh);

/* How many axes, and how long one is; 0: no such axis, mesh is NULL.
 * Thread (all up to hoop_mesh_rank()): any. */
HOOP_API uint32_t
hoop_mesh_n_axes(const hoop_mesh_t *mesh);
HOOP_API uint32_t
hoop_mesh_axis_size(const hoop_mesh_t *mesh, uint32_t axis);

/* The axis of that name, or HOOP_NO_AXIS. */
HOOP_API uint32_t
hoop_mesh_find_axis(const hoop_mesh_t *mesh, const char *name);

/* Where the caller stands on an axis. HOOP_NO_RANK: not in the mesh, no such
 * axis. */
HOOP_API uint32_t
hoop_mesh_coordinate(const hoop_mesh_t *mesh, uint32_t axis);

/* The world rank at coordinates[n_axes]; HOOP_NO_RANK: there is none. */
HOOP_API uint32_t
hoop_mesh_rank(const hoop_mesh_t *mesh, const uint32_t *coordinates);

/*
 * The communicator of the ranks that differ from the caller on axes[n_axes] at
 * most, in the order of their coordinates, those on axes[0] counting most. No
 * axes: the caller alone. The first call waits for the other members, as
 * hoop_comm_create() does; later ones return the same. Members ask for their
 * communicators in the same order where one thread asks for several, and say
 * the axes in the same order.
 *
 * Borrowed: *out_comm lives as long as the mesh, which frees it.
 * Handle: HOOP_E_INVALID (NULL, no such axis, one twice), and as
 * hoop_comm_create(). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_mesh_comm(hoop_mesh_t *mesh,
               const uint32_t *axes,
               uint32_t n_axes,
               hoop_comm_t **out_comm);

HOOP_END

#endif
