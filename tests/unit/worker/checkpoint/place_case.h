/* tests/unit/worker/checkpoint/place_case.h - a folder to test in */

#ifndef TESTS_PLACE_CASE_H
#define TESTS_PLACE_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint/folder.h"

/* Creates and opens a new folder. Fails the test if that fails. */
struct folder *
place_case_create(void);
/* Removes the folder and its files. */
void
place_case_destroy(struct folder *folder);

/* Writes a file of the bytes 0, 1, ..., 250, 0 and so on. */
void
place_case_write(const struct folder *folder, const char *name, size_t n_bytes);
void
place_case_write_text(const struct folder *folder,
                      const char *name,
                      const char *text);

/* Returns whether there is such a file. */
int
place_case_has(const struct folder *folder, const char *name);

#endif
