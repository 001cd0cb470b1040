/*
 * transport/cma.h - reads what stands in the memory of another process
 *
 * Cross-memory attach (process_vm_readv): one copy, by the reader, where a shared
 * memory takes two. Between processes of one user that see each other's pids and
 * that nothing forbids it (ptrace_scope, seccomp, a process that is not dumpable).
 *
 * Each process keeps a word, random and secret, at a place that it tells. It is
 * read along with whatever else is: a pid that was given to another process
 * since, or never was the right one, is found out.
 *
 * Thread: any.
 */

#ifndef TRANSPORT_CMA_H
#define TRANSPORT_CMA_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

/* In the order of the choices of HOOP_CMA (base/setting_table.c). */
enum cma_mode {
    CMA_AUTO, /* where it can be, and is found to be faster */
    CMA_NEVER,
    CMA_ALWAYS, /* where it can be */
};

/* Of one's own, zeroed; stays where it is as long as others may read. */
struct cma_cookie {
    uint64_t word;
};

/* What others are told. */
struct cma_address {
    uint64_t address;
    uint64_t word;
};

/* Another process. */
struct cma_process {
    uint32_t pid;
    struct cma_address place;
};

/* The word is drawn when it is first offered. Not by two threads at a time.
 * Handle: HOOP_E_UNAVAILABLE (no randomness). */
enum hoop_status
cma_publish(struct cma_cookie *word, struct cma_address *out_place);

/*
 * n_bytes from its address into to; 0: only the word.
 * Handle: HOOP_E_PEER_LOST (there is no such process any more),
 * HOOP_E_UNAVAILABLE (its memory must not be read), HOOP_E_DATA_LOSS (it has
 * nothing there).
 */
enum hoop_status
cma_read(const struct cma_process *other,
         uint64_t address,
         void *to,
         size_t n_bytes);

#endif
