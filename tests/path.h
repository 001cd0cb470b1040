/*
 * tests/path.h - the way through the library that a test takes
 *
 * Tests that create engines without a session read here the settings that a
 * session would read. These change how bytes travel, but not the results.
 * tests/sweep.py runs the tests once for each of them. Besides the settings
 * there are
 *
 *   HOOP_TEST_NODES=N  the ranks pretend to be on N nodes, as evenly as they
 *                      can, and in order
 *   HOOP_TEST_TUNED=1  there are a table of algorithms and shared regions, as
 *                      in a session; 0: the first algorithm of each collective
 *                      is used. The default is 1, unless HOOP_TRANSPORT is shm
 *                      or tcp
 */

#ifndef TESTS_PATH_H
#define TESTS_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "codec/codec.h"
#include "engine/engine.h"

struct path {
    enum codec_id codec;
    enum codec_loss loss;
    enum engine_call_checking checking;
    enum engine_spinning spinning;
    char algorithms[LIMIT_SETTING]; /* "": no algorithm is forced */
    uint32_t n_nodes;               /* 0: not set */
    bool is_tuned;
};

/* An invalid setting ends the test. */
void
path_read(struct path *out_path);

/* Returns the node of rank, if there are size ranks. */
uint32_t
path_node(const struct path *path, uint32_t rank, uint32_t size);

#endif
