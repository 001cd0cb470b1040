/*
 * reshard/task.h - the tensor and the layouts that the options ask for
 *
 * The functions are pure: given the same options and number of ranks, every
 * rank gets the same task, or the same problem.
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
 * Interprets the options in a world of n_ranks. If no layouts are given, the
 * tensor goes from a mesh of A x B that has all ranks to one of B x A and to
 * one of a few ranks (3 if there are more than 3, otherwise one less than there
 * are, but at least 1). These layouts are uneven if sizes are not divisible.
 */
bool
task_make(const struct options *options,
          uint32_t n_ranks,
          struct task *out_task,
          struct problem *out_problem);

/* Returns the bytes of the whole tensor. */
uint64_t
task_n_bytes(const struct task *task);

#endif
