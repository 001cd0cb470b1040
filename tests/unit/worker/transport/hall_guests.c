/* tests/unit/worker/transport/hall_guests.c - the ranks of a hall, in one process */

#include "hall_guests.h"

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "transport/stamp.h"

void
guests_enter(struct hall **halls, uint32_t n_ranks)
{
    struct memory_place place;

    assert_int_equal(hall_create(n_ranks, GUESTS_SLOT, &place, &halls[0]),
                     HOOP_OK);
    for (uint32_t i = 1; i < n_ranks; i++)
        assert_int_equal(hall_open(&place, i, n_ranks, &halls[i]), HOOP_OK);
    hall_seal_off(halls[0]);
}

void
guests_leave(struct hall **halls, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n_ranks; i++)
        hall_destroy(halls[i]);
}

void
guest_post(struct hall *hall, uint64_t stamp, const void *bytes, size_t n_bytes)
{
    const struct hall_header header = {
        .stamp = stamp, .signature = stamp * 3, .count = n_bytes, .root = 7};

    memcpy(hall_place(hall, stamp, n_bytes), bytes, n_bytes);
    hall_publish(hall, &header, n_bytes);
}

void
guests_pass(struct hall **halls,
            uint32_t n_ranks,
            uint64_t stamp,
            size_t n_bytes)
{
    static const uint8_t bytes[LIMIT_HALL_SLOT_MAX];
    uint32_t late;

    assert_true(hall_is_free(halls[0], stamp, n_bytes, &late));
    guest_post(halls[0], stamp, bytes, n_bytes);
    for (uint32_t i = 1; i < n_ranks; i++) {
        assert_true(hall_look(halls[i], 0, stamp));
        assert_non_null(hall_bytes(halls[i], 0, 0, n_bytes));
        hall_finish(halls[i], stamp);
    }
}

void
guests_fill_ring(struct hall **halls, uint32_t n_ranks)
{
    for (uint64_t i = 1; i <= GUESTS_GROWING; i++)
        guests_pass(halls, n_ranks, stamp_of(i, 0, 0), GUESTS_SLOT);
}
