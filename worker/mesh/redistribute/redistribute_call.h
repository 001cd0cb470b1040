/*
 * mesh/redistribute/redistribute_call.h - one call that redistributes a tensor
 *
 * A call plans the redistribution, which also checks the arguments. Then it
 * allocates the result, forms a communicator if anything is sent, and runs the
 * steps (mesh/redistribute/redistribute_runner.h).
 */

#ifndef MESH_REDISTRIBUTE_REDISTRIBUTE_CALL_H
#define MESH_REDISTRIBUTE_REDISTRIBUTE_CALL_H

#include "hoop/op.h"

#include "mesh/dtensor.h"
#include "mesh/redistribute/redistribution.h"

struct redistribute_call_arguments {
    const struct hoop_dtensor *from;
    struct hoop_tensor_spec spec; /* layout of the result */
    enum redistribution_direction way;
    hoop_op_t **out_op; /* NULL: blocking call */
};

/* Redistributes to a new tensor, which the caller frees. Collective over the
 * ranks of both meshes. Handle (all three): HOOP_E_INVALID, on all ranks alike;
 * HOOP_E_EXHAUSTED; and as a collective. */
enum hoop_status
redistribute_call_into_new(const struct redistribute_call_arguments *call,
                           hoop_dtensor_t **out_dtensor);

/* Redistributes a tensor in place. It changes when all data have arrived, and
 * stays as it was after a failure. */
enum hoop_status
redistribute_call_in_place(const struct redistribute_call_arguments *call,
                           struct hoop_dtensor *dtensor);

/* Redistributes to memory of the caller by the rule of hoop/tensor.h. Nothing
 * is written on ranks outside the spec's mesh. */
enum hoop_status
redistribute_call_into_tensor(const struct redistribute_call_arguments *call,
                              struct hoop_tensor *out);

#endif
