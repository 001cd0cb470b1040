/*
 * transport/shm/cma.h - cross-memory attach: reading the memory of another
 * process
 *
 * process_vm_readv() makes one copy, done by the reader, where shared memory
 * needs two. It works between processes of one user that see each other's
 * pids, unless something forbids it (ptrace_scope, seccomp, a process that is
 * not dumpable).
 *
 * Each process keeps a random secret word at an address that it tells the
 * others. The word is read along with everything else. This finds out a pid
 * that was wrong, or that another process has got since.
 *
 * Thread: any.
 */

#ifndef TRANSPORT_SHM_CMA_H
#define TRANSPORT_SHM_CMA_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/config.h"

/* A word of this process. It must be zeroed at first, and stay where it is as
 * long as others may read it. */
struct cma_cookie {
    uint64_t word;
};

/* What this process tells the others. */
struct cma_address {
    uint64_t address;
    uint64_t word;
};

/* Another process. */
struct cma_process {
    uint32_t pid;
    struct cma_address place;
};

/* Draw the random word at the first call, and write where it is. Two threads
 * must not call this at once. Handle: HOOP_E_UNAVAILABLE (no randomness). */
enum hoop_status
cma_export_address(struct cma_cookie *word, struct cma_address *out_place);

/*
 * Read n_bytes at address of the other process into to. If n_bytes is 0, only
 * check the word.
 *
 * Handle: HOOP_E_PEER_LOST (the process is gone), HOOP_E_UNAVAILABLE (its
 * memory must not be read), HOOP_E_DATA_LOSS (nothing is mapped there).
 */
enum hoop_status
cma_read(const struct cma_process *other,
         uint64_t address,
         void *to,
         size_t n_bytes);

#endif
