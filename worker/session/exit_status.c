/* session/exit_status.c - how the processes of this host have ended */

#include "session/exit_status.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"

enum {
    LINE_MAX_BYTES = 256,
};

/* Of process pid, if line is. What stands there is shown to people. */
static bool
line_read(const char *line, uint32_t pid, char out_how[LIMIT_NAME])
{
    char *text = NULL;
    size_t n = 0;

    if (!isdigit((unsigned char)line[0]) || !strchr(line, '\n') ||
        strtoul(line, &text, 10) != pid || *text != ' ')
        return false;
    for (text++; isprint((unsigned char)*text) && n < LIMIT_NAME - 1; text++)
        out_how[n++] = *text;
    out_how[n] = '\0';
    return n > 0;
}

static bool
exit_status_line_find(const char *path, uint32_t pid, char out_how[LIMIT_NAME])
{
    FILE *file = fopen(path, "re");
    char line[LINE_MAX_BYTES];
    bool is_found = false;

    if (!file)
        return false;
    while (!is_found && fgets(line, sizeof(line), file))
        is_found = line_read(line, pid, out_how);
    fclose(file);
    return is_found;
}

enum engine_process_status
exit_status_find(const struct roster *roster,
                 uint32_t rank,
                 const char *path,
                 char out_how[LIMIT_NAME])
{
    const struct member *member = &roster->members[rank];
    const struct member *self = &roster->members[roster->rank];

    out_how[0] = '\0';
    /* Nodes that are played on one host see each other by their launcher. */
    if (strcmp(member->host_id, self->host_id) != 0 && !path[0])
        return ENGINE_PROCESS_UNKNOWN;
    /* Elsewhere, and in another container, the number is another's. */
    if (!member->is_visible || member->pid == self->pid)
        return ENGINE_PROCESS_UNKNOWN;
    switch (process_look(member->pid)) {
    case PROCESS_RUNS:
        return ENGINE_PROCESS_ALIVE;
    case PROCESS_STOPPED:
    case PROCESS_HIDDEN:
        return ENGINE_PROCESS_UNKNOWN;
    case PROCESS_ENDED:
        break;
    }
    if (!path[0] || exit_status_line_find(path, member->pid, out_how))
        return ENGINE_PROCESS_DEAD;
    return ENGINE_PROCESS_DYING;
}

/* "rank 2 ended (...)", of a rank of the world. */
static bool
absence_read(const char *line, uint32_t world_size, char out_text[LIMIT_NAME])
{
    static const char begin[] = "rank ";
    size_t n = 0;

    if (strncmp(line, begin, sizeof(begin) - 1) != 0 ||
        !isdigit((unsigned char)line[sizeof(begin) - 1]) ||
        strtoul(line + sizeof(begin) - 1, NULL, 10) >= world_size ||
        !strchr(line, '\n'))
        return false;
    for (; isprint((unsigned char)line[n]) && n < LIMIT_NAME - 1; n++)
        out_text[n] = line[n];
    out_text[n] = '\0';
    return true;
}

bool
exit_status_find_absent(const char *path,
                        uint32_t world_size,
                        char out_text[LIMIT_NAME])
{
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    char line[LINE_MAX_BYTES];
    bool is_found = false;

    if (!file)
        return false;
    while (!is_found && fgets(line, sizeof(line), file))
        is_found = absence_read(line, world_size, out_text);
    fclose(file);
    return is_found;
}
