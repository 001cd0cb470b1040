/* tests/unit/worker/transport/shm/region_ranks.c - the ranks of a shared
 * region, in one process */

#include "region_ranks.h"

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "transport/sequence.h"

void
region_ranks_open(struct shm_region **shm_regions, uint32_t n_ranks)
{
    struct shared_memory_handle place;

    assert_ok(
        shm_region_create(n_ranks, REGION_RANKS_SLOT, &place, &shm_regions[0]));
    for (uint32_t i = 1; i < n_ranks; i++)
        assert_ok(shm_region_open(&place, i, n_ranks, &shm_regions[i]));
    shm_region_close_fd(shm_regions[0]);
}

void
region_ranks_close(struct shm_region **shm_regions, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n_ranks; i++)
        shm_region_destroy(shm_regions[i]);
}

void
region_rank_post(struct shm_region *shm_region,
                 uint64_t sequence,
                 const void *bytes,
                 size_t n_bytes)
{
    const struct shm_region_header header = {.sequence = sequence,
                                             .signature = sequence * 3,
                                             .count = n_bytes,
                                             .root = 7};

    memcpy(shm_region_reserve(shm_region, sequence, n_bytes), bytes, n_bytes);
    shm_region_publish(shm_region, &header, n_bytes);
}

void
region_ranks_pass(struct shm_region **shm_regions,
                  uint32_t n_ranks,
                  uint64_t sequence,
                  size_t n_bytes)
{
    static const uint8_t bytes[LIMIT_SHM_REGION_SLOT_MAX];
    uint32_t late;

    assert_true(
        shm_region_can_publish(shm_regions[0], sequence, n_bytes, &late));
    region_rank_post(shm_regions[0], sequence, bytes, n_bytes);
    for (uint32_t i = 1; i < n_ranks; i++) {
        assert_true(shm_region_poll(shm_regions[i], 0, sequence));
        assert_non_null(shm_region_payload(shm_regions[i], 0, 0, n_bytes));
        shm_region_mark_finished(shm_regions[i], sequence);
    }
}

void
region_ranks_fill_ring(struct shm_region **shm_regions, uint32_t n_ranks)
{
    for (uint64_t i = 1; i <= REGION_RANKS_GROWING; i++)
        region_ranks_pass(shm_regions, n_ranks, sequence_make(i, 0, 0),
                          REGION_RANKS_SLOT);
}
