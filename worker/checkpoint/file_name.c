/* checkpoint/file_name.c - the names of a checkpoint's files */

#include "checkpoint/file_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
file_name_format(const struct file_name *name, char out_text[FILE_NAME_ROOM])
{
    switch (name->kind) {
    case FILE_NAME_PART:
        snprintf(out_text, FILE_NAME_ROOM,
                 "hoop-%" PRIu64 "-%016" PRIx64 "-%" PRIu32 ".part",
                 name->generation, name->token, name->place);
        return;
    case FILE_NAME_INDEX:
        snprintf(out_text, FILE_NAME_ROOM,
                 "hoop-%" PRIu64 "-%016" PRIx64 ".index", name->generation,
                 name->token);
        return;
    }
}

bool
file_name_parse(const char *text, struct file_name *out_name)
{
    struct file_name name = {.kind = FILE_NAME_PART};
    char again[FILE_NAME_ROOM];

    if (strlen(text) >= FILE_NAME_ROOM)
        return false;
    const int n_fields =
        sscanf(text, "hoop-%20" SCNu64 "-%16" SCNx64 "-%10" SCNu32,
               &name.generation, &name.token, &name.place);
    if (n_fields < 2)
        return false;
    if (n_fields == 2)
        name.kind = FILE_NAME_INDEX;
    /* The name is hoop's only if file_name_format() would have written it. */
    file_name_format(&name, again);
    if (strcmp(again, text) != 0)
        return false;
    *out_name = name;
    return true;
}
