/*
 * tests/integration/checkpoint/checkpoint_case.h - tensors to be saved
 *
 * Every byte of a tensor follows from its place in the whole tensor and from a
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

/* Creates a new folder that others may read. case_folder_remove() removes it
 * with its files. */
void
case_folder_make(char out_path[CASE_PATH]);
void
case_folder_remove(const char *path);

/* The fixture of a group of tests has a daemon and such a folder. */
extern char case_folder[CASE_PATH];
int
case_setup(void **state);
int
case_teardown(void **state);

/* Returns how many files of the folder have the suffix; "" counts all. */
unsigned
case_count_files(const char *path, const char *suffix);

/* Returns the tensor of this content in the layout of spec, or NULL on
 * failure. */
hoop_dtensor_t *
case_tensor(enum hoop_dtype dtype,
            const struct hoop_shape *shape,
            const struct hoop_tensor_spec *spec,
            uint64_t content);

/* Returns whether this rank's part is what case_tensor() makes for the
 * content. */
bool
case_is(const hoop_dtensor_t *dtensor, uint64_t content);

/* Returns a mesh of 1 or 2 axes over ranks[0], ranks[1] and so on. If ranks is
 * NULL, they are 0, 1 and so on. */
hoop_mesh_t *
case_mesh(hoop_session_t *session,
          uint32_t n_rows,
          uint32_t n_columns,
          const uint32_t *ranks);

#endif
