/*
 * pipeline/pipeline.h - the communicators of a pipeline, and its current chunk
 */

#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include <stdint.h>

#include "hoop/pipeline.h"

struct hoop_pipeline {
    hoop_comm_t *stages;          /* borrowed, as the next */
    hoop_comm_t *tensor_parallel; /* NULL: none */
    uint32_t chunk;
    uint32_t n_chunks;
};

#endif
