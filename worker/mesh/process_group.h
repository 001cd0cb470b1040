/* mesh/process_group.h - what tensors need of a process group */

#ifndef MESH_PROCESS_GROUP_H
#define MESH_PROCESS_GROUP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/process_group.h"
#include "hoop/sharding.h"
#include "hoop/status.h"

struct group_meshes;

/* Returns the meshes of the group's tensors (mesh/process_group.h). */
struct group_meshes *
process_group_meshes(hoop_pg_t *group);

/*
 * The functions are pure. A place is an index into the ascending list of
 * ranks. A row is tp consecutive places; a column has the places at one
 * position of every row.
 */

struct degrees {
    uint32_t tp; /* ranks in a row; number of columns */
    uint32_t dp; /* ranks in a column; number of rows */
};

/* Completes the degrees for n_ranks ranks, 1 or more. A degree of 0 is not
 * given; if neither is, tp is 1.
 * Handle: HOOP_E_INVALID (a degree does not divide n_ranks; both are given and
 * their product is not n_ranks). */
enum hoop_status
degrees_fill_missing(const struct degrees *given,
                     uint32_t n_ranks,
                     struct degrees *out_degrees);

/* Return the position of a place in its row, and in its column. */
uint32_t
degrees_tp_rank(const struct degrees *degrees, uint32_t place);
uint32_t
degrees_dp_rank(const struct degrees *degrees, uint32_t place);

/* Returns the first place of the row; the others follow it. */
uint32_t
degrees_row_first_place(const struct degrees *degrees, uint32_t place);
/* Returns the n-th place of the column. */
uint32_t
degrees_column_nth_place(const struct degrees *degrees,
                         uint32_t place,
                         uint32_t n);

/*
 * The first axis of such a mesh is the rows of tensor parallelism; the other
 * axes divide a row. There is one mesh for each list of sizes, so that
 * tensors with equal layouts share communicators.
 */

struct group_mesh;

struct group_meshes {
    hoop_pg_t *group;        /* the group that owns the meshes */
    hoop_session_t *session; /* borrowed, as is ranks */
    const uint32_t *ranks;
    uint32_t n_rows;
    uint32_t n_columns;
    pthread_mutex_t lock;
    LIST_HEAD(, group_mesh) list; /* protected by lock */
};

/* Returns the mesh with the axis "data" followed by the axes of row, whose
 * sizes multiply to n_columns. It is created on first use. It is borrowed and
 * lives as long as meshes.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 * Thread: any. */
enum hoop_status
group_mesh_get_or_create(struct group_meshes *meshes,
                         const struct hoop_mesh_shape *row,
                         hoop_mesh_t **out_mesh);

/* Returns whether the mesh is one of these or could be: it has the same ranks
 * and a first axis "data" with as many rows. */
bool
group_mesh_has_same_ranks(const struct group_meshes *meshes,
                          const hoop_mesh_t *mesh);

#endif
