/*
 * tests/path.h - on which way through the library a test goes
 *
 * Tests that make engines by hand read here what a session would read: the
 * settings that change how bytes travel, but not what results are. tests/sweep.py
 * runs them once for each. Beside the settings count
 *
 *   HOOP_TEST_NODES=N  ranks play N nodes, as evenly as they can, in order
 *   HOOP_TEST_TUNED=1  a table of algorithms, and shared regions, as sessions have them;
 *                      0: the first of each collective. Without it: 1, unless
 *                      HOOP_TRANSPORT is shm or tcp
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
    char algorithms[LIMIT_SETTING]; /* "": none is forced */
    uint32_t n_nodes;               /* 0: nobody said */
    bool is_tuned;
};

/* A setting that is none ends the test. */
void
path_read(struct path *out_path);

/* The node of rank, of size ranks. */
uint32_t
path_node(const struct path *path, uint32_t rank, uint32_t size);

#endif
