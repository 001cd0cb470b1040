/* core/ending.c - the ring of the last jobs that ended */

#include "core/ending.h"

#include <assert.h>
#include <string.h>

void
endings_add(struct endings *endings, const struct ending *ending)
{
    endings->ring[endings->n_added % LIMIT_JOB_ENDINGS] = *ending;
    endings->n_added++;
}

size_t
endings_count(const struct endings *endings)
{
    return endings->n_added < LIMIT_JOB_ENDINGS ? endings->n_added
                                                : LIMIT_JOB_ENDINGS;
}

const struct ending *
endings_at(const struct endings *endings, size_t index)
{
    assert(index < endings_count(endings));
    return &endings->ring[(endings->n_added - 1 - index) % LIMIT_JOB_ENDINGS];
}

const struct ending *
endings_find(const struct endings *endings, const char *name)
{
    for (size_t i = 0; i < endings_count(endings); i++)
        if (strcmp(endings_at(endings, i)->name, name) == 0)
            return endings_at(endings, i);
    return NULL;
}
