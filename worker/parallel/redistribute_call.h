/*
 * parallel/redistribute_call.h - a distributed tensor laid out anew, once
 *
 * Planned, which is the check as well; then room for what arrives, and a
 * communicator where something is sent; then parallel/redistribute_runner.h runs it.
 */

#ifndef PARALLEL_REDISTRIBUTE_CALL_H
#define PARALLEL_REDISTRIBUTE_CALL_H

#include "hoop/op.h"

#include "parallel/dtensor.h"
#include "parallel/redistribution.h"

struct redistribute_call_request {
    const struct hoop_dtensor *from;
    struct hoop_tensor_spec spec; /* of what arrives */
    enum redistribution_way way;
    hoop_op_t **out_op; /* NULL: the blocking form */
};

/* To a new tensor. Handle (all three): HOOP_E_INVALID, on all ranks alike;
 * HOOP_E_EXHAUSTED; and as a collective. */
enum hoop_status
redistribute_call_begin(const struct redistribute_call_request *call,
                        hoop_dtensor_t **out_dtensor);

/* To the tensor that it comes from, when all has arrived. */
enum hoop_status
redistribute_call_return(const struct redistribute_call_request *call,
                         struct hoop_dtensor *dtensor);

/* To memory of the caller's, by the rule of hoop/tensor.h; nothing is written
 * outside the spec's mesh. */
enum hoop_status
redistribute_call_deliver(const struct redistribute_call_request *call,
                          struct hoop_tensor *out);

#endif
