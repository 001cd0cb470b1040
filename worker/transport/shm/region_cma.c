/* transport/shm/region_cma.c - ranks of a region read each other's buffers */

#include <stdlib.h>

#include "base/error.h"
#include "transport/shm/region_layout.h"

enum hoop_status
shm_region_cma_attach(struct shm_region *shm_region,
                      uint32_t rank,
                      uint32_t pid,
                      const struct cma_address *place)
{
    struct cma_process *other = &shm_region->ranks[rank].cma_process;

    *other = (struct cma_process){.pid = pid, .place = *place};
    const enum hoop_status status = cma_read(other, 0, NULL, 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
shm_region_enable_cma(struct shm_region *shm_region)
{
    void *cma_buffer = NULL;

    if (posix_memalign(&cma_buffer, SHM_REGION_LINES, SHM_REGION_CMA_BUFFER) !=
        0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read through");
    shm_region->cma_buffer = cma_buffer;
    return HOOP_OK;
}

void
shm_region_disable_cma(struct shm_region *shm_region)
{
    free(shm_region->cma_buffer);
    shm_region->cma_buffer = NULL;
}

bool
shm_region_has_cma(const struct shm_region *shm_region)
{
    return shm_region->cma_buffer;
}

uint8_t *
shm_region_cma_buffer(const struct shm_region *shm_region)
{
    return shm_region->cma_buffer;
}

enum hoop_status
shm_region_cma_read(struct shm_region *shm_region,
                    uint32_t rank,
                    uint64_t address,
                    void *to,
                    size_t n_bytes)
{
    const enum hoop_status status =
        cma_read(&shm_region->ranks[rank].cma_process, address, to, n_bytes);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
