/*
 * parallel/redistribute_runner.h - a tensor taken from one layout to another
 *
 * Runs the steps of a redistribution, as one operation on one communicator:
 * what is sent in a step is a stage (engine/chain.h), and between chain
 * blocks are sorted by rank and put in their places, where they do not lie so
 * already.
 */

#ifndef PARALLEL_REDISTRIBUTE_RUNNER_H
#define PARALLEL_REDISTRIBUTE_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

#include "engine/chain.h"
#include "parallel/redistribution.h"

struct redistribute_runner_request {
    const struct redistribution *redistribution; /* borrowed as data are */
    /* The redistribution's context; NULL: nothing is sent by any rank. */
    hoop_comm_t *comm;
    uint32_t rank; /* of this process there; HOOP_NO_RANK: it is outside */
    /* Of the whole tensor; the count is for texts. */
    enum hoop_dtype dtype;
    size_t count;
    /* This rank's parts, dense, of the shapes that the redistribution says;
     * NULL, or without data, where it has none. The two do not overlap, unless
     * they are one and nothing changes. The structs are borrowed for the call,
     * data until the operation has been waited for. */
    const struct hoop_tensor *from;
    const struct hoop_tensor *to;
    /* finish when *to is complete, destroy however it ended, once each; without
     * next. Taken, also when the call fails. */
    struct chain hooks;
};

/*
 * Collective over comm. Where nothing is sent by any rank, or this process is
 * outside, there is nothing to wait for: the start does it all, hooks included.
 * What is in *to after a failure is unspecified.
 *
 * Handle: HOOP_E_EXHAUSTED (two buffers to sort blocks in).
 * Thread: as a collective of comm.
 */
enum hoop_status
redistribute_runner_run(const struct redistribute_runner_request *request);
enum hoop_status
redistribute_runner_start(const struct redistribute_runner_request *request,
                          hoop_op_t **out_op);

#endif
