/*
 * mesh/redistribute/redistribute_runner.h - runs the steps of a redistribution
 *
 * All steps are one operation on one communicator. Each step that sends is a
 * stage of a chain (engine/op_run.c). Between stages blocks are packed by rank
 * and unpacked to their places, unless they are already where they must be.
 */

#ifndef MESH_REDISTRIBUTE_REDISTRIBUTE_RUNNER_H
#define MESH_REDISTRIBUTE_REDISTRIBUTE_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

#include "engine/engine.h"
#include "mesh/redistribute/redistribution.h"

struct redistribute_runner_request {
    /* borrowed as long as data are */
    const struct redistribution *redistribution;
    /* The context of the redistribution. NULL if no rank sends anything. */
    hoop_comm_t *comm;
    uint32_t rank; /* of this process in comm */
    /* Of the whole tensor. The count is for error texts. */
    enum hoop_dtype dtype;
    size_t count;
    /* This rank's dense parts, in the shapes of the redistribution. NULL, or
     * without data, where it has none. They must not overlap, unless they are
     * the same and nothing changes. The structs are borrowed for the call, the
     * data until the operation has been waited for. */
    const struct hoop_tensor *from;
    const struct hoop_tensor *to;
    /* finish is called when *to is complete, destroy however the operation
     * ended, each once. next is not used. The runner takes the owner, even if
     * the call fails. */
    struct chain hooks;
};

/* Runs a redistribution, collective over comm. If out_op is not NULL, it only
 * starts it; but if no rank sends anything, even the start does everything,
 * hooks included. After a failure the content of *to is unspecified.
 * Handle: HOOP_E_EXHAUSTED (memory for packing), and as a collective.
 * Thread: as a collective of comm. */
enum hoop_status
redistribute_runner_run(const struct redistribute_runner_request *request,
                        hoop_op_t **out_op);

#endif
