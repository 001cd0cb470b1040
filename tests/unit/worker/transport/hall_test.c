/* tests/unit/worker/transport/hall_test.c - transport/hall.c */

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "hall_guests.h"
#include "transport/hall.h"
#include "transport/hall_parts.h"
#include "transport/stamp.h"

enum {
    N_ROUNDS = 20000,
};

static void
what_one_posts_all_find(void **state)
{
    static const size_t sizes[] = {
        0,          1, HALL_INLINE, HALL_INLINE + 1, HALL_SMALL, HALL_SMALL + 1,
        GUESTS_SLOT};
    static uint8_t bytes[GUESTS_SLOT] = "for all";
    struct hall *halls[3];
    uint32_t late;

    (void)state;
    guests_enter(halls, 3);
    assert_int_equal(hall_n_slot(halls[1]), GUESTS_SLOT);
    for (uint64_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        bytes[0]++;
        assert_true(hall_is_free(halls[1], i + 1, sizes[i], &late));
        guest_post(halls[1], i + 1, bytes, sizes[i]);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_false(hall_look(halls[rank], 0, i + 1));
            assert_true(hall_look(halls[rank], 1, i + 1));
            const struct hall_header *header = hall_header_of(halls[rank], 1);
            assert_int_equal(header->signature, 3 * (i + 1));
            assert_int_equal(header->count, sizes[i]);
            assert_int_equal(header->root, 7);
            const uint8_t *at = hall_bytes(halls[rank], 1, 0, sizes[i]);
            assert_memory_equal(at, bytes, sizes[i]);
            hall_finish(halls[rank], i + 1);
        }
    }
    guests_leave(halls, 3);
}

static void
slot_is_free_when_all_others_are_through(void **state)
{
    static const uint8_t bytes[GUESTS_SLOT];
    const uint64_t first = GUESTS_GROWING;
    const uint64_t fifth = stamp_of(first + 5, 0, 0);
    struct hall *halls[3];
    uint32_t late = 9;

    (void)state;
    guests_enter(halls, 3);
    guests_fill_ring(halls, 3);
    for (uint64_t i = 1; i <= 4; i++)
        guest_post(halls[0], stamp_of(first + i, 0, 0), bytes, GUESTS_SLOT);
    assert_false(hall_is_free(halls[0], fifth, GUESTS_SLOT, &late));
    assert_int_equal(late, 1);
    assert_true(hall_is_free(halls[0], fifth, HALL_SMALL, &late));
    hall_finish(halls[1], stamp_of(first + 1, 0, 0));
    assert_false(hall_is_free(halls[0], fifth, GUESTS_SLOT, &late));
    assert_int_equal(late, 2);
    /* Who posts in round 2 has finished round 1; not so round 2. */
    guest_post(halls[2], stamp_of(first + 2, 0, 0), "c", 1);
    assert_true(hall_look(halls[0], 2, stamp_of(first + 2, 0, 0)));
    assert_true(hall_is_free(halls[0], fifth, GUESTS_SLOT, &late));
    guest_post(halls[0], fifth, bytes, GUESTS_SLOT);
    assert_false(
        hall_is_free(halls[0], stamp_of(first + 6, 0, 0), GUESTS_SLOT, &late));
    guests_leave(halls, 3);
}

/* What is little. */
static void
who_only_posts_may_be_far_ahead(void **state)
{
    struct hall *halls[2];
    uint64_t n_ahead = 0;
    uint32_t late;

    (void)state;
    guests_enter(halls, 2);
    while (hall_is_free(halls[0], stamp_of(n_ahead + 1, 0, 0), HALL_SMALL,
                        &late)) {
        char bytes[HALL_SMALL] = {(char)n_ahead++};
        guest_post(halls[0], stamp_of(n_ahead, 0, 0), bytes, sizeof(bytes));
    }
    assert_int_equal(n_ahead, HALL_FIRST_LINES);
    for (uint64_t i = 1; i <= n_ahead; i++) {
        assert_true(hall_look(halls[1], 0, stamp_of(i, 0, 0)));
        assert_int_equal(*hall_bytes(halls[1], 0, 0, HALL_SMALL), i - 1);
        hall_finish(halls[1], stamp_of(i, 0, 0));
    }
    assert_true(hall_is_free(halls[0], stamp_of(2 * n_ahead, 0, 0), 1, &late));
    guests_leave(halls, 2);
}

static void
round_that_is_not_there_is_not_found(void **state)
{
    struct hall *halls[2];

    (void)state;
    guests_enter(halls, 2);
    guest_post(halls[1], 5, "a", 1);
    assert_false(hall_look(halls[0], 1, 4));
    guest_post(halls[1], 6, "b", 1);
    assert_true(hall_look(halls[0], 1, 6));
    assert_true(hall_look(halls[0], 1, 5));
    assert_false(hall_look(halls[0], 1, 7));
    guests_leave(halls, 2);
}

static void
what_is_withdrawn_is_not_found(void **state)
{
    struct hall *halls[2];
    struct hall_header header;
    uint32_t late;

    (void)state;
    guests_enter(halls, 2);
    guest_post(halls[1], stamp_of(5, 0, 0), "a", 1);
    guest_post(halls[1], stamp_of(6, 0, 0), "b", 1);
    hall_withdraw(halls[1], 6);
    assert_false(hall_look(halls[0], 1, stamp_of(6, 0, 0)));
    assert_true(hall_look(halls[0], 1, stamp_of(5, 0, 0)));
    assert_false(hall_look_back(halls[0], 1, &header));
    hall_finish(halls[0], stamp_end(6));
    assert_true(hall_is_free(halls[1], stamp_of(7, 0, 0), GUESTS_SLOT, &late));
    guests_leave(halls, 2);
}

/* Rounds 4095 and 4096 of one stage, and of an operation that then fails. */
static void
rounds_may_be_more_than_a_stamp_counts(void **state)
{
    static const uint8_t bytes[GUESTS_SLOT];
    const uint32_t last = STAMP_ROUNDS - 1;
    const uint64_t op = GUESTS_GROWING + 1;
    struct hall *halls[2];
    uint32_t late;

    (void)state;
    guests_enter(halls, 2);
    guests_fill_ring(halls, 2);
    for (uint32_t round = last - 1; round < last + 3; round++) {
        const uint64_t stamp = stamp_of(op, 0, round);

        assert_true(hall_is_free(halls[0], stamp, GUESTS_SLOT, &late));
        guest_post(halls[0], stamp, bytes, GUESTS_SLOT);
        guest_post(halls[1], stamp, "b", 1);
        assert_true(hall_look(halls[1], 0, stamp));
        assert_true(hall_look(halls[0], 1, stamp));
        assert_false(hall_look(halls[1], 0, stamp_next(stamp)));
        /* Rank 1 has not read it, but all before it. */
        hall_finish(halls[0], stamp);
    }
    for (uint32_t round = last + 3; round < last + 6; round++)
        guest_post(halls[0], stamp_of(op, 0, round), bytes, GUESTS_SLOT);
    assert_false(
        hall_is_free(halls[0], stamp_of(op, 0, last + 6), GUESTS_SLOT, &late));
    hall_withdraw(halls[0], op);
    for (uint32_t round = last + 2; round < last + 6; round++)
        assert_false(hall_look(halls[1], 0, stamp_of(op, 0, round)));
    hall_finish(halls[1], stamp_end(op));
    assert_true(
        hall_is_free(halls[0], stamp_of(op + 1, 0, 0), GUESTS_SLOT, &late));
    guests_leave(halls, 2);
}

static void
what_is_read_stays_while_others_are_asked_for(void **state)
{
    struct hall *halls[2];

    (void)state;
    guests_enter(halls, 2);
    guest_post(halls[1], 5, "a", 1);
    guest_post(halls[1], 6, "b", 1);
    assert_true(hall_look(halls[0], 1, 5));
    assert_true(hall_has(halls[0], 1, 6));
    assert_false(hall_has(halls[0], 1, 7));
    assert_int_equal(*hall_bytes(halls[0], 1, 0, 1), 'a');
    guests_leave(halls, 2);
}

static void
what_was_not_fetched_is_found_later(void **state)
{
    struct hall *halls[2];
    struct hall_header header;

    (void)state;
    guests_enter(halls, 2);
    guest_post(halls[1], 5, "a", 1);
    guest_post(halls[1], 6, "b", 1);
    assert_true(hall_look(halls[0], 1, 6));
    assert_true(hall_look_back(halls[0], 1, &header));
    assert_int_equal(header.stamp, 5);
    assert_int_equal(header.signature, 15);
    assert_false(hall_look_back(halls[0], 1, &header));
    guests_leave(halls, 2);
}

static void
more_than_was_posted_is_not_there(void **state)
{
    struct hall *halls[2];

    (void)state;
    guests_enter(halls, 2);
    guest_post(halls[0], 1, "in the line", 11);
    assert_true(hall_look(halls[1], 0, 1));
    assert_non_null(hall_bytes(halls[1], 0, 0, HALL_INLINE));
    assert_non_null(hall_bytes(halls[1], 0, HALL_INLINE, 0));
    assert_null(hall_bytes(halls[1], 0, 1, HALL_INLINE));
    assert_null(hall_bytes(halls[1], 0, HALL_INLINE + 1, 0));
    assert_null(hall_bytes(halls[1], 0, SIZE_MAX, 2));
    guests_leave(halls, 2);
}

static void
who_sleeps_is_woken_once(void **state)
{
    struct hall *halls[3];

    (void)state;
    guests_enter(halls, 3);
    assert_int_equal(hall_sleepers(halls[0]), 0);
    hall_rest(halls[0]);
    hall_rest(halls[2]);
    assert_int_equal(hall_sleepers(halls[0]), 4);
    assert_int_equal(hall_sleepers(halls[0]), 0);
    assert_int_equal(hall_sleepers(halls[1]), 1);
    hall_rouse(halls[0]);
    hall_rest(halls[2]);
    hall_rouse(halls[2]);
    assert_int_equal(hall_sleepers(halls[0]), 0);
    guests_leave(halls, 3);
}

/* A file that the name fits, but that is no hall. */
static void
open_false_hall(size_t n_bytes)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct memory_place place = {.pid = (uint32_t)getpid()};
    struct hall *hall = NULL;
    const int fd = memfd_create("hoop-00000000000000000000000000000000",
                                MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)n_bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    place.fd = (uint32_t)fd;
    assert_int_equal(hall_open(&place, 1, 2, &hall), HOOP_E_DATA_LOSS);
    assert_null(hall);
    close(fd);
}

static void
memory_that_is_no_hall_is_refused(void **state)
{
    struct memory_place place;
    struct hall *maker;
    struct hall *taker = NULL;

    (void)state;
    open_false_hall(0);
    open_false_hall(4096);
    open_false_hall(4096 + 4 * 4096);
    open_false_hall(4096 + 4096);
    open_false_hall((size_t)1 << 30);
    assert_int_equal(hall_create(2, GUESTS_SLOT, &place, &maker), HOOP_OK);
    assert_int_equal(hall_open(&place, 1, 3, &taker), HOOP_E_DATA_LOSS);
    place.key[MEMORY_KEY - 1] ^= 1;
    assert_int_equal(hall_open(&place, 1, 2, &taker), HOOP_E_DATA_LOSS);
    hall_destroy(maker);
    assert_int_equal(hall_open(&place, 1, 2, &taker), HOOP_E_UNAVAILABLE);
    assert_null(taker);
}

static void
slots_are_smaller_where_many_share(void **state)
{
    (void)state;
    assert_int_equal(hall_slot_bytes(2), LIMIT_HALL_SLOT_MAX);
    assert_int_equal(hall_slot_bytes(HALL_RANKS), LIMIT_HALL_SLOT_MIN);
    for (uint32_t n = 2; n <= HALL_RANKS; n++)
        assert_true(4 * n * hall_slot_bytes(n) <= LIMIT_HALL);
}

static void
forked_child_does_not_have_it(void **state)
{
    struct memory_place place;
    struct hall *hall;
    uint32_t late;
    int status = -1;

    (void)state;
    assert_int_equal(hall_create(2, GUESTS_SLOT, &place, &hall), HOOP_OK);
    assert_true(hall_is_free(hall, 1, GUESTS_SLOT, &late));
    uint8_t *slot = hall_place(hall, 1, GUESTS_SLOT);
    const pid_t pid = fork();
    if (pid == 0) {
        unsigned char residency;

        _exit(mincore(slot, GUESTS_SLOT, &residency) != 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    hall_destroy(hall);
}

/* Sum of what both post, again and again: 0, or 1 when it was wrong. */
static int
add_up(struct hall *hall, uint32_t other, uint64_t own)
{
    uint32_t late;

    for (uint64_t stamp = 1; stamp <= N_ROUNDS; stamp++) {
        uint64_t values[8];
        const size_t n_bytes = stamp % 2 ? sizeof(values) : sizeof(values[0]);

        for (unsigned i = 0; i < 8; i++)
            values[i] = own * stamp + i;
        while (!hall_is_free(hall, stamp, n_bytes, &late))
            sched_yield();
        guest_post(hall, stamp, values, n_bytes);
        while (!hall_look(hall, other, stamp))
            sched_yield();
        memcpy(values, hall_bytes(hall, other, 0, n_bytes), n_bytes);
        for (unsigned i = 0; i < n_bytes / sizeof(values[0]); i++) {
            if (values[i] != (3 - own) * stamp + i)
                return 1;
        }
        hall_finish(hall, stamp);
    }
    return 0;
}

static void
two_processes_read_what_was_meant(void **state)
{
    struct memory_place place;
    struct hall *hall;
    int status = -1;

    (void)state;
    assert_int_equal(hall_create(2, GUESTS_SLOT, &place, &hall), HOOP_OK);
    const pid_t pid = fork();
    if (pid == 0) {
        struct hall *taker = NULL;

        if (hall_open(&place, 1, 2, &taker) != HOOP_OK)
            _exit(2);
        _exit(add_up(taker, 0, 2));
    }
    assert_int_equal(add_up(hall, 1, 1), 0);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    hall_destroy(hall);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_posts_all_find),
        cmocka_unit_test(slot_is_free_when_all_others_are_through),
        cmocka_unit_test(who_only_posts_may_be_far_ahead),
        cmocka_unit_test(round_that_is_not_there_is_not_found),
        cmocka_unit_test(what_is_withdrawn_is_not_found),
        cmocka_unit_test(rounds_may_be_more_than_a_stamp_counts),
        cmocka_unit_test(what_is_read_stays_while_others_are_asked_for),
        cmocka_unit_test(what_was_not_fetched_is_found_later),
        cmocka_unit_test(more_than_was_posted_is_not_there),
        cmocka_unit_test(who_sleeps_is_woken_once),
        cmocka_unit_test(memory_that_is_no_hall_is_refused),
        cmocka_unit_test(slots_are_smaller_where_many_share),
        cmocka_unit_test(forked_child_does_not_have_it),
        cmocka_unit_test(two_processes_read_what_was_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
