/* tests/unit/worker/transport/shm/segment_test.c - transport/shm/segment.c */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "transport/shm/segment.h"

static void
two_ends_write_what_the_other_reads(void **state)
{
    static uint8_t bytes[RING_ALIGNMENT_BYTES] = "through memory";
    const struct iovec span = {bytes, sizeof(bytes)};
    struct segment *ends[2];
    struct shared_memory_handle place;
    size_t n_bytes;

    assert_ok(segment_create(LIMIT_RING_MAX, &place, &ends[0]));
    assert_int_equal(place.pid, getpid());
    assert_ok(segment_open(&place, &ends[1]));
    segment_close_fd(ends[0]);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ring_write(&ends[i]->out, &span, 1), sizeof(bytes));
        const uint8_t *at = ring_peek(&ends[1 - i]->in, &n_bytes);
        assert_int_equal(n_bytes, sizeof(bytes));
        assert_memory_equal(at, bytes, sizeof(bytes));
    }
    segment_destroy(ends[0]);
    segment_destroy(ends[1]);
}

static void
segment_that_is_sealed_off_cannot_be_opened(void **state)
{
    struct segment *maker;
    struct segment *taker = NULL;
    struct shared_memory_handle place;

    assert_ok(segment_create(LIMIT_RING_MIN, &place, &maker));
    segment_close_fd(maker);
    assert_int_equal(segment_open(&place, &taker), HOOP_E_UNAVAILABLE);
    assert_null(taker);
    segment_destroy(maker);
}

/* The kernel sends SIGXFSZ to a process that makes a file larger than it
 * may. */
static void
segment_beyond_the_file_size_limit_is_an_error(void **state)
{
    struct segment *segment = NULL;
    struct shared_memory_handle place;
    struct rlimit before;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit less = {LIMIT_RING_MIN, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    const enum hoop_status status =
        segment_create(LIMIT_RING_MIN, &place, &segment);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

    assert_int_equal(status, HOOP_E_UNAVAILABLE);
    assert_null(segment);
    assert_non_null(strstr(error_text(), "(RLIMIT_FSIZE, ulimit -f)"));
}

static void
key_must_be_the_makers(void **state)
{
    struct segment *maker;
    struct segment *taker = NULL;
    struct shared_memory_handle place;

    assert_ok(segment_create(LIMIT_RING_MIN, &place, &maker));
    /* The part that is its name, and the part that is not. */
    place.key[0] ^= 1;
    assert_int_equal(segment_open(&place, &taker), HOOP_E_UNAVAILABLE);
    place.key[0] ^= 1;
    place.key[MEMORY_KEY_BYTES - 1] ^= 1;
    assert_int_equal(segment_open(&place, &taker), HOOP_E_DATA_LOSS);
    assert_null(taker);
    segment_destroy(maker);
}

static void
places_without_a_segment_are_out_of_reach(void **state)
{
    static const uint32_t pids[] = {0, 1, UINT32_MAX};
    struct segment *taker = NULL;

    for (unsigned i = 0; i < 3; i++) {
        const struct shared_memory_handle place = {.pid = pids[i], .fd = 1};

        assert_int_equal(segment_open(&place, &taker), HOOP_E_UNAVAILABLE);
    }
    assert_null(taker);
}

/* A file that the name fits, but whose size may change, or is wrong. */
static void
open_false_memory(size_t n_bytes, int seals)
{
    const struct shared_memory_handle zeros = {.pid = (uint32_t)getpid()};
    struct shared_memory_handle place = zeros;
    struct segment *taker = NULL;
    const int fd = memfd_create("hoop-00000000000000000000000000000000",
                                MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)n_bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    place.fd = (uint32_t)fd;
    assert_int_equal(segment_open(&place, &taker), HOOP_E_DATA_LOSS);
    assert_null(taker);
    close(fd);
}

static void
memory_that_is_not_what_it_must_be_is_refused(void **state)
{
    const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

    open_false_memory(4096 + 2 * LIMIT_RING_MIN, 0);
    open_false_memory(4096 + 2 * LIMIT_RING_MIN, F_SEAL_GROW | F_SEAL_SEAL);
    open_false_memory(0, sealed);
    open_false_memory(4096, sealed);
    open_false_memory(4096 + 2 * LIMIT_RING_MIN + 4096, sealed);
    open_false_memory(4096 + 4 * LIMIT_RING_MAX, sealed);
    open_false_memory(4096 + LIMIT_RING_MIN, sealed);
    /* All but what the first page says. */
    open_false_memory(4096 + 2 * LIMIT_RING_MIN, sealed);
}

/* In a child: with its memory closed to others, as another user's is. */
static void
process_that_may_not_be_looked_into_is_out_of_reach(void **state)
{
    struct segment *maker;
    struct shared_memory_handle place;
    int status = -1;

    if (getuid() == 0)
        return; /* who may look into all */
    prctl(PR_SET_DUMPABLE, 0);
    assert_ok(segment_create(LIMIT_RING_MIN, &place, &maker));
    const pid_t pid = fork();
    if (pid == 0) {
        struct segment *taker = NULL;

        _exit(segment_open(&place, &taker) == HOOP_E_UNAVAILABLE ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    prctl(PR_SET_DUMPABLE, 1);
    assert_int_equal(status, 0);
    segment_destroy(maker);
}

static void
forked_child_does_not_have_it(void **state)
{
    struct segment *maker;
    struct shared_memory_handle place;
    unsigned char residency;
    int status = -1;

    assert_ok(segment_create(LIMIT_RING_MIN, &place, &maker));
    const pid_t pid = fork();
    if (pid == 0)
        _exit(mincore(maker->base, 4096, &residency) != 0 ? 0 : 1);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    segment_destroy(maker);
}

static void
rings_are_smaller_where_many_share_a_host(void **state)
{
    assert_int_equal(segment_ring_bytes(2), LIMIT_RING_MAX);
    assert_int_equal(segment_ring_bytes(LIMIT_RANKS), LIMIT_RING_MIN);
    for (uint32_t n = 2; n < 64; n++)
        assert_true(2 * n * segment_ring_bytes(n) <= LIMIT_RING_TOTAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ends_write_what_the_other_reads),
        cmocka_unit_test(segment_that_is_sealed_off_cannot_be_opened),
        cmocka_unit_test(segment_beyond_the_file_size_limit_is_an_error),
        cmocka_unit_test(key_must_be_the_makers),
        cmocka_unit_test(places_without_a_segment_are_out_of_reach),
        cmocka_unit_test(memory_that_is_not_what_it_must_be_is_refused),
        cmocka_unit_test(process_that_may_not_be_looked_into_is_out_of_reach),
        cmocka_unit_test(forked_child_does_not_have_it),
        cmocka_unit_test(rings_are_smaller_where_many_share_a_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
