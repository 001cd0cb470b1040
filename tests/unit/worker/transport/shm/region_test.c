/* tests/unit/worker/transport/shm/region_test.c - transport/shm/region.c */

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
#include "region_ranks.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

enum {
    N_ROUNDS = 20000,
};

static void
what_one_posts_all_find(void **state)
{
    static const size_t sizes[] = {0,
                                   1,
                                   SHM_REGION_INLINE_BYTES,
                                   SHM_REGION_INLINE_BYTES + 1,
                                   SHM_REGION_SMALL_BYTES,
                                   SHM_REGION_SMALL_BYTES + 1,
                                   REGION_RANKS_SLOT};
    static uint8_t bytes[REGION_RANKS_SLOT] = "for all";
    struct shm_region *shm_regions[3];
    uint32_t late;

    region_ranks_open(shm_regions, 3);
    assert_int_equal(shm_region_bytes_per_slot(shm_regions[1]),
                     REGION_RANKS_SLOT);
    for (uint64_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        bytes[0]++;
        assert_true(
            shm_region_can_publish(shm_regions[1], i + 1, sizes[i], &late));
        region_rank_post(shm_regions[1], i + 1, bytes, sizes[i]);
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_false(shm_region_poll(shm_regions[rank], 0, i + 1));
            assert_true(shm_region_poll(shm_regions[rank], 1, i + 1));
            const struct shm_region_header *header =
                shm_region_header_with_call(shm_regions[rank], 1);
            assert_int_equal(header->signature, 3 * (i + 1));
            assert_int_equal(header->count, sizes[i]);
            assert_int_equal(header->root, 7);
            const uint8_t *at =
                shm_region_payload(shm_regions[rank], 1, 0, sizes[i]);
            assert_memory_equal(at, bytes, sizes[i]);
            shm_region_mark_finished(shm_regions[rank], i + 1);
        }
    }
    region_ranks_close(shm_regions, 3);
}

static void
slot_is_free_when_all_others_are_through(void **state)
{
    static const uint8_t bytes[REGION_RANKS_SLOT];
    const uint64_t first = REGION_RANKS_GROWING;
    const uint64_t fifth = sequence_make(first + 5, 0, 0);
    struct shm_region *shm_regions[3];
    uint32_t late = 9;

    region_ranks_open(shm_regions, 3);
    region_ranks_fill_ring(shm_regions, 3);
    for (uint64_t i = 1; i <= 4; i++)
        region_rank_post(shm_regions[0], sequence_make(first + i, 0, 0), bytes,
                         REGION_RANKS_SLOT);
    assert_false(shm_region_can_publish(shm_regions[0], fifth,
                                        REGION_RANKS_SLOT, &late));
    assert_int_equal(late, 1);
    assert_true(shm_region_can_publish(shm_regions[0], fifth,
                                       SHM_REGION_SMALL_BYTES, &late));
    shm_region_mark_finished(shm_regions[1], sequence_make(first + 1, 0, 0));
    assert_false(shm_region_can_publish(shm_regions[0], fifth,
                                        REGION_RANKS_SLOT, &late));
    assert_int_equal(late, 2);
    /* Who posts in round 2 has finished round 1; not so round 2. */
    region_rank_post(shm_regions[2], sequence_make(first + 2, 0, 0), "c", 1);
    assert_true(
        shm_region_poll(shm_regions[0], 2, sequence_make(first + 2, 0, 0)));
    assert_true(shm_region_can_publish(shm_regions[0], fifth, REGION_RANKS_SLOT,
                                       &late));
    region_rank_post(shm_regions[0], fifth, bytes, REGION_RANKS_SLOT);
    assert_false(shm_region_can_publish(shm_regions[0],
                                        sequence_make(first + 6, 0, 0),
                                        REGION_RANKS_SLOT, &late));
    region_ranks_close(shm_regions, 3);
}

/* What is little. */
static void
who_only_posts_may_be_far_ahead(void **state)
{
    struct shm_region *shm_regions[2];
    uint64_t n_ahead = 0;
    uint32_t late;

    region_ranks_open(shm_regions, 2);
    while (shm_region_can_publish(shm_regions[0],
                                  sequence_make(n_ahead + 1, 0, 0),
                                  SHM_REGION_SMALL_BYTES, &late)) {
        char bytes[SHM_REGION_SMALL_BYTES] = {(char)n_ahead++};
        region_rank_post(shm_regions[0], sequence_make(n_ahead, 0, 0), bytes,
                         sizeof(bytes));
    }
    assert_int_equal(n_ahead, SHM_REGION_FIRST_ROUND_LINES);
    for (uint64_t i = 1; i <= n_ahead; i++) {
        assert_true(shm_region_poll(shm_regions[1], 0, sequence_make(i, 0, 0)));
        assert_int_equal(
            *shm_region_payload(shm_regions[1], 0, 0, SHM_REGION_SMALL_BYTES),
            i - 1);
        shm_region_mark_finished(shm_regions[1], sequence_make(i, 0, 0));
    }
    assert_true(shm_region_can_publish(
        shm_regions[0], sequence_make(2 * n_ahead, 0, 0), 1, &late));
    region_ranks_close(shm_regions, 2);
}

static void
round_that_is_not_there_is_not_found(void **state)
{
    struct shm_region *shm_regions[2];

    region_ranks_open(shm_regions, 2);
    region_rank_post(shm_regions[1], 5, "a", 1);
    assert_false(shm_region_poll(shm_regions[0], 1, 4));
    region_rank_post(shm_regions[1], 6, "b", 1);
    assert_true(shm_region_poll(shm_regions[0], 1, 6));
    assert_true(shm_region_poll(shm_regions[0], 1, 5));
    assert_false(shm_region_poll(shm_regions[0], 1, 7));
    region_ranks_close(shm_regions, 2);
}

static void
what_is_withdrawn_is_not_found(void **state)
{
    struct shm_region *shm_regions[2];
    struct shm_region_header header;
    uint32_t late;

    region_ranks_open(shm_regions, 2);
    region_rank_post(shm_regions[1], sequence_make(5, 0, 0), "a", 1);
    region_rank_post(shm_regions[1], sequence_make(6, 0, 0), "b", 1);
    shm_region_retract_posts(shm_regions[1], 6);
    assert_false(shm_region_poll(shm_regions[0], 1, sequence_make(6, 0, 0)));
    assert_true(shm_region_poll(shm_regions[0], 1, sequence_make(5, 0, 0)));
    assert_false(shm_region_take_unseen_post(shm_regions[0], 1, &header));
    shm_region_mark_finished(shm_regions[0], sequence_end(6));
    assert_true(shm_region_can_publish(shm_regions[1], sequence_make(7, 0, 0),
                                       REGION_RANKS_SLOT, &late));
    region_ranks_close(shm_regions, 2);
}

/* Rounds 4095 and 4096 of one stage, and of an operation that then fails. */
static void
rounds_may_be_more_than_a_stamp_counts(void **state)
{
    static const uint8_t bytes[REGION_RANKS_SLOT];
    const uint32_t last = SEQUENCE_N_ROUNDS - 1;
    const uint64_t op = REGION_RANKS_GROWING + 1;
    struct shm_region *shm_regions[2];
    uint32_t late;

    region_ranks_open(shm_regions, 2);
    region_ranks_fill_ring(shm_regions, 2);
    for (uint32_t round = last - 1; round < last + 3; round++) {
        const uint64_t sequence = sequence_make(op, 0, round);

        assert_true(shm_region_can_publish(shm_regions[0], sequence,
                                           REGION_RANKS_SLOT, &late));
        region_rank_post(shm_regions[0], sequence, bytes, REGION_RANKS_SLOT);
        region_rank_post(shm_regions[1], sequence, "b", 1);
        assert_true(shm_region_poll(shm_regions[1], 0, sequence));
        assert_true(shm_region_poll(shm_regions[0], 1, sequence));
        assert_false(
            shm_region_poll(shm_regions[1], 0, sequence_next(sequence)));
        /* Rank 1 has not read it, but all before it. */
        shm_region_mark_finished(shm_regions[0], sequence);
    }
    for (uint32_t round = last + 3; round < last + 6; round++)
        region_rank_post(shm_regions[0], sequence_make(op, 0, round), bytes,
                         REGION_RANKS_SLOT);
    assert_false(shm_region_can_publish(shm_regions[0],
                                        sequence_make(op, 0, last + 6),
                                        REGION_RANKS_SLOT, &late));
    shm_region_retract_posts(shm_regions[0], op);
    for (uint32_t round = last + 2; round < last + 6; round++)
        assert_false(
            shm_region_poll(shm_regions[1], 0, sequence_make(op, 0, round)));
    shm_region_mark_finished(shm_regions[1], sequence_end(op));
    assert_true(shm_region_can_publish(
        shm_regions[0], sequence_make(op + 1, 0, 0), REGION_RANKS_SLOT, &late));
    region_ranks_close(shm_regions, 2);
}

static void
what_is_read_stays_while_others_are_asked_for(void **state)
{
    struct shm_region *shm_regions[2];

    region_ranks_open(shm_regions, 2);
    region_rank_post(shm_regions[1], 5, "a", 1);
    region_rank_post(shm_regions[1], 6, "b", 1);
    assert_true(shm_region_poll(shm_regions[0], 1, 5));
    assert_true(shm_region_has_posted(shm_regions[0], 1, 6));
    assert_false(shm_region_has_posted(shm_regions[0], 1, 7));
    assert_int_equal(*shm_region_payload(shm_regions[0], 1, 0, 1), 'a');
    region_ranks_close(shm_regions, 2);
}

static void
what_was_not_fetched_is_found_later(void **state)
{
    struct shm_region *shm_regions[2];
    struct shm_region_header header;

    region_ranks_open(shm_regions, 2);
    region_rank_post(shm_regions[1], 5, "a", 1);
    region_rank_post(shm_regions[1], 6, "b", 1);
    assert_true(shm_region_poll(shm_regions[0], 1, 6));
    assert_true(shm_region_take_unseen_post(shm_regions[0], 1, &header));
    assert_int_equal(header.sequence, 5);
    assert_int_equal(header.signature, 15);
    assert_false(shm_region_take_unseen_post(shm_regions[0], 1, &header));
    region_ranks_close(shm_regions, 2);
}

static void
more_than_was_posted_is_not_there(void **state)
{
    struct shm_region *shm_regions[2];

    region_ranks_open(shm_regions, 2);
    region_rank_post(shm_regions[0], 1, "in the line", 11);
    assert_true(shm_region_poll(shm_regions[1], 0, 1));
    assert_non_null(
        shm_region_payload(shm_regions[1], 0, 0, SHM_REGION_INLINE_BYTES));
    assert_non_null(
        shm_region_payload(shm_regions[1], 0, SHM_REGION_INLINE_BYTES, 0));
    assert_null(
        shm_region_payload(shm_regions[1], 0, 1, SHM_REGION_INLINE_BYTES));
    assert_null(
        shm_region_payload(shm_regions[1], 0, SHM_REGION_INLINE_BYTES + 1, 0));
    assert_null(shm_region_payload(shm_regions[1], 0, SIZE_MAX, 2));
    region_ranks_close(shm_regions, 2);
}

static void
who_sleeps_is_woken_once(void **state)
{
    struct shm_region *shm_regions[3];

    region_ranks_open(shm_regions, 3);
    assert_int_equal(shm_region_take_sleepers(shm_regions[0]), 0);
    shm_region_set_sleeping(shm_regions[0]);
    shm_region_set_sleeping(shm_regions[2]);
    assert_int_equal(shm_region_take_sleepers(shm_regions[0]), 4);
    assert_int_equal(shm_region_take_sleepers(shm_regions[0]), 0);
    assert_int_equal(shm_region_take_sleepers(shm_regions[1]), 1);
    shm_region_clear_sleeping(shm_regions[0]);
    shm_region_set_sleeping(shm_regions[2]);
    shm_region_clear_sleeping(shm_regions[2]);
    assert_int_equal(shm_region_take_sleepers(shm_regions[0]), 0);
    region_ranks_close(shm_regions, 3);
}

/* A file that the name fits, but that is no shared region. */
static void
open_false_region(size_t n_bytes)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct shared_memory_handle place = {.pid = (uint32_t)getpid()};
    struct shm_region *shm_region = NULL;
    const int fd = memfd_create("hoop-00000000000000000000000000000000",
                                MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)n_bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    place.fd = (uint32_t)fd;
    assert_int_equal(shm_region_open(&place, 1, 2, &shm_region),
                     HOOP_E_DATA_LOSS);
    assert_null(shm_region);
    close(fd);
}

static void
memory_that_is_no_hall_is_refused(void **state)
{
    struct shared_memory_handle place;
    struct shm_region *maker;
    struct shm_region *taker = NULL;

    open_false_region(0);
    open_false_region(4096);
    open_false_region(4096 + 4 * 4096);
    open_false_region(4096 + 4096);
    open_false_region((size_t)1 << 30);
    assert_ok(shm_region_create(2, REGION_RANKS_SLOT, &place, &maker));
    assert_int_equal(shm_region_open(&place, 1, 3, &taker), HOOP_E_DATA_LOSS);
    place.key[MEMORY_KEY_BYTES - 1] ^= 1;
    assert_int_equal(shm_region_open(&place, 1, 2, &taker), HOOP_E_DATA_LOSS);
    shm_region_destroy(maker);
    assert_int_equal(shm_region_open(&place, 1, 2, &taker), HOOP_E_UNAVAILABLE);
    assert_null(taker);
}

static void
forked_child_does_not_have_it(void **state)
{
    struct shared_memory_handle place;
    struct shm_region *shm_region;
    uint32_t late;
    int status = -1;

    assert_ok(shm_region_create(2, REGION_RANKS_SLOT, &place, &shm_region));
    assert_true(
        shm_region_can_publish(shm_region, 1, REGION_RANKS_SLOT, &late));
    uint8_t *slot = shm_region_reserve(shm_region, 1, REGION_RANKS_SLOT);
    const pid_t pid = fork();
    if (pid == 0) {
        unsigned char residency;

        _exit(mincore(slot, REGION_RANKS_SLOT, &residency) != 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    shm_region_destroy(shm_region);
}

/* Sum of what both post, again and again: 0, or 1 when it was wrong. */
static int
add_up(struct shm_region *shm_region, uint32_t other, uint64_t own)
{
    uint32_t late;

    for (uint64_t sequence = 1; sequence <= N_ROUNDS; sequence++) {
        uint64_t values[8];
        const size_t n_bytes =
            sequence % 2 ? sizeof(values) : sizeof(values[0]);

        for (unsigned i = 0; i < 8; i++)
            values[i] = own * sequence + i;
        while (!shm_region_can_publish(shm_region, sequence, n_bytes, &late))
            sched_yield();
        region_rank_post(shm_region, sequence, values, n_bytes);
        while (!shm_region_poll(shm_region, other, sequence))
            sched_yield();
        memcpy(values, shm_region_payload(shm_region, other, 0, n_bytes),
               n_bytes);
        for (unsigned i = 0; i < n_bytes / sizeof(values[0]); i++) {
            if (values[i] != (3 - own) * sequence + i)
                return 1;
        }
        shm_region_mark_finished(shm_region, sequence);
    }
    return 0;
}

static void
two_processes_read_what_was_meant(void **state)
{
    struct shared_memory_handle place;
    struct shm_region *shm_region;
    int status = -1;

    assert_ok(shm_region_create(2, REGION_RANKS_SLOT, &place, &shm_region));
    const pid_t pid = fork();
    if (pid == 0) {
        struct shm_region *taker = NULL;

        if (shm_region_open(&place, 1, 2, &taker) != HOOP_OK)
            _exit(2);
        _exit(add_up(taker, 0, 2));
    }
    assert_int_equal(add_up(shm_region, 1, 1), 0);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    shm_region_destroy(shm_region);
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
        cmocka_unit_test(forked_child_does_not_have_it),
        cmocka_unit_test(two_processes_read_what_was_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
