/* base/process.c - other processes of this host, as the kernel shows them */

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    /* Of the kernel's flags of a task: it is on its way out, and its
     * descriptors may be closed already. */
    FLAG_EXITING = 4,
};

/* "pid (name) S parent group session tty foreground flags ...", and a name may
 * hold anything. */
static enum process_state
state_parse(const char *text)
{
    const char *end = strrchr(text, ')');
    unsigned flags = 0;
    char state = ' ';

    if (!end || sscanf(end, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) < 1)
        return PROCESS_RUNS;
    if (strchr("ZXx", state) || (flags & FLAG_EXITING))
        return PROCESS_ENDED;
    return strchr("Tt", state) ? PROCESS_STOPPED : PROCESS_RUNS;
}

enum process_state
process_look(uint32_t pid)
{
    char path[32];
    char text[512] = "";

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? PROCESS_ENDED : PROCESS_RUNS;
    const size_t n_bytes = fread(text, 1, sizeof(text) - 1, file);
    /* It has gone since. */
    const bool is_gone = n_bytes == 0 && ferror(file);
    fclose(file);
    text[n_bytes] = '\0';
    return is_gone ? PROCESS_ENDED : state_parse(text);
}

bool
process_is_stopped(uint32_t pid)
{
    return process_look(pid) == PROCESS_STOPPED;
}
