/* base/process.c - other processes of this host, as the kernel shows them */

#include "base/process.h"

#include <stdio.h>
#include <string.h>

bool
process_is_stopped(uint32_t pid)
{
    char path[32];
    char text[512] = "";

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const size_t n_bytes = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n_bytes] = '\0';
    /* "pid (name) S ...", and a name may hold anything. */
    const char *state = strrchr(text, ')');
    return state &&
           (strncmp(state, ") T", 3) == 0 || strncmp(state, ") t", 3) == 0);
}
