/*
 * session/launcher.h - rank and size as the launcher of this process tells
 *
 * Launchers nest (a batch job starts mpirun, srun starts torchrun), and the
 * variables of the outer ones are inherited. So the innermost is asked first:
 *
 *   torchrun   RANK, WORLD_SIZE
 *   Open MPI   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
 *   PMI        PMI_RANK, PMI_SIZE
 *   Slurm      SLURM_PROCID, SLURM_NTASKS
 *
 * HOOP_RANK and HOOP_WORLD_SIZE win over all of them (session/config.h).
 */

#ifndef SESSION_LAUNCHER_H
#define SESSION_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

struct launcher {
    const char *name;          /* "Slurm"; static */
    const char *rank_variable; /* "SLURM_PROCID" */
    const char *size_variable; /* "SLURM_NTASKS" */
    uint32_t rank;
    uint32_t size;
};

/* getenv(), or a test's. */
typedef const char *
launcher_lookup_fn(void *owner, const char *name);

/* Pure but for lookup. A launcher counts when both of its variables are
 * numbers; the rank may be none that is below the size. False: there is none. */
bool
launcher_find(launcher_lookup_fn *lookup,
              void *owner,
              struct launcher *out_launcher);

/* The number of this process among those of its host, as the innermost launcher
 * that gives one tells: LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID,
 * SLURM_LOCALID. False: none does. */
bool
launcher_find_local(launcher_lookup_fn *lookup,
                    void *owner,
                    uint32_t *out_local_rank);

#endif
