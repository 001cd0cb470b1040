/* tests/unit/worker/transport/shm/region_ranks.h - ranks of a shared region */

#ifndef TESTS_SHM_REGION_RANKS_H
#define TESTS_SHM_REGION_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "transport/shm/region.h"

enum {
    REGION_RANKS_SLOT = 4096,
    REGION_RANKS_GROWING = 40, /* posts until a ring has its full size */
};

/* Opens a shared region for each of its ranks, all in this process. */
void
region_ranks_open(struct shm_region **shm_regions, uint32_t n_ranks);
void
region_ranks_close(struct shm_region **shm_regions, uint32_t n_ranks);
void
region_rank_post(struct shm_region *shm_region,
                 uint64_t sequence,
                 const void *bytes,
                 size_t n_bytes);
/* Runs one round in which only shm_regions[0] posts n_bytes. */
void
region_ranks_pass(struct shm_region **shm_regions,
                  uint32_t n_ranks,
                  uint64_t sequence,
                  size_t n_bytes);
/* Makes the ring of shm_regions[0] as long as possible. This takes all
 * operations up to REGION_RANKS_GROWING. */
void
region_ranks_fill_ring(struct shm_region **shm_regions, uint32_t n_ranks);

#endif
