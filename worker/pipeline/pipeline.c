/*
 * pipeline/pipeline.c - the communicators of a pipeline, and its current chunk
 */

#include "pipeline/pipeline.h"

#include <stdlib.h>

#include "base/error.h"

enum hoop_status
hoop_pipeline_create(hoop_comm_t *stages,
                     hoop_comm_t *tensor_parallel,
                     hoop_pipeline_t **out_pipeline)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!stages || !out_pipeline)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           stages ? "out_pipeline" : "stages");
    struct hoop_pipeline *pipeline = malloc(sizeof(*pipeline));
    if (!pipeline)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a pipeline");
    *pipeline = (struct hoop_pipeline){
        .stages = stages,
        .tensor_parallel = tensor_parallel,
        .n_chunks = 1,
    };
    *out_pipeline = pipeline;
    return HOOP_OK;
}

void
hoop_pipeline_free(hoop_pipeline_t *pipeline)
{
    free(pipeline);
}

hoop_comm_t *
hoop_pipeline_comm(const hoop_pipeline_t *pipeline)
{
    return pipeline ? pipeline->stages : NULL;
}

uint32_t
hoop_pipeline_stage(const hoop_pipeline_t *pipeline)
{
    return hoop_comm_rank(hoop_pipeline_comm(pipeline));
}

uint32_t
hoop_pipeline_size(const hoop_pipeline_t *pipeline)
{
    return hoop_comm_size(hoop_pipeline_comm(pipeline));
}

/* Returns the stage that follows after distance stages, in a ring. */
static uint32_t
pipeline_stage_at_distance(const hoop_pipeline_t *pipeline, uint32_t distance)
{
    const uint64_t stage = hoop_pipeline_stage(pipeline);
    const uint32_t size = hoop_pipeline_size(pipeline);

    return size > 0 ? (uint32_t)((stage + distance) % size) : HOOP_NO_RANK;
}

uint32_t
hoop_pipeline_next(const hoop_pipeline_t *pipeline)
{
    return pipeline_stage_at_distance(pipeline, 1);
}

uint32_t
hoop_pipeline_prev(const hoop_pipeline_t *pipeline)
{
    return pipeline_stage_at_distance(pipeline,
                                      hoop_pipeline_size(pipeline) - 1);
}

bool
hoop_pipeline_is_first(const hoop_pipeline_t *pipeline)
{
    return hoop_pipeline_stage(pipeline) == 0 && pipeline->chunk == 0;
}

bool
hoop_pipeline_is_last(const hoop_pipeline_t *pipeline)
{
    const uint32_t size = hoop_pipeline_size(pipeline);

    return size > 0 && hoop_pipeline_stage(pipeline) == size - 1 &&
           pipeline->chunk == pipeline->n_chunks - 1;
}

enum hoop_status
hoop_pipeline_set_chunk(hoop_pipeline_t *pipeline,
                        uint32_t chunk,
                        uint32_t n_chunks)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline)
        return error_raise(HOOP_E_INVALID, "pipeline is NULL");
    if (chunk >= n_chunks)
        return error_raise(HOOP_E_INVALID,
                           "chunk %u is not below the number of chunks, %u",
                           chunk, n_chunks);
    pipeline->chunk = chunk;
    pipeline->n_chunks = n_chunks;
    return HOOP_OK;
}
