/* train_3d/stage.c - computes what one stage of the pipeline does in a step */

#include "train_3d/stage.h"

#include <stdlib.h>
#include <string.h>

#include "train_3d/clock.h"
#include "train_3d/memory.h"

/* Describes a tensor of the run as a matrix. At the ends of the model there is
 * none. */
static struct matrix
stream_of(const struct hoop_tensor *tensor)
{
    if (!tensor)
        return (struct matrix){0};
    return (struct matrix){
        .at = tensor->data,
        .n_rows = tensor->shape.dims[0],
        .n_columns = tensor->shape.dims[1],
    };
}

/* Creates what a stage passes on: the stream at the rows of this rank. */
static enum hoop_status
stream_create(const struct stage *stage, struct hoop_tensor *out)
{
    const struct dimensions *dimensions = &stage->model->options.dimensions;
    const struct hoop_shape shape = {
        .n_dims = 2,
        .dims = {dimensions_rows(dimensions).count, dimensions->width},
    };

    return hoop_tensor_create(HOOP_FLOAT32, &shape, out);
}

/* Every micro-batch of every step has its own windows, whichever rank computes
 * it. */
static struct visit
visit_of(const struct stage *stage, const struct hoop_task *task)
{
    const struct dimensions *dimensions = &stage->model->options.dimensions;
    const uint64_t number = stage->first_micro_batch + task->micro_batch;

    text_cut(stage->text,
             &(struct windows){
                 .seed = dimensions->seed,
                 .first = number * dimensions->n_windows,
                 .n_positions = dimensions->n_positions,
             },
             dimensions_rows(dimensions), stage->tokens);
    return (struct visit){task->chunk, task->micro_batch, stage->tokens};
}

static enum hoop_status
on_forward(void *owner,
           const struct hoop_task *task,
           const struct hoop_tensor *input,
           struct hoop_tensor *out)
{
    struct stage *stage = owner;
    const struct visit visit = visit_of(stage, task);
    const bool has_next = !stage->model->chunks[task->chunk].is_last;
    enum hoop_status status = HOOP_OK;

    if (has_next)
        status = stream_create(stage, out);
    if (status != HOOP_OK)
        return status;
    return model_forward(stage->model, &visit, stream_of(input),
                         stream_of(has_next ? out : NULL));
}

/*
 * Outside of regions, sequence-parallel ranks have different rows. So for a
 * parameter that all of them have as a whole, such as the gain of a norm, each
 * rank has only a part of the gradient, and the parts are summed here.
 */
static enum hoop_status
whole_gradients_sum(const struct stage *stage, const struct chunk *chunk)
{
    struct region *region = &stage->model->workspace.region;
    const uint64_t begin_ns = clock_ns();
    size_t n_pieces = 0;

    for (size_t i = 0; i < chunk->n_parameters; i++) {
        const struct parameter *parameter =
            stage->model->parameters[chunk->first_parameter + i];

        if (parameter->is_whole)
            stage->pieces[n_pieces++] = (struct hoop_piece){
                .send = HOOP_IN_PLACE,
                .recv = parameter->gradient.at,
                .count = matrix_count(parameter->gradient),
            };
    }
    const enum hoop_status status = hoop_allreduce_coalesced(
        stage->pieces, n_pieces, HOOP_FLOAT32, HOOP_SUM, region->comm);

    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

/* Is called after the last backward of a chunk. The gradients are summed over
 * the replicas while other chunks and stages still compute. */
static enum hoop_status
chunk_finish(struct stage *stage, const struct chunk *chunk)
{
    enum hoop_status status = HOOP_OK;

    if (stage->model->options.dimensions.rows == ROWS_SEQUENCE_PARALLEL)
        status = whole_gradients_sum(stage, chunk);
    if (status != HOOP_OK)
        return status;
    return optimizer_ready(stage->optimizer, chunk);
}

static enum hoop_status
on_backward(void *owner,
            const struct hoop_task *task,
            const struct hoop_tensor *input,
            const struct hoop_tensor *output_grad,
            struct hoop_tensor *out_input_grad)
{
    struct stage *stage = owner;
    const struct visit visit = visit_of(stage, task);
    const struct chunk *chunk = &stage->model->chunks[task->chunk];
    enum hoop_status status = HOOP_OK;

    (void)input; /* the model has kept what it needs */
    if (!chunk->is_first)
        status = stream_create(stage, out_input_grad);
    if (status == HOOP_OK)
        status =
            model_backward(stage->model, &visit, stream_of(output_grad),
                           stream_of(chunk->is_first ? NULL : out_input_grad));
    if (status != HOOP_OK)
        return status;

    stage->n_backwards[task->chunk]++;
    if (stage->n_backwards[task->chunk] < stage->model->options.n_micro_batches)
        return HOOP_OK;
    return chunk_finish(stage, chunk);
}

static void
on_task(void *owner,
        const struct hoop_task *task,
        uint64_t begin_ns,
        uint64_t end_ns)
{
    struct stage *stage = owner;

    if (task->kind != HOOP_TASK_FORWARD && task->kind != HOOP_TASK_BACKWARD)
        return;
    timeline_add(stage->timeline,
                 &(struct event){
                     .begin_ns = begin_ns,
                     .end_ns = end_ns,
                     .kind = task->kind == HOOP_TASK_FORWARD ? EVENT_FORWARD
                                                             : EVENT_BACKWARD,
                     .micro_batch = task->micro_batch,
                     .chunk = task->chunk,
                 });
}

enum hoop_status
stage_init(struct stage *stage, enum hoop_schedule_kind schedule)
{
    const struct model_options *model = &stage->model->options;

    stage->tokens = zeros_create(dimensions_rows(&model->dimensions).count,
                                 sizeof(struct token));
    stage->pieces =
        zeros_create(stage->model->n_parameters, sizeof(struct hoop_piece));
    stage->n_backwards = zeros_create(model->n_chunks, sizeof(size_t));

    const enum hoop_status status = hoop_schedule_create(
        &(struct hoop_schedule_options){
            .kind = schedule,
            .n_stages = (uint32_t)model->n_stages,
            .n_micro_batches = (uint32_t)model->n_micro_batches,
            .n_chunks = (uint32_t)model->n_chunks,
        },
        &stage->schedule);
    if (status != HOOP_OK)
        return status;
    return hoop_pipeline_create(stage->axes->pipeline, NULL, &stage->pipeline);
}

void
stage_deinit(struct stage *stage)
{
    hoop_pipeline_free(stage->pipeline);
    hoop_schedule_free(stage->schedule);
    free(stage->tokens);
    free(stage->pieces);
    free(stage->n_backwards);
    *stage = (struct stage){0};
}

enum hoop_status
stage_run(struct stage *stage,
          uint64_t first_micro_batch,
          struct hoop_run_stats *out_stats)
{
    const struct hoop_stage_work work = {
        .forward = on_forward,
        .backward = on_backward,
        .owner = stage,
        .on_task = on_task,
    };

    stage->first_micro_batch = first_micro_batch;
    memset(stage->n_backwards, 0,
           stage->model->options.n_chunks * sizeof(size_t));
    return hoop_schedule_run(stage->schedule, stage->pipeline, &work,
                             out_stats);
}
