/* pipeline/tensor_meta.c - sends the shape of a tensor as two messages */

#include "api/tags.h"
#include "api/tensor_message.h"
#include "base/error.h"
#include "pipeline/pipe_tag.h"
#include "pipeline/pipeline.h"
#include "tensor/shape.h"

/* The other stage, and the tag of the lane. */
struct meta_peer_and_tag {
    uint32_t peer;
    uint64_t tag;
};

static enum hoop_status
meta_route_choose(const hoop_pipeline_t *pipeline,
                  const struct hoop_pipe_options *options,
                  enum hoop_message_kind kind,
                  struct meta_peer_and_tag *out_way)
{
    const bool is_send = kind == HOOP_SEND;
    const uint32_t *rank = NULL;

    if (options)
        rank = is_send ? options->next : options->prev;
    if (options && options->lane >= PIPE_LANES)
        return error_raise(HOOP_E_INVALID, "lane %u is not below %u",
                           options->lane, PIPE_LANES);
    out_way->tag = tag_of_library_part(TAG_META, options ? options->lane : 0);
    if (rank)
        out_way->peer = *rank;
    else
        out_way->peer = is_send ? hoop_pipeline_next(pipeline)
                                : hoop_pipeline_prev(pipeline);
    return HOOP_OK;
}

static struct hoop_tensor
int64_scalar_tensor(int64_t *at)
{
    return (struct hoop_tensor){.data = at, .dtype = HOOP_INT64};
}

static struct hoop_tensor
int64_vector_tensor(int64_t *at, uint32_t n)
{
    return (struct hoop_tensor){
        .data = at,
        .dtype = HOOP_INT64,
        .shape = {.n_dims = 1, .dims = {n}},
    };
}

static struct tensor_message
meta_message_of_tensor(enum hoop_message_kind kind,
                       const struct meta_peer_and_tag *meta_peer_and_tag,
                       struct hoop_tensor *tensor)
{
    return (struct tensor_message){
        .kind = kind,
        .tensor = tensor,
        .peer = meta_peer_and_tag->peer,
        .tag = meta_peer_and_tag->tag,
    };
}

static enum hoop_status
shape_send(const struct hoop_shape *shape,
           const struct meta_peer_and_tag *meta_peer_and_tag,
           hoop_comm_t *stages)
{
    int64_t n_dims = shape->n_dims;
    int64_t dims[HOOP_MAX_DIMS];

    for (uint32_t i = 0; i < shape->n_dims; i++)
        dims[i] = (int64_t)shape->dims[i];
    struct hoop_tensor first = int64_scalar_tensor(&n_dims);
    struct hoop_tensor second = int64_vector_tensor(dims, shape->n_dims);
    const struct tensor_message messages[] = {
        meta_message_of_tensor(HOOP_SEND, meta_peer_and_tag, &first),
        meta_message_of_tensor(HOOP_SEND, meta_peer_and_tag, &second),
    };
    return tensor_message_run(messages, 2, stages);
}

static enum hoop_status
shape_receive(const struct meta_peer_and_tag *meta_peer_and_tag,
              hoop_comm_t *stages,
              struct hoop_shape *out_shape)
{
    int64_t n_dims = 0;
    int64_t dims[HOOP_MAX_DIMS];
    struct hoop_tensor first = int64_scalar_tensor(&n_dims);
    const struct tensor_message one =
        meta_message_of_tensor(HOOP_RECV, meta_peer_and_tag, &first);
    enum hoop_status status = tensor_message_run(&one, 1, stages);

    if (status != HOOP_OK)
        return error_pass(status);
    /* A wrong number is accepted first, and its second message received, so
     * that the next receive does not match that one. */
    const bool is_right = n_dims >= 0 && n_dims <= HOOP_MAX_DIMS;
    struct hoop_tensor second =
        is_right ? int64_vector_tensor(dims, (uint32_t)n_dims)
                 : (struct hoop_tensor){.shape = {.n_dims = HOOP_ANY_SHAPE}};
    struct tensor_message other =
        meta_message_of_tensor(HOOP_RECV, meta_peer_and_tag, &second);
    struct hoop_tensor unwanted = {0};
    other.received = is_right ? NULL : &unwanted;
    status = tensor_message_run(&other, 1, stages);
    hoop_tensor_free(&unwanted);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_right)
        return error_raise(HOOP_E_MISMATCH,
                           "stage %u tells of a tensor of %lld dimensions, but "
                           "one has at most %d",
                           meta_peer_and_tag->peer, (long long)n_dims,
                           HOOP_MAX_DIMS);

    struct hoop_shape shape = {.n_dims = (uint32_t)n_dims};
    size_t count;
    for (uint32_t i = 0; i < shape.n_dims; i++)
        shape.dims[i] = (size_t)dims[i];
    if (shape_count(&shape, &count) != HOOP_OK)
        return error_raise(HOOP_E_MISMATCH, "stage %u tells of a shape: %s",
                           meta_peer_and_tag->peer, error_text());
    *out_shape = shape;
    return HOOP_OK;
}

enum hoop_status
hoop_send_tensor_meta(hoop_pipeline_t *pipeline,
                      const struct hoop_tensor *tensor,
                      bool *need_meta,
                      const struct hoop_pipe_options *options)
{
    struct meta_peer_and_tag meta_peer_and_tag;
    size_t count;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline || !tensor || !need_meta)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !pipeline ? "pipeline"
                           : !tensor ? "tensor"
                                     : "need_meta");
    if (!hoop_comm_is_member(pipeline->stages) || !*need_meta)
        return HOOP_OK;
    enum hoop_status status = shape_count(&tensor->shape, &count);
    if (status == HOOP_OK)
        status =
            meta_route_choose(pipeline, options, HOOP_SEND, &meta_peer_and_tag);
    if (status == HOOP_OK)
        status =
            shape_send(&tensor->shape, &meta_peer_and_tag, pipeline->stages);
    if (status != HOOP_OK)
        return error_pass(status);
    *need_meta = false;
    return HOOP_OK;
}

enum hoop_status
hoop_recv_tensor_meta(hoop_pipeline_t *pipeline,
                      const struct hoop_shape *known,
                      const struct hoop_pipe_options *options,
                      struct hoop_shape *out_shape)
{
    struct meta_peer_and_tag meta_peer_and_tag;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline || !out_shape)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           pipeline ? "out_shape" : "pipeline");
    if (!hoop_comm_is_member(pipeline->stages))
        return HOOP_OK;
    if (known && known->n_dims != HOOP_ANY_SHAPE) {
        *out_shape = *known;
        return HOOP_OK;
    }
    enum hoop_status status =
        meta_route_choose(pipeline, options, HOOP_RECV, &meta_peer_and_tag);
    if (status == HOOP_OK)
        status = shape_receive(&meta_peer_and_tag, pipeline->stages, out_shape);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
