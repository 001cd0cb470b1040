/*
 * transport/shm/shared_memory.h - memory that other processes of the host can open
 *
 * The memory is a file without a name in any file system, whose size is
 * sealed. The kernel frees it with the last process that has it. Others open
 * it through the creator's /proc/<pid>/fd. The kernel permits that only to the
 * same user (or a debugger), and only if the creator's pid is visible. A
 * random key, which is part of the file's name, proves that it is the right
 * file.
 *
 * Thread: any.
 */

#ifndef TRANSPORT_SHM_SHARED_MEMORY_H
#define TRANSPORT_SHM_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum {
    MEMORY_KEY = 32,
    MEMORY_PAGE = 4096, /* sharing fails where pages are larger */
};

/* What others need to open the memory. */
struct shared_memory_handle {
    uint32_t pid; /* as the creator's own /proc says */
    uint32_t fd;
    uint8_t key[MEMORY_KEY];
};

/* Create n_bytes of zeroed memory, all of it allocated. The caller owns out_fd
 * and tells others out_place. Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED
 * (the text says why). */
enum hoop_status
shared_memory_create(size_t n_bytes,
                     struct shared_memory_handle *out_place,
                     int *out_fd);
/* The same, but memory is allocated only where memory_populate() asks for it,
 * if the kernel can do that (Linux 5.14); otherwise all of it is. */
enum hoop_status
shared_memory_create_sparse(size_t n_bytes,
                            struct shared_memory_handle *out_place,
                            int *out_fd);
/* Open the memory of another process; the caller owns out_fd. Handle:
 * HOOP_E_UNAVAILABLE (out of reach), HOOP_E_DATA_LOSS (its size may change,
 * which could make this process fault later). */
enum hoop_status
shared_memory_open(const struct shared_memory_handle *place,
                   int *out_fd,
                   size_t *out_n_bytes);

/* Reserve n_bytes of addresses with nothing behind them. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
memory_reserve(size_t n_bytes, uint8_t **out_base);
/* Map n_bytes of the file from offset to at, inside what was reserved. All
 * pages are mapped now, so that messages cause no page faults later. */
enum hoop_status
memory_map(uint8_t *at, size_t n_bytes, int fd, size_t offset);
/* The same, but each page is mapped when it is touched. */
enum hoop_status
memory_map_lazily(uint8_t *at, size_t n_bytes, int fd, size_t offset);
/* The same for memory of shared_memory_create_sparse(), from its beginning: nothing
 * is allocated yet. */
enum hoop_status
memory_map_sparse(uint8_t *at, size_t n_bytes, int fd);
/* Allocate and map n_bytes of sparse memory. Without this, touching them when
 * memory is short would end the process. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
memory_populate(uint8_t *at, size_t n_bytes);
/* Map n_bytes that another rank has filled, all at once, instead of page by
 * page when they are touched. */
void
memory_prefault(uint8_t *at, size_t n_bytes);
/* Keep the mappings out of forked children, which could otherwise change the
 * memory or keep it alive. Call when everything is mapped. */
enum hoop_status
memory_dont_fork(uint8_t *base, size_t n_bytes);
/* Unmap. base may be NULL. */
void
memory_unmap(uint8_t *base, size_t n_bytes);

#endif
