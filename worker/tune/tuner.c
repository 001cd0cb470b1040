/*
 * tune/tuner.c - what a session knows for its tables of switch points
 *
 * No test of its own: so far it only keeps the roster.
 */

#include "tune/tuner.h"

#include <stdlib.h>

#include "base/error.h"

struct tuner {
    const struct roster *roster;
};

enum hoop_status
tuner_create(const struct tuner_options *options, struct tuner **out_tuner)
{
    struct tuner *tuner = calloc(1, sizeof(*tuner));

    if (!tuner)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tuner");
    tuner->roster = options->roster;
    *out_tuner = tuner;
    return HOOP_OK;
}

void
tuner_destroy(struct tuner *tuner)
{
    free(tuner);
}

const struct roster *
tuner_roster(const struct tuner *tuner)
{
    return tuner->roster;
}
