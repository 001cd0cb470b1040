/*
 * checkpoint/request.h - tensors that a caller wants saved or loaded
 *
 * And the ranks that are to do it: those of the mesh of the first.
 */

#ifndef CHECKPOINT_REQUEST_H
#define CHECKPOINT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "checkpoint/manifest.h"

struct request {
    const struct hoop_named_dtensor *tensors;
    size_t n_tensors;
};

/*
 * The communicator of all ranks of mesh, by place; the caller may be no member.
 * Borrowed from it. Handle: HOOP_E_INVALID (NULL), and as hoop_mesh_comm().
 */
enum hoop_status
request_comm(hoop_mesh_t *mesh, hoop_comm_t **out_comm);

/* ... of the mesh of the first tensor. Also HOOP_E_INVALID: there is none. */
enum hoop_status
request_comm_of(const struct request *request, hoop_comm_t **out_comm);

/*
 * All tensors as a manifest, of a file for each rank of comm, checked.
 * Handle: HOOP_E_INVALID.
 */
enum hoop_status
request_describe(const struct request *request,
                 const hoop_comm_t *comm,
                 struct manifest **out_manifest);

#endif
