/* tests/unit/worker/transport/shm/region_ranks.h - the ranks of a shared
 * region, in one process */

#ifndef TESTS_SHM_REGION_RANKS_H
#define TESTS_SHM_REGION_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "transport/shm/region.h"

enum {
    REGION_RANKS_SLOT = 4096,
    REGION_RANKS_GROWING = 40, /* posts of a slot after which a ring is whole */
};

/* A shared region as each of its ranks has it. */
void
region_ranks_open(struct shm_region **shm_regions, uint32_t n_ranks);
void
region_ranks_close(struct shm_region **shm_regions, uint32_t n_ranks);
void
region_rank_post(struct shm_region *shm_region,
                 uint64_t sequence,
                 const void *bytes,
                 size_t n_bytes);
/* One round in which only shm_regions[0] posts, of n_bytes. */
void
region_ranks_pass(struct shm_region **shm_regions,
                  uint32_t n_ranks,
                  uint64_t sequence,
                  size_t n_bytes);
/* shm_regions[0]'s ring becomes as long as can be: until operation
 * REGION_RANKS_GROWING. */
void
region_ranks_fill_ring(struct shm_region **shm_regions, uint32_t n_ranks);

#endif
