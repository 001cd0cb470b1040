/* hoop/gradients.h - data parallel: reducing gradients during backward
 *
 * Gradients are packed into buckets of about one size, in the reverse of the
 * order in which they are listed, as backward produces them. A bucket is
 * reduced as soon as all of its gradients are ready, in the background, while
 * the caller computes. Gradients may become ready in any order, on each rank
 * another: buckets are started in one order everywhere. torch's
 * DistributedDataParallel.
 *
 * A step is one hoop_gradients_ready() for each gradient, then
 * hoop_gradients_wait(). No other collective may be called on the communicator
 * within a step: ranks may be at different buckets. In the first step the first
 * bucket goes alone, until it is known that all ranks have listed the same.
 */

#ifndef HOOP_GRADIENTS_H
#define HOOP_GRADIENTS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

typedef struct hoop_gradients hoop_gradients_t;

struct hoop_gradients_options {
    hoop_comm_t *comm;      /* data parallel ranks; borrowed for life */
    enum hoop_reduce_op op; /* HOOP_AVG, HOOP_SUM */
    size_t bucket_bytes;    /* 0: 25 MiB; a larger gradient is alone */
};

/*
 * gradients: dense, of one dtype, the same shapes in the same order on all
 * ranks, as are the options; their data is borrowed for life, the list for the
 * call. *out_gradients is the caller's, for hoop_gradients_free(). No
 * communication. Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gradients_create(const struct hoop_tensor *gradients,
                      size_t n_gradients,
                      const struct hoop_gradients_options *options,
                      hoop_gradients_t **out_gradients);

/* Waits for the buckets under way. NULL is fine. */
HOOP_API void
hoop_gradients_free(hoop_gradients_t *gradients);

/* Thread: any. */
HOOP_API size_t
hoop_gradients_n_buckets(const hoop_gradients_t *gradients);

/*
 * Gradient index is ready: its data is read now or later, and not to be touched
 * until hoop_gradients_wait(), which also tells what fails in reducing. Starts
 * what is full and in turn; does not wait for other ranks.
 * Handle: HOOP_E_INVALID (no such gradient, ready already: which),
 * HOOP_E_PRECONDITION (an earlier step failed). Thread: any, one call at a time.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gradients_ready(hoop_gradients_t *gradients, size_t index);

/*
 * End a step: wait for all buckets and put the results where the gradients
 * were. The next step may begin. After a failure the gradients' content is
 * unspecified, and there is no next step: free them. When ranks listed
 * different gradients, that is HOOP_E_MISMATCH on each, once, and the
 * communicator goes on.
 *
 * Handle: HOOP_E_PRECONDITION (the text says which gradients are not ready: the
 * step goes on; or an earlier step failed), and as hoop_allreduce().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gradients_wait(hoop_gradients_t *gradients);

HOOP_END

#endif
