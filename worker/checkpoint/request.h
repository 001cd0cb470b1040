/*
 * checkpoint/request.h - the tensors that a caller wants saved or loaded
 *
 * The ranks that save or load them are those of the first tensor's mesh.
 */

#ifndef CHECKPOINT_REQUEST_H
#define CHECKPOINT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "checkpoint/manifest.h"

struct checkpoint_request {
    const struct hoop_named_dtensor *tensors;
    size_t n_tensors;
};

/*
 * Get the communicator of all ranks of mesh, in order of place. The caller may
 * not be a member of it. Borrowed from the mesh.
 * Handle: HOOP_E_INVALID (NULL), and as hoop_mesh_comm().
 */
enum hoop_status
request_comm_of_mesh(hoop_mesh_t *mesh, hoop_comm_t **out_comm);

/* request_comm_of_mesh() with the mesh of the first tensor. Handle: also
 * HOOP_E_INVALID (there are no tensors). */
enum hoop_status
request_comm_of_tensors(const struct checkpoint_request *request,
                        hoop_comm_t **out_comm);

/*
 * Describe all tensors in a manifest with one file for each rank of comm, and
 * check it.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 */
enum hoop_status
request_to_manifest(const struct checkpoint_request *request,
                    const hoop_comm_t *comm,
                    struct checkpoint_manifest **out_manifest);

#endif
