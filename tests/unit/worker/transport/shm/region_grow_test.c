/* tests/unit/worker/transport/shm/region_grow_test.c - transport/shm/region_create.c */

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "check.h"
#include "region_ranks.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

enum {
    N_REGIONS_MAX = LIMIT_SHM_REGIONS / LIMIT_SHM_REGION_SLOT_MAX,
};

static void
halls_of_a_process_have_a_budget(void **state)
{
    static struct shm_region *shm_regions[N_REGIONS_MAX];
    struct shared_memory_handle place;
    size_t n_regions = 0;

    while (shm_region_create(2, LIMIT_SHM_REGION_SLOT_MAX, &place,
                             &shm_regions[n_regions]) == HOOP_OK)
        n_regions++;
    assert_in_range(n_regions, N_REGIONS_MAX / 2, N_REGIONS_MAX - 1);
    /* A slot is paid for, a longer ring is not: who posts must wait. */
    shm_region_destroy(shm_regions[--n_regions]);
    assert_ok(shm_region_create(2, REGION_RANKS_SLOT, &place,
                                &shm_regions[n_regions]));
    assert_ok(shm_region_open(&place, 1, 2, &shm_regions[n_regions + 1]));
    while (shm_region_charge_budget(shm_regions[n_regions], REGION_RANKS_SLOT))
        ;
    region_ranks_fill_ring(&shm_regions[n_regions], 2);
    region_rank_post(shm_regions[n_regions], REGION_RANKS_GROWING + 1, "a", 1);
    assert_int_equal(shm_regions[n_regions]->n_cells,
                     SHM_REGION_CELLS_PER_SLOT);
    shm_region_destroy(shm_regions[n_regions + 1]);
    for (size_t i = 0; i <= n_regions; i++)
        shm_region_destroy(shm_regions[i]);
    assert_ok(shm_region_create(2, REGION_RANKS_SLOT, &place, &shm_regions[0]));
    shm_region_destroy(shm_regions[0]);
    shm_region_destroy(NULL);
}

/* Of the file; who maps it does not matter. */
static size_t
bytes_there(const struct shm_region *shm_region)
{
    static unsigned char pages[2 * LIMIT_SHM_REGION / MEMORY_PAGE_BYTES];
    size_t n_bytes = 0;

    assert_int_equal(mincore(shm_region->base, shm_region->n_mapped, pages), 0);
    for (size_t i = 0; i < shm_region->n_mapped / MEMORY_PAGE_BYTES; i++)
        n_bytes += pages[i] & 1 ? MEMORY_PAGE_BYTES : 0;
    return n_bytes;
}

static void
pair_enter(struct shm_region *shm_regions[2])
{
    struct shared_memory_handle place;

    assert_ok(shm_region_create(2, LIMIT_SHM_REGION_SLOT_MAX, &place,
                                &shm_regions[0]));
    assert_ok(shm_region_open(&place, 1, 2, &shm_regions[1]));
}

/* Kernels before 5.14 give all at once. */
static void
kernel_check(void)
{
    const int advice = 23; /* MADV_POPULATE_WRITE */

    if (madvise(NULL, 0, advice) != 0)
        skip();
}

static void
memory_comes_with_use(void **state)
{
    const size_t slot_capacity = LIMIT_SHM_REGION_SLOT_MAX;
    struct shm_region *shm_regions[2];
    uint64_t op = 0;

    kernel_check();
    pair_enter(shm_regions);
    const size_t n_lines = bytes_there(shm_regions[0]);
    assert_in_range(
        n_lines, 2 * SHM_REGION_N_LINES * SHM_REGION_LINE_PAIR_BYTES, 64 << 10);
    while (op < 100)
        region_ranks_pass(shm_regions, 2, sequence_make(++op, 0, 0),
                          SHM_REGION_INLINE_BYTES);
    assert_int_equal(bytes_there(shm_regions[0]), n_lines);
    while (op < 200)
        region_ranks_pass(shm_regions, 2, sequence_make(++op, 0, 0),
                          SHM_REGION_SMALL_BYTES);
    assert_int_equal(bytes_there(shm_regions[0]),
                     n_lines + SHM_REGION_RANK_SMALL_BYTES);
    region_ranks_pass(shm_regions, 2, sequence_make(++op, 0, 0),
                      SHM_REGION_SMALL_BYTES + 1);
    assert_int_equal(bytes_there(shm_regions[0]),
                     n_lines + SHM_REGION_RANK_SMALL_BYTES + slot_capacity / 4);
    while (op < 1000)
        region_ranks_pass(shm_regions, 2, sequence_make(++op, 0, 0),
                          SHM_REGION_SMALL_BYTES + 1);
    assert_int_equal(bytes_there(shm_regions[0]),
                     n_lines + SHM_REGION_RANK_SMALL_BYTES +
                         LIMIT_SHM_REGION_RANK_SLOTS * slot_capacity);
    region_ranks_close(shm_regions, 2);
}

static long
faults_so_far(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Some that a sanitizer takes for itself are not one for each call. */
static void
hundredth_call_takes_no_page_faults(void **state)
{
    struct shm_region *shm_regions[2];
    uint64_t op = 0;

    pair_enter(shm_regions);
    while (op < 100)
        region_ranks_pass(shm_regions, 2, sequence_make(++op, 0, 0),
                          LIMIT_SHM_REGION_SLOT_MAX);
    const long n_before = faults_so_far();
    while (op < 200)
        region_ranks_pass(shm_regions, 2, sequence_make(++op, 0, 0),
                          LIMIT_SHM_REGION_SLOT_MAX);
    assert_in_range(faults_so_far() - n_before, 0, 20);
    region_ranks_close(shm_regions, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halls_of_a_process_have_a_budget),
        cmocka_unit_test(memory_comes_with_use),
        cmocka_unit_test(hundredth_call_takes_no_page_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
