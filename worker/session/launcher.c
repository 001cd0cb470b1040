/* session/launcher.c - rank and world size from the launcher's environment */

#include "session/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* Innermost first. */
static const struct launcher rows[] = {
    {"torchrun", "RANK", "WORLD_SIZE", 0, 0},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0, 0},
    {"PMI", "PMI_RANK", "PMI_SIZE", 0, 0},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", 0, 0},
};

static bool
number_parse(const char *text, uint32_t max, uint32_t *out_number)
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

        if (number_parse(lookup(owner, found.rank_variable), LIMIT_RANKS,
                         &found.rank) &&
            number_parse(lookup(owner, found.size_variable), LIMIT_RANKS,
                         &found.size)) {
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
        if (number_parse(lookup(owner, names[i]), LIMIT_RANKS - 1,
                         out_local_rank))
            return true;
    }
    return false;
}
