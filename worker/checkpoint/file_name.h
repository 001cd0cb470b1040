/*
 * checkpoint/file_name.h - what the files of a checkpoint are called
 *
 *     hoop-12-0123456789abcdef-3.part    of place 3, in the 12th save
 *     hoop-12-0123456789abcdef.index     what becomes index.json
 *
 * The 16 digits are by chance, so that files of two saves never meet. Whatever
 * is called otherwise is not ours to remove.
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
    uint32_t place; /* of a part */
};

void
file_name_write(const struct file_name *name, char out_text[FILE_NAME_ROOM]);

/* false: it is none, or is not written like that. */
bool
file_name_read(const char *text, struct file_name *out_name);

#endif
