/*
 * engine/shm_reduce.h - executes the steps of a shared-memory round that follow
 * its posts
 *
 * Private to engine/. Thread: the progress owner's, or that of the inline path.
 */

#ifndef ENGINE_SHM_REDUCE_H
#define ENGINE_SHM_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/op.h"

enum {
    SHM_DIRECT_LINE_BYTES = PLAN_EXPOSED_MAX * sizeof(uint64_t)
};

/* Returns whether step reads a post. */
static inline bool
step_reads_post(const struct plan_step *step)
{
    return step->kind == PLAN_FETCH || step->kind == PLAN_FETCH_REDUCE;
}

/* Do the steps that follow the posts, once all peers have published. */
enum hoop_status
shm_reduce_run(struct op *op);

/* Write the addresses of the buffers exposed in this round into a line. Returns
 * the number of bytes exposed. */
size_t
shm_direct_publish_addresses(const struct op *op, uint8_t *line);

#endif
