/*
 * transport/shared_memory.h - memory of one process that others of its host can open
 *
 * A file of memory without a name in any file system, of a size that is sealed,
 * which the kernel frees with the last process that has it. Others open it
 * through the maker's /proc/<pid>/fd: the kernel lets only the same user (or a
 * debugger) do that, and only one who sees the maker at all; a key, which is
 * also the file's name, proves that it is the right one.
 *
 * Thread: any.
 */

#ifndef TRANSPORT_SHARED_MEMORY_H
#define TRANSPORT_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum {
    MEMORY_KEY = 32,
    MEMORY_PAGE = 4096, /* where pages are larger, nothing is shared */
};

/* Where others find it. */
struct memory_handle {
    uint32_t pid; /* as the maker's own /proc says */
    uint32_t fd;
    uint8_t key[MEMORY_KEY];
};

/* All of it is there, and zero. out_place tells others; the descriptor is the
 * caller's. Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED (the text says why). */
enum hoop_status
memory_create(size_t n_bytes, struct memory_handle *out_place, int *out_fd);
/* The same, but it is there only where memory_populate() has asked for it, if the
 * kernel knows how (Linux 5.14). */
enum hoop_status
memory_create_sparse(size_t n_bytes,
                     struct memory_handle *out_place,
                     int *out_fd);
/* Handle: HOOP_E_UNAVAILABLE (not to be reached), HOOP_E_DATA_LOSS (its size
 * may change, which would make us fault later). */
enum hoop_status
memory_open(const struct memory_handle *place,
            int *out_fd,
            size_t *out_n_bytes);

/* Addresses for n_bytes, which nothing lies behind yet, and which a forked
 * child will not have: what it does not have it can neither change nor keep
 * alive. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
memory_reserve(size_t n_bytes, uint8_t **out_base);
/* n_bytes of the file, from offset, there: all at once, since what is touched
 * for the first time amid the messages costs a fault there. */
enum hoop_status
memory_map(uint8_t *at, size_t n_bytes, int fd, size_t offset);
/* The same, but each page is mapped when it is touched. */
enum hoop_status
memory_map_lazily(uint8_t *at, size_t n_bytes, int fd, size_t offset);
/* The same, of all that is sparse: nothing is there yet. */
enum hoop_status
memory_map_sparse(uint8_t *at, size_t n_bytes, int fd);
/* Its pages are there, and mapped, from now on. What is merely touched
 * would end the process if there is no memory. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
memory_populate(uint8_t *at, size_t n_bytes);
/* What another rank has filled: mapped all at once, else it is when touched. */
void
memory_prefault(uint8_t *at, size_t n_bytes);
/* When all is mapped. */
enum hoop_status
memory_dont_fork(uint8_t *base, size_t n_bytes);
/* NULL is fine. */
void
memory_unmap(uint8_t *base, size_t n_bytes);

#endif
