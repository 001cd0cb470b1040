/*
 * tests/integration/state_sync_test.c - newcomers get the newest state
 *
 * Who has the truth has seed 0. Bytes are counted by the report and by the
 * engine.
 */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "check.h"
#include "engine/engine.h"
#include "holding.h"
#include "ranks.h"

enum {
    N_LACKED = 3
};

static uint64_t
bytes_received(const struct rank *rank)
{
    struct engine_stats stats;

    engine_stats(rank->engine, &stats);
    return stats.transport.bytes_received;
}

/* Who has what in a case. */
struct scene {
    uint32_t (*seed)(const struct rank *rank);
    uint64_t (*version)(const struct rank *rank);
};

static uint32_t
seed_same(const struct rank *rank)
{
    (void)rank;
    return 0;
}

static uint64_t
version_seven(const struct rank *rank)
{
    (void)rank;
    return 7;
}

static uint64_t
version_own(const struct rank *rank)
{
    return 1 + rank->rank;
}

/* The last rank has the truth, all others something else. */
static uint32_t
seed_own(const struct rank *rank)
{
    return rank->size - 1 - rank->rank;
}

/* The first is new. */
static uint32_t
seed_first_new(const struct rank *rank)
{
    return rank->rank == 0 && rank->size > 1;
}

static uint64_t
version_first_new(const struct rank *rank)
{
    return seed_first_new(rank) ? 0 : 5;
}

/* All but the second are new. */
static uint32_t
seed_others_new(const struct rank *rank)
{
    return rank->size > 1 && rank->rank != 1;
}

static uint64_t
version_others_new(const struct rank *rank)
{
    return seed_others_new(rank) ? 0 : 9;
}

static const struct scene scenes[] = {
    {seed_same, version_seven},
    {seed_same, version_own},
    {seed_own, version_own},
    {seed_first_new, version_first_new},
    {seed_others_new, version_others_new},
};

/* Of all ranks, those which have the truth and those which lack it. */
static int
scene_check(struct rank *rank,
            const struct scene *scene,
            const struct hoop_state_report *report)
{
    uint64_t newest = 0;
    uint64_t n_lacking = 0;
    uint32_t n_sources = 0;

    for (uint32_t i = 0; i < rank->size; i++) {
        const struct rank other = {.rank = i, .size = rank->size};
        const uint64_t version = scene->version(&other);

        n_sources = version > newest ? 1 : n_sources + (version == newest);
        newest = version > newest ? version : newest;
        n_lacking += scene->seed(&other) != 0;
    }
    const bool lacks = scene->seed(rank) != 0;
    RANK_CHECK(report->version == newest && report->n_sources == n_sources);
    RANK_CHECK(report->n_blocks == 31 && report->n_bytes == 28585);
    RANK_CHECK(report->blocks_needed == (lacks ? report->n_blocks : 0));
    RANK_CHECK(report->bytes_needed == (lacks ? report->n_bytes : 0));
    RANK_CHECK(report->bytes_moved == n_lacking * report->n_bytes);
    RANK_CHECK(!lacks || report->bytes_sent == 0);
    RANK_CHECK(n_sources > 1 || scene->version(rank) < newest ||
               report->bytes_sent == report->bytes_moved);
    return 0;
}

static int
scenes_body(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        const struct scene *scene = &scenes[i];
        CLEANUP(free)
        struct holding *holding =
            holding_create(scene->seed(rank), scene->version(rank));
        struct hoop_state_report report = {0};

        const enum hoop_status status =
            hoop_state_sync(&holding->state, rank->comm, &report);
        if (status != HOOP_OK)
            fprintf(stderr, "scene %zu: %s\n", i, hoop_error_text());
        RANK_CHECK(status == HOOP_OK);
        RANK_CHECK(holding_is(holding, 0));
        RANK_CHECK(scene_check(rank, scene, &report) == 0);
        RANK_CHECK(hoop_state_sync(&holding->state, rank->comm, NULL) ==
                   HOOP_OK);
    }
    const struct hoop_state nothing = {.version = 1 + rank->rank};
    struct hoop_state_report report = {0};
    RANK_CHECK(hoop_state_sync(&nothing, rank->comm, &report) == HOOP_OK);
    RANK_CHECK(report.version == rank->size && report.n_blocks == 0);
    return 0;
}

static void
all_ranks_have_the_newest(void **state)
{
    static const uint32_t worlds[] = {1, 2, 3, 4, 8};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(worlds); i++)
        assert_int_equal(ranks_run_all(worlds[i], scenes_body), 0);
}

/* Rank 2 lacks three blocks, of which no byte more comes. */
static int
counted_body(struct rank *rank)
{
    const bool is_new = rank->rank == 2;
    struct hoop_named_tensor named = holding_blocks();
    CLEANUP(free) uint8_t *bytes = named.tensor.data;
    const struct hoop_state state = {&named, 1, is_new ? 3 : 4, BLOCK};
    struct hoop_state_report report;

    if (is_new)
        bytes[17] ^= bytes[500 * BLOCK] ^= bytes[HOLDING_BLOCKS * BLOCK - 1] ^=
            0xff;
    const uint64_t before = bytes_received(rank);
    RANK_CHECK(hoop_state_sync(&state, rank->comm, &report) == HOOP_OK);
    const uint64_t n_came = bytes_received(rank) - before;
    RANK_CHECK(holding_blocks_are_right(&named));
    RANK_CHECK(report.blocks_needed == (is_new ? N_LACKED : 0));
    RANK_CHECK(report.bytes_needed == (is_new ? N_LACKED * BLOCK : 0));
    RANK_CHECK(report.bytes_moved == N_LACKED * BLOCK);
    RANK_CHECK(is_new || report.bytes_sent == BLOCK);
    /* Beside them, at most the hashes of all blocks, their bits, and what four
     * ranks say, as often as an algorithm may pass it on. */
    RANK_CHECK(n_came >= report.bytes_needed);
    RANK_CHECK(n_came < report.bytes_needed + 3 * (HOLDING_BLOCKS * 16 + 1024));
    return 0;
}

static void
rank_that_lacks_three_blocks_gets_three(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(4, counted_body), 0);
}

/* Where all have the same, no hash of a block is sent. */
static int
equal_body(struct rank *rank)
{
    struct hoop_named_tensor named = holding_blocks();
    const struct hoop_state state = {&named, 1, rank->rank, BLOCK};
    struct hoop_state_report report;
    struct engine_stats before;
    struct engine_stats after;

    engine_stats(rank->engine, &before);
    RANK_CHECK(hoop_state_sync(&state, rank->comm, &report) == HOOP_OK);
    engine_stats(rank->engine, &after);
    RANK_CHECK(after.operations - before.operations == 1);
    RANK_CHECK(after.transport.bytes_received -
                   before.transport.bytes_received <
               1024);
    RANK_CHECK(report.version == 3 && report.bytes_moved == 0);
    free(named.tensor.data);
    return 0;
}

static void
equal_states_cost_one_small_exchange(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(4, equal_body), 0);
}

/* Two of five are new: three sources share what each of them lacks. */
static int
even_body(struct rank *rank)
{
    const bool is_new = rank->rank == 1 || rank->rank == 4;
    struct hoop_named_tensor named = holding_blocks();
    CLEANUP(free) uint8_t *bytes = named.tensor.data;
    const struct hoop_state state = {&named, 1, !is_new, BLOCK};
    struct hoop_state_report report;

    if (is_new)
        memset(bytes, (int)rank->rank, HOLDING_BLOCKS * BLOCK);
    RANK_CHECK(hoop_state_sync(&state, rank->comm, &report) == HOOP_OK);
    RANK_CHECK(holding_blocks_are_right(&named));
    RANK_CHECK(report.n_sources == 3);
    RANK_CHECK(report.bytes_moved == 2 * HOLDING_BLOCKS * BLOCK);
    const uint64_t share = report.bytes_moved / 3;
    RANK_CHECK(is_new || (report.bytes_sent + 2 * BLOCK > share &&
                          report.bytes_sent < share + 2 * BLOCK));
    return 0;
}

static void
sources_share_evenly(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(5, even_body), 0);
}

/* Sanitizers shadow memory that nobody has. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* More bytes than 32 bits count, of which the last are new; of the others no
 * page is written, and all are one. */
static const size_t N_VAST = ((size_t)1 << 32) + 4 * BLOCK + 1;

static int
vast_body(struct rank *rank)
{
    const bool is_new = rank->rank == 1;
    uint8_t *bytes = mmap(NULL, N_VAST, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    RANK_CHECK(bytes != MAP_FAILED);
    (void)madvise(bytes, N_VAST, MADV_HUGEPAGE);
    const struct hoop_named_tensor named = {
        "t", {bytes, HOOP_UINT8, {1, {N_VAST}}, NULL}};
    const struct hoop_state state = {&named, 1, !is_new, 0};
    struct hoop_state_report report;

    if (!is_new)
        bytes[N_VAST - 1] = bytes[N_VAST - 5 * BLOCK] = 1;
    RANK_CHECK(hoop_state_sync(&state, rank->comm, &report) == HOOP_OK);
    RANK_CHECK(bytes[N_VAST - 1] == 1 && bytes[N_VAST - 5 * BLOCK] == 1);
    RANK_CHECK(bytes[N_VAST - 2] == 0);
    RANK_CHECK(report.n_blocks == 16385 && report.n_bytes == N_VAST);
    RANK_CHECK(report.blocks_needed == (is_new ? 2 : 0));
    RANK_CHECK(report.bytes_moved == 256 * BLOCK + 4 * BLOCK + 1);
    return 0;
}

static void
end_of_a_vast_tensor_comes(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(2, vast_body), 0);
}

#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_have_the_newest),
        cmocka_unit_test(rank_that_lacks_three_blocks_gets_three),
        cmocka_unit_test(equal_states_cost_one_small_exchange),
        cmocka_unit_test(sources_share_evenly),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(end_of_a_vast_tensor_comes),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
