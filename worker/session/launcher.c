/*
 * session/launcher.c - what the launcher tells: rank, world size, ended
 * processes
 */

#include "session/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/process.h"

/* How the processes of this host have ended. */

enum {
    LINE_MAX_BYTES = 256,
};

/* Read how process pid has ended, if the line is about it. The text is shown to
 * users, so it ends at the first character that is not printable. */
static bool
exit_status_line_parse(const char *line, uint32_t pid, char out_how[LIMIT_NAME])
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
        is_found = exit_status_line_parse(line, pid, out_how);
    fclose(file);
    return is_found;
}

enum engine_process_status
launcher_rank_process_status(const struct roster *roster,
                             uint32_t rank,
                             const char *path,
                             char out_how[LIMIT_NAME])
{
    const struct member *member = &roster->members[rank];
    const struct member *self = &roster->members[roster->rank];

    out_how[0] = '\0';
    /* If several nodes are simulated on one host, their processes can see each
     * other, and their launcher's file says how they ended. */
    if (strcmp(member->host_id, self->host_id) != 0 && !path[0])
        return ENGINE_PROCESS_UNKNOWN;
    /* On another host or in another container, the pid means another
     * process. */
    if (!member->is_visible || member->pid == self->pid)
        return ENGINE_PROCESS_UNKNOWN;
    switch (process_get_state(member->pid)) {
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

/* Read "rank 2 ended (...)" if the rank is below world_size. */
static bool
ended_rank_line_parse(const char *line,
                      uint32_t world_size,
                      char out_text[LIMIT_NAME])
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
exit_status_find_ended_rank(const char *path,
                            uint32_t world_size,
                            char out_text[LIMIT_NAME])
{
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    char line[LINE_MAX_BYTES];
    bool is_found = false;

    if (!file)
        return false;
    while (!is_found && fgets(line, sizeof(line), file))
        is_found = ended_rank_line_parse(line, world_size, out_text);
    fclose(file);
    return is_found;
}

/* Innermost first. */
static const struct launcher rows[] = {
    {"torchrun", "RANK", "WORLD_SIZE", 0, 0},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0, 0},
    {"PMI", "PMI_RANK", "PMI_SIZE", 0, 0},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", 0, 0},
};

/* Rank and world size from the environment. */

static bool
launcher_number_parse(const char *text, uint32_t max, uint32_t *out_number)
{
    char *end = NULL;

    if (!text || !isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    const unsigned long number = strtoul(text, &end, 10);
    if (errno != 0 || *end || number > max)
        return false;
    *out_number = (uint32_t)number;
    return true;
}

bool
launcher_detect(launcher_lookup_fn *lookup,
                void *owner,
                struct launcher *out_launcher)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct launcher found = rows[i];

        if (launcher_number_parse(lookup(owner, found.rank_variable),
                                  LIMIT_RANKS, &found.rank) &&
            launcher_number_parse(lookup(owner, found.size_variable),
                                  LIMIT_RANKS, &found.size)) {
            *out_launcher = found;
            return true;
        }
    }
    return false;
}

bool
launcher_local_rank(launcher_lookup_fn *lookup,
                    void *owner,
                    uint32_t *out_local_rank)
{
    static const char *const names[] = {
        "LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "SLURM_LOCALID",
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (launcher_number_parse(lookup(owner, names[i]), LIMIT_RANKS - 1,
                                  out_local_rank))
            return true;
    }
    return false;
}
