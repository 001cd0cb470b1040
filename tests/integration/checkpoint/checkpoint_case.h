/*
 * tests/integration/checkpoint/checkpoint_case.h - tensors to save, and to know
 * again
 *
 * Every byte of a tensor follows from where it is in the whole and from a
 * number that stands for the content, so that any part can be checked alone.
 */

#ifndef TESTS_CHECKPOINT_CASE_H
#define TESTS_CHECKPOINT_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/hoop.h"

enum {
    CASE_PATH = 128
};

/* A new folder, which others may read, and which case_folder_remove() removes
 * with its files. */
void
case_folder_make(char out_path[CASE_PATH]);
void
case_folder_remove(const char *path);

/* Of a group of tests: a daemon, and such a folder. */
extern char case_folder[CASE_PATH];
int
case_setup(void **state);
int
case_teardown(void **state);

/* How many files of the folder are named like that; suffix "": all. */
unsigned
case_count_files(const char *path, const char *suffix);

/* The tensor of such a content, laid out as spec says; NULL: failed. */
hoop_dtensor_t *
case_tensor(enum hoop_dtype dtype,
            const struct hoop_shape *shape,
            const struct hoop_tensor_spec *spec,
            uint64_t content);

/* Whether this rank's part is what case_tensor() would have made. */
bool
case_is(const hoop_dtensor_t *dtensor, uint64_t content);

/* A mesh of 1 or 2 axes over ranks[0], ranks[1], ... NULL: 0, 1, ... */
hoop_mesh_t *
case_mesh(hoop_session_t *session,
          uint32_t n_rows,
          uint32_t n_columns,
          const uint32_t *ranks);

#endif
