/* tests/unit/worker/transport/hall_rooms_test.c - transport/hall_rooms.c */

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "check.h"
#include "hall_guests.h"
#include "transport/hall_parts.h"
#include "transport/stamp.h"

enum {
    N_HALLS_MAX = LIMIT_HALLS / LIMIT_HALL_SLOT_MAX,
};

static void
halls_of_a_process_have_a_budget(void **state)
{
    static struct hall *halls[N_HALLS_MAX];
    struct memory_place place;
    size_t n_halls = 0;

    (void)state;
    while (hall_create(2, hall_slot_bytes(2), &place, &halls[n_halls]) ==
           HOOP_OK)
        n_halls++;
    assert_in_range(n_halls, N_HALLS_MAX / 2, N_HALLS_MAX - 1);
    /* A slot is paid for, a longer ring is not: who posts must wait. */
    hall_destroy(halls[--n_halls]);
    assert_int_equal(hall_create(2, GUESTS_SLOT, &place, &halls[n_halls]),
                     HOOP_OK);
    assert_int_equal(hall_open(&place, 1, 2, &halls[n_halls + 1]), HOOP_OK);
    while (hall_charge(halls[n_halls], GUESTS_SLOT))
        ;
    guests_fill_ring(&halls[n_halls], 2);
    guest_post(halls[n_halls], GUESTS_GROWING + 1, "a", 1);
    assert_int_equal(halls[n_halls]->n_cells, HALL_SLOT_CELLS);
    hall_destroy(halls[n_halls + 1]);
    for (size_t i = 0; i <= n_halls; i++)
        hall_destroy(halls[i]);
    assert_int_equal(hall_create(2, GUESTS_SLOT, &place, &halls[0]), HOOP_OK);
    hall_destroy(halls[0]);
    hall_destroy(NULL);
}

/* Of the file; who maps it does not matter. */
static size_t
bytes_there(const struct hall *hall)
{
    static unsigned char pages[2 * LIMIT_HALL / MEMORY_PAGE];
    size_t n_bytes = 0;

    assert_int_equal(mincore(hall->base, hall->n_mapped, pages), 0);
    for (size_t i = 0; i < hall->n_mapped / MEMORY_PAGE; i++)
        n_bytes += pages[i] & 1 ? MEMORY_PAGE : 0;
    return n_bytes;
}

static void
pair_enter(struct hall *halls[2])
{
    struct memory_place place;

    assert_int_equal(hall_create(2, LIMIT_HALL_SLOT_MAX, &place, &halls[0]),
                     HOOP_OK);
    assert_int_equal(hall_open(&place, 1, 2, &halls[1]), HOOP_OK);
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
    const size_t n_slot = LIMIT_HALL_SLOT_MAX;
    struct hall *halls[2];
    uint64_t op = 0;

    (void)state;
    kernel_check();
    pair_enter(halls);
    const size_t n_lines = bytes_there(halls[0]);
    assert_in_range(n_lines, 2 * HALL_ALL_LINES * HALL_LINES, 64 << 10);
    while (op < 100)
        guests_pass(halls, 2, stamp_of(++op, 0, 0), HALL_INLINE);
    assert_int_equal(bytes_there(halls[0]), n_lines);
    while (op < 200)
        guests_pass(halls, 2, stamp_of(++op, 0, 0), HALL_SMALL);
    assert_int_equal(bytes_there(halls[0]), n_lines + HALL_SMALLS);
    guests_pass(halls, 2, stamp_of(++op, 0, 0), HALL_SMALL + 1);
    assert_int_equal(bytes_there(halls[0]), n_lines + HALL_SMALLS + n_slot / 4);
    while (op < 1000)
        guests_pass(halls, 2, stamp_of(++op, 0, 0), HALL_SMALL + 1);
    assert_int_equal(bytes_there(halls[0]),
                     n_lines + HALL_SMALLS + HALL_SLOTS * n_slot);
    guests_leave(halls, 2);
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
    struct hall *halls[2];
    uint64_t op = 0;

    (void)state;
    pair_enter(halls);
    while (op < 100)
        guests_pass(halls, 2, stamp_of(++op, 0, 0), LIMIT_HALL_SLOT_MAX);
    const long n_before = faults_so_far();
    while (op < 200)
        guests_pass(halls, 2, stamp_of(++op, 0, 0), LIMIT_HALL_SLOT_MAX);
    assert_in_range(faults_so_far() - n_before, 0, 20);
    guests_leave(halls, 2);
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
