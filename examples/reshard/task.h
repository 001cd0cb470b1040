/*
 * reshard/task.h - what is asked for: a tensor, and how it is to lie
 *
 * Pure: from the same options and number of ranks every rank makes the same
 * task, or finds the same problem.
 */

#ifndef RESHARD_TASK_H
#define RESHARD_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "reshard/layout.h"
#include "reshard/options.h"
#include "reshard/problem.h"

struct task {
    enum hoop_dtype dtype;
    struct hoop_shape shape;
    struct layout from;
    struct layout to[TARGETS_MAX];
    size_t n_to;
};

/*
 * What options mean in a world of n_ranks. Layouts that are not said: from A x B
 * ranks, all of them, to B x A and to a few (3 of more than 3, else one less
 * than there are); uneven where sizes are not divisible.
 */
bool
task_make(const struct options *options,
          uint32_t n_ranks,
          struct task *out_task,
          struct problem *out_problem);

/* Bytes of the whole tensor. */
uint64_t
task_n_bytes(const struct task *task);

#endif
