/*
 * checkpoint/file_name.h - the names of a checkpoint's files
 *
 *   hoop-12-0123456789abcdef-3.part    of place 3, in the 12th save
 *   hoop-12-0123456789abcdef.index     is renamed to index.json
 *
 * The 16 digits are random, so that two saves never use the same names. A file
 * with any other name is not hoop's and is never removed.
 */

#ifndef CHECKPOINT_FILE_NAME_H
#define CHECKPOINT_FILE_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FILE_NAME_ROOM = 64
};

enum file_name_kind {
    FILE_NAME_PART,
    FILE_NAME_INDEX,
};

struct file_name {
    enum file_name_kind kind;
    uint64_t generation;
    uint64_t token;
    uint32_t place; /* of a part only */
};

void
file_name_format(const struct file_name *name, char out_text[FILE_NAME_ROOM]);

/* Returns false unless text is exactly a name that file_name_format()
 * writes. */
bool
file_name_parse(const char *text, struct file_name *out_name);

#endif
