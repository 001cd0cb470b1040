/*
 * session/launcher.h - what the launcher tells: rank, world size, ended
 * processes
 *
 * Rank and world size come from the environment. Launchers nest (a batch job
 * starts mpirun, srun starts torchrun), and processes inherit the variables of
 * the outer ones. So the innermost is asked first:
 *
 *   torchrun   RANK, WORLD_SIZE
 *   Open MPI   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
 *   PMI        PMI_RANK, PMI_SIZE
 *   Slurm      SLURM_PROCID, SLURM_NTASKS
 *
 * HOOP_RANK and HOOP_WORLD_SIZE override all of them (session/config.h).
 */

#ifndef SESSION_LAUNCHER_H
#define SESSION_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "transport/roster.h"

struct launcher {
    const char *name;          /* "Slurm"; static */
    const char *rank_variable; /* "SLURM_PROCID" */
    const char *size_variable; /* "SLURM_NTASKS" */
    uint32_t rank;
    uint32_t size;
};

/* getenv(), or a replacement in tests. */
typedef const char *
launcher_lookup_fn(void *owner, const char *name);

/* Find the innermost launcher, one whose variables are both numbers. The rank
 * may be at or above the size; the caller checks that. Returns false if there
 * is no launcher. Pure apart from lookup. */
bool
launcher_detect(launcher_lookup_fn *lookup,
                void *owner,
                struct launcher *out_launcher);

/* Find the rank of this process within its host, from the innermost launcher
 * that sets one: LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID,
 * SLURM_LOCALID. Returns false if none does. */
bool
launcher_local_rank(launcher_lookup_fn *lookup,
                    void *owner,
                    uint32_t *out_local_rank);

/*
 * The kernel shows that a process has ended, but only its parent learns how.
 * A launcher writes that into the file that HOOP_ENDINGS names: one line for
 * each worker, in any order, as soon as it knows:
 *
 *   1234 killed by signal 9 (Killed)
 *   1235 exited with code 3
 *   rank 2 ended (exit code 3)
 *
 * A number at the beginning is the process id. The file is read only when
 * a rank is suspected, or when a join waits for a rank.
 */

/* Look up the process of rank. Writes to out_how how it ended, or "" if that is
 * not known. path is the launcher's file, or "". Thread: any. */
enum engine_process_status
launcher_rank_process_status(const struct roster *roster,
                             uint32_t rank,
                             const char *path,
                             char out_how[LIMIT_NAME]);

/* Look for a rank below world_size whose end is in the file at path, and write
 * its line ("rank 2 ended (exit code 0)") to out_text. Returns false if there
 * is none. Thread: any. */
bool
exit_status_find_ended_rank(const char *path,
                            uint32_t world_size,
                            char out_text[LIMIT_NAME]);

#endif
