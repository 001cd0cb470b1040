/*
 * tests/integration/retry_case.h - workers that make calls, and die
 *
 * Workers make the same calls, and HOOP_DEBUG_FAULT kills some of them at chosen
 * places. Each knows what a result must be from the inputs of those that the call
 * names as contributors, and writes a digest of both where all can see it: of one
 * call all digests are the same, also those of ranks that died after it.
 */

#ifndef TESTS_RETRY_CASE_H
#define TESTS_RETRY_CASE_H

#include "workers.h"

struct retry_scene {
    uint32_t n_workers;
    const char *faults; /* HOOP_DEBUG_FAULT */
};

/* Play one at hoopd; returns how many made all calls. Fails the test if any did
 * not that was not killed, or if two have another result of one call. */
uint32_t
retry_scene_play(const struct retry_scene *scene);

/* Join as in a scene, without one: nobody is killed. 0 when all is well. */
int
retry_join(const struct worker *worker, hoop_session_t **out_session);

#endif
