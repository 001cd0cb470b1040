/* tests/unit/worker/checkpoint/place_case.h - a folder to test in */

#ifndef TESTS_PLACE_CASE_H
#define TESTS_PLACE_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint/folder.h"

/* A new folder, open; fails the test if that fails. */
struct folder *
place_case_create(void);
/* And its files. */
void
place_case_destroy(struct folder *folder);

/* A file of bytes 0, 1, ..., 250, 0, ... */
void
place_case_write(const struct folder *folder, const char *name, size_t n_bytes);
void
place_case_write_text(const struct folder *folder,
                      const char *name,
                      const char *text);

/* Whether there is such a file. */
int
place_case_has(const struct folder *folder, const char *name);

#endif
