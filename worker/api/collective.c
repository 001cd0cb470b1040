/*
 * api/collective.c - the code that all collectives share
 *
 * Also the public calls that only forward to the base layer: names, sizes and
 * interrupts.
 */

#include "api/collective.h"

#include <stdint.h>

#include "hoop/control.h"
#include "hoop/dtype.h"
#include "hoop/group.h"
#include "hoop/init.h"
#include "hoop/interrupt.h"
#include "hoop/status.h"

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "select/tuning.h"
#include "session/comm.h"

/* The beginning of every call: is this process a member? */

enum hoop_status
comm_call_begin(const hoop_comm_t *comm, bool *out_is_member)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    *out_is_member = comm->context != NULL;
    return HOOP_OK;
}

hoop_comm_t *
comm_call_default_comm(enum hoop_status *out_status)
{
    hoop_group_t *group = hoop_default_group();
    hoop_comm_t *comm = NULL;

    *out_status = group ? hoop_group_global_comm(group, &comm)
                        : error_raise(HOOP_E_INVALID,
                                      "comm is NULL, and there is no default "
                                      "group: give a communicator, or call "
                                      "hoop_init() first");
    return comm;
}

const unsigned collective_parts[] = {
    [CALL_ALLREDUCE] = COLL_REDUCES,
    [CALL_REDUCE] = COLL_REDUCES | COLL_HAS_ROOT | COLL_RECV_AT_ROOT,
    [CALL_BROADCAST] = COLL_HAS_ROOT | COLL_SEND_AT_ROOT,
    [CALL_ALLGATHER] = COLL_RECV_ALL,
    [CALL_ALLGATHERV] = COLL_RECV_ALL | COLL_HAS_COUNTS,
    [CALL_REDUCE_SCATTER] = COLL_REDUCES | COLL_SEND_ALL,
    [CALL_REDUCE_SCATTERV] = COLL_REDUCES | COLL_SEND_ALL | COLL_HAS_COUNTS,
    [CALL_BARRIER] = COLL_NO_BUFFERS,
    [CALL_GATHER] = COLL_HAS_ROOT | COLL_RECV_AT_ROOT | COLL_RECV_ALL,
    [CALL_GATHERV] =
        COLL_HAS_ROOT | COLL_RECV_AT_ROOT | COLL_RECV_ALL | COLL_HAS_COUNTS,
    [CALL_SCATTER] = COLL_HAS_ROOT | COLL_SEND_AT_ROOT | COLL_SEND_ALL,
    [CALL_SCATTERV] =
        COLL_HAS_ROOT | COLL_SEND_AT_ROOT | COLL_SEND_ALL | COLL_HAS_COUNTS,
    [CALL_ALLTOALL] = COLL_SEND_ALL | COLL_RECV_ALL,
    [CALL_ALLTOALLV] =
        COLL_SEND_ALL | COLL_RECV_ALL | COLL_HAS_COUNTS | COLL_HAS_RECV_COUNTS,
    [CALL_SCAN] = COLL_REDUCES | COLL_IS_PREFIX,
    [CALL_EXSCAN] = COLL_REDUCES | COLL_IS_PREFIX,
    [CALL_ALLREDUCE_COALESCED] = COLL_REDUCES,
    [CALL_RECV_OBJECT] = 0,
};

/* What a collective reads and writes on this rank. */

static size_t
counts_sum(const size_t *counts, uint32_t n_counts)
{
    size_t sum = 0;

    for (uint32_t rank = 0; rank < n_counts; rank++)
        sum += counts[rank];
    return sum;
}

/* The sum of all counts, or count times the number of ranks if a buffer holds
 * every rank's block, else count. The caller has checked that it fits. */
static size_t
collective_total_count(const struct collective *collective,
                       const hoop_comm_t *comm)
{
    const uint32_t size = context_size(comm->context);
    const unsigned all = COLL_SEND_ALL | COLL_RECV_ALL;

    if (collective->counts)
        return counts_sum(collective->counts, size);
    return collective->parts & all ? collective->count * size
                                   : collective->count;
}

static void
buffers_count_elements(const struct collective *collective,
                       const hoop_comm_t *comm,
                       struct collective_buffers *buffers)
{
    const uint32_t rank = context_rank(comm->context);
    const uint32_t size = context_size(comm->context);
    const size_t total = collective_total_count(collective, comm);
    const size_t own =
        collective->counts ? collective->counts[rank] : collective->count;

    buffers->n_input = collective->parts & COLL_SEND_ALL ? total : own;
    buffers->n_output = collective->parts & COLL_RECV_ALL ? total : own;
    if (collective->recv_counts)
        buffers->n_output = counts_sum(collective->recv_counts, size);
}

/* Set only the pointers and is_in_place; the numbers of elements in buffers are
 * kept, unless a buffer does not matter on this rank. */
static void
buffers_set_pointers(const struct collective *collective,
                     const hoop_comm_t *comm,
                     struct collective_buffers *buffers)
{
    const unsigned at_root = COLL_SEND_AT_ROOT | COLL_RECV_AT_ROOT;

    buffers->input = collective->send;
    buffers->output = collective->recv;
    if (collective->send == HOOP_IN_PLACE)
        buffers->input = collective->recv;
    if (collective->recv == HOOP_IN_PLACE)
        buffers->output = (void *)(uintptr_t)collective->send;
    buffers->is_in_place = buffers->input == buffers->output;
    if (!(collective->parts & at_root) ||
        context_rank(comm->context) == collective->root)
        return;
    /* On this rank only one buffer matters: the plan must not touch the
     * other. */
    if (collective->parts & COLL_SEND_AT_ROOT) {
        buffers->input = buffers->output;
        buffers->n_input = 0;
    }
    if (collective->parts & COLL_RECV_AT_ROOT) {
        buffers->output = (void *)(uintptr_t)buffers->input;
        buffers->n_output = 0;
    }
}

struct collective_buffers
buffers_from_collective(const struct collective *collective,
                        const hoop_comm_t *comm)
{
    struct collective_buffers buffers;

    buffers_count_elements(collective, comm, &buffers);
    buffers_set_pointers(collective, comm, &buffers);
    return buffers;
}

static bool
buffers_overlap(const struct collective_buffers *buffers, enum hoop_dtype dtype)
{
    const uintptr_t input = (uintptr_t)buffers->input;
    const uintptr_t output = (uintptr_t)buffers->output;

    if (input == output || buffers->n_input == 0 || buffers->n_output == 0)
        return false;
    const size_t element_size = dtype_size(dtype);
    return input < output + buffers->n_output * element_size &&
           output < input + buffers->n_input * element_size;
}

/* Check the buffers of a call. Inlined, because every call runs it.
 * Handle: HOOP_E_INVALID (NULL, both in place, overlapping). */
__attribute__((always_inline)) static inline enum hoop_status
buffers_check(const struct collective *collective,
              const hoop_comm_t *comm,
              const struct collective_buffers *buffers)
{
    if (collective->parts & COLL_NO_BUFFERS)
        return HOOP_OK;
    if (collective->send == HOOP_IN_PLACE && collective->recv == HOOP_IN_PLACE)
        return error_raise(HOOP_E_INVALID,
                           "send and recv cannot both be HOOP_IN_PLACE");
    if (!buffers->input && buffers->n_input > 0)
        return error_raise(HOOP_E_INVALID, "send is NULL on rank %u",
                           context_rank(comm->context));
    if (!buffers->output && buffers->n_output > 0)
        return error_raise(HOOP_E_INVALID, "recv is NULL on rank %u",
                           context_rank(comm->context));
    if (buffers_overlap(buffers, collective->dtype))
        return error_raise(HOOP_E_INVALID,
                           "send and recv overlap on rank %u and are not the "
                           "same: use HOOP_IN_PLACE or two buffers",
                           context_rank(comm->context));
    return HOOP_OK;
}

/* Public calls that only forward: names, sizes, interrupts. */

size_t
hoop_dtype_size(enum hoop_dtype dtype)
{
    return dtype_size(dtype);
}

const char *
hoop_dtype_name(enum hoop_dtype dtype)
{
    return dtype_name(dtype);
}

const char *
hoop_reduce_op_name(enum hoop_reduce_op op)
{
    return reduce_op_name(op);
}

void
hoop_escape(const char *text, char *out, size_t n_bytes)
{
    if (out && n_bytes > 0)
        escape_text(text ? text : "", out, n_bytes);
}

struct hoop_interrupt
hoop_set_interrupt(hoop_interrupt_check_t *check, void *context)
{
    return interrupt_set(check, context);
}

/* Check a call, convert it to the engine's request, and run it. */

const struct algorithm *
select_algorithm(const struct hoop_comm *comm,
                 enum call_name name,
                 size_t n_bytes)
{
    const struct algorithm *algorithm =
        tuning_find_algorithm(comm->tuning, name, n_bytes);

    log_debug("coll", "%s of %zu bytes by %s", call_name_to_string(name),
              n_bytes, algorithm->name);
    return algorithm;
}

enum {
    /* Blocks that the library cuts begin on cache lines. */
    GRANULE_BYTES = 64,
    /* Calls of fewer elements, over all ranks, are not worth a loss of
     * precision. */
    LOSSY_CODEC_MIN_ELEMENTS = 4096,
};

static enum hoop_status
collective_check_dtype(const struct collective *collective)
{
    if (dtype_size(collective->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)collective->dtype);
    if (!(collective->parts & COLL_REDUCES))
        return HOOP_OK;
    /* Integers support every operator. */
    if (!reduction_find(HOOP_INT32, collective->op))
        return error_raise(HOOP_E_INVALID,
                           "reduce operator %d is not known to hoop",
                           (int)collective->op);
    if (!reduction_find(collective->dtype, collective->op))
        return error_raise(HOOP_E_INVALID, "%s of %s has no meaning",
                           reduce_op_name(collective->op),
                           dtype_name(collective->dtype));
    if ((collective->parts & COLL_IS_PREFIX) && collective->op == HOOP_AVG)
        return error_raise(HOOP_E_INVALID,
                           "a scan has no avg: use HOOP_SUM and divide by the "
                           "number of ranks that went in");
    return HOOP_OK;
}

/* Check that the sum of all counts, in bytes, fits an int64_t and a size_t. */
static enum hoop_status
check_counts_sum(const struct collective *collective,
                 const size_t *counts,
                 uint32_t size)
{
    const unsigned all = COLL_SEND_ALL | COLL_RECV_ALL;
    size_t total = 0;
    size_t n_bytes;

    if (counts) {
        for (uint32_t rank = 0; rank < size; rank++) {
            if (__builtin_add_overflow(total, counts[rank], &total))
                return error_raise(HOOP_E_INVALID,
                                   "the counts add up to more than 2^64");
        }
    } else if (__builtin_mul_overflow(collective->count,
                                      collective->parts & all ? size : 1,
                                      &total)) {
        return error_raise(HOOP_E_INVALID, "%zu elements of %u ranks overflow",
                           collective->count, size);
    }
    if (__builtin_mul_overflow(total, dtype_size(collective->dtype),
                               &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID, "%zu elements of %s are too many",
                           total, dtype_name(collective->dtype));
    return HOOP_OK;
}

static enum hoop_status
collective_check_counts(const struct collective *collective,
                        const hoop_comm_t *comm)
{
    const uint32_t size = context_size(comm->context);
    const uint32_t rank = context_rank(comm->context);
    const size_t *recv_counts = collective->recv_counts;

    if ((collective->parts & COLL_HAS_COUNTS) && !collective->counts)
        return error_raise(HOOP_E_INVALID, "counts is NULL");
    enum hoop_status status =
        check_counts_sum(collective, collective->counts, size);
    if (status != HOOP_OK || !(collective->parts & COLL_HAS_RECV_COUNTS))
        return status;
    if (!recv_counts)
        return error_raise(HOOP_E_INVALID, "recv_counts is NULL");
    if (collective->counts[rank] != recv_counts[rank])
        return error_raise(HOOP_E_INVALID,
                           "rank %u sends %zu elements to itself, but receives "
                           "%zu from itself",
                           rank, collective->counts[rank], recv_counts[rank]);
    status = check_counts_sum(collective, recv_counts, size);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
collective_check_root(const struct collective *collective,
                      const hoop_comm_t *comm)
{
    const uint32_t size = context_size(comm->context);

    if ((collective->parts & COLL_HAS_ROOT) && collective->root >= size)
        return error_raise(HOOP_E_INVALID,
                           "root %u is not below the communicator's size, %u",
                           collective->root, size);
    return HOOP_OK;
}

enum hoop_status
collective_check(const struct collective *collective, const hoop_comm_t *comm)
{
    enum hoop_status status = collective_check_root(collective, comm);

    if (status == HOOP_OK && !(collective->parts & COLL_NO_BUFFERS))
        status = collective_check_dtype(collective);
    if (status == HOOP_OK && !(collective->parts & COLL_NO_BUFFERS))
        status = collective_check_counts(collective, comm);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct collective_buffers buffers =
        buffers_from_collective(collective, comm);
    status = buffers_check(collective, comm, &buffers);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct call
call_from_collective(const struct collective *collective,
                     const hoop_comm_t *comm)
{
    struct call call = {
        .name = collective->name,
        .dtype = collective->dtype,
        .reduce_op = collective->op,
        .root = collective->root,
        .count = collective->count,
        .counts = collective->agreed,
        .n_counts = collective->n_agreed,
    };

    if (collective->counts)
        call.count = collective_total_count(collective, comm);
    /* In an alltoallv the counts concern pairs of ranks, so they are not
     * compared. */
    if (collective->counts && !collective->recv_counts && !collective->agreed) {
        call.counts = collective->counts;
        call.n_counts = context_size(comm->context);
    }
    return call;
}

/* Whether the call may use a lossy codec (HOOP_WIRE_DTYPE): reductions and
 * gathers of float32. */
static bool
can_use_lossy_codec(enum call_name name)
{
    return name == CALL_ALLREDUCE || name == CALL_ALLREDUCE_COALESCED ||
           name == CALL_REDUCE || name == CALL_REDUCE_SCATTER ||
           name == CALL_REDUCE_SCATTERV || name == CALL_ALLGATHER ||
           name == CALL_ALLGATHERV || name == CALL_GATHER ||
           name == CALL_GATHERV;
}

/* Whether the call may use 8-bit blocks: error feedback can compensate losses
 * in sums only. */
static bool
can_quantize_int8(const struct collective *collective)
{
    return collective->name != CALL_REDUCE &&
           (collective->parts & COLL_REDUCES) &&
           (collective->op == HOOP_SUM || collective->op == HOOP_AVG);
}

static enum codec_loss
collective_lossy_codec(const struct collective *collective,
                       const hoop_comm_t *comm)
{
    const enum codec_loss loss = tuning_codec_loss(comm->tuning);

    if (collective->dtype != HOOP_FLOAT32 ||
        !can_use_lossy_codec(collective->name) ||
        context_size(comm->context) == 1 ||
        collective_total_count(collective, comm) < LOSSY_CODEC_MIN_ELEMENTS)
        return LOSS_NONE;
    if (loss == LOSS_INT8 && !can_quantize_int8(collective))
        return LOSS_NONE;
    return loss;
}

/* With these algorithms each rank rounds its values once and knows the error,
 * which error feedback needs. */
static void
request_use_pairwise(struct engine_collective *request)
{
    const bool is_scatter = request->call.name == CALL_REDUCE_SCATTER ||
                            request->call.name == CALL_REDUCE_SCATTERV;

    request->algorithm = is_scatter ? &algorithm_reduce_scatter_pairwise
                                    : &algorithm_allreduce_pairwise;
    request->shape.granule = LOSS_BLOCK;
}

static struct plan_shape
plan_shape_from_collective(const struct collective *collective,
                           const hoop_comm_t *comm)
{
    const bool is_barrier = collective->parts & COLL_NO_BUFFERS;
    const size_t element_size = is_barrier ? 1 : dtype_size(collective->dtype);
    const size_t granule = GRANULE_BYTES / element_size;
    const struct plan_shm_region shm_region =
        context_plan_shm_region(comm->context);

    return (struct plan_shape){
        .rank = context_rank(comm->context),
        .size = context_size(comm->context),
        .root = collective->root,
        .count = collective->count,
        .counts = collective->counts,
        .recv_counts = collective->recv_counts,
        .granule = granule > 0 ? granule : 1,
        .nodes = tuning_nodes(comm->tuning),
        .slot_capacity = shm_region.slot_capacity / element_size,
        .has_cma = shm_region.has_cma,
    };
}

struct engine_collective
collective_to_engine_request(const struct collective *collective,
                             const hoop_comm_t *comm)
{
    const struct collective_buffers buffers =
        buffers_from_collective(collective, comm);
    const enum call_name like =
        collective->like == CALL_UNKNOWN ? collective->name : collective->like;
    const size_t n_bytes = collective_total_count(collective, comm) *
                           dtype_size(collective->dtype);
    struct engine_collective request = {
        .call = call_from_collective(collective, comm),
        .algorithm = select_algorithm(comm, like, n_bytes),
        .shape = plan_shape_from_collective(collective, comm),
        .place = collective->place,
        .input = buffers.input,
        .output = buffers.output,
        .loss = collective_lossy_codec(collective, comm),
        .chain = collective->chain,
    };

    request.shape.is_in_place = buffers.is_in_place;
    /* Shared-memory plans send nothing: every rank reads the others' data. */
    if (request.algorithm->is_shm)
        request.loss = LOSS_NONE;
    if (request.loss == LOSS_INT8)
        request_use_pairwise(&request);
    return request;
}

static enum hoop_status
collective_check_and_start(const struct collective *collective,
                           hoop_comm_t *comm,
                           struct op **out_op)
{
    struct chain chain = collective->chain;
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status == HOOP_OK && is_member)
        status = collective_check(collective, comm);
    if (status == HOOP_OK && is_member) {
        const struct engine_collective request =
            collective_to_engine_request(collective, comm);

        return engine_start_collective(comm->context, &request, out_op);
    }
    op_chain_deinit(&chain);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = engine_null_op();
    return HOOP_OK;
}

enum hoop_status
collective_start(const struct collective *collective,
                 hoop_comm_t *comm,
                 hoop_op_t **out_op)
{
    struct chain chain = collective->chain;
    struct op *op = NULL;

    if (!error_begin_call()) {
        op_chain_deinit(&chain);
        return error_pass(HOOP_E_EXHAUSTED);
    }
    if (!out_op) {
        op_chain_deinit(&chain);
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    }
    const enum hoop_status status =
        collective_check_and_start(collective, comm, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}

/* Whether the call has only those properties that matches_cached_request()
 * compares. */
static bool
collective_is_cacheable(const struct collective *collective)
{
    return !collective->counts && !collective->agreed && !collective->place &&
           !collective->chain.owner && !collective->chain.next &&
           collective->like == CALL_UNKNOWN;
}

/* Whether the call equals the last blocking one, apart from the buffers. */
static bool
matches_cached_request(const struct collective *collective,
                       const hoop_comm_t *comm)
{
    const struct call *last = &comm->cached_request.request.call;

    return last->name == collective->name && last->count == collective->count &&
           last->dtype == collective->dtype &&
           last->reduce_op == collective->op &&
           last->root == collective->root &&
           collective_is_cacheable(collective);
}

static enum hoop_status
cached_request_run(const struct collective *collective, hoop_comm_t *comm)
{
    struct engine_collective *request = &comm->cached_request.request;
    struct collective_buffers buffers = {
        .n_input = comm->cached_request.n_input,
        .n_output = comm->cached_request.n_output};

    buffers_set_pointers(collective, comm, &buffers);
    const enum hoop_status status = buffers_check(collective, comm, &buffers);
    if (status != HOOP_OK)
        return error_pass(status);
    request->input = buffers.input;
    request->output = buffers.output;
    request->shape.is_in_place = buffers.is_in_place;
    return engine_run_collective(comm->context, request);
}

/* Keep the request of a checked call. */
static void
comm_cache_request(const struct collective *collective, hoop_comm_t *comm)
{
    const struct collective_buffers buffers =
        buffers_from_collective(collective, comm);

    comm->cached_request.request =
        collective_to_engine_request(collective, comm);
    comm->cached_request.request.mode = ENGINE_START_AND_WAIT;
    comm->cached_request.n_input = buffers.n_input;
    comm->cached_request.n_output = buffers.n_output;
}

static enum hoop_status
collective_run_checked(const struct collective *collective, hoop_comm_t *comm)
{
    if (collective_is_cacheable(collective)) {
        comm_cache_request(collective, comm);
        return engine_run_collective(comm->context,
                                     &comm->cached_request.request);
    }
    struct engine_collective request =
        collective_to_engine_request(collective, comm);
    request.mode = ENGINE_START_AND_WAIT;
    return engine_run_collective(comm->context, &request);
}

enum hoop_status
collective_run(const struct collective *collective, hoop_comm_t *comm)
{
    struct chain chain = collective->chain;
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status == HOOP_OK && is_member &&
        matches_cached_request(collective, comm))
        return cached_request_run(collective, comm);
    if (status == HOOP_OK && is_member)
        status = collective_check(collective, comm);
    if (status == HOOP_OK && is_member)
        return collective_run_checked(collective, comm);
    op_chain_deinit(&chain);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
