/*
 * core/ending.h - jobs that were
 *
 * A name is free again when its job has ended. That the last jobs were is
 * remembered in a ring: for operators, and to tell a late worker that the
 * others have been here and given up.
 */

#ifndef CORE_ENDING_H
#define CORE_ENDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct ending {
    char name[LIMIT_NAME];
    uint64_t when_ns;
    uint64_t epoch; /* of its world; 0: it never formed */
    uint32_t size;  /* of the world, formed or not */
    uint32_t n_joined;
    uint32_t n_left;
    uint32_t n_lost;
};

/* Zeroed: none. */
struct endings {
    struct ending ring[LIMIT_JOB_ENDINGS];
    size_t n_added;
};

void
endings_add(struct endings *endings, const struct ending *ending);

/* How many are remembered. */
size_t
endings_count(const struct endings *endings);

/* 0 is the last one. */
const struct ending *
endings_at(const struct endings *endings, size_t index);

/* The last of this name, or NULL. */
const struct ending *
endings_find(const struct endings *endings, const char *name);

#endif
