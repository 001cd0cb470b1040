/*
 * tests/integration/recovery/state_sync_test.c - new ranks get the newest state
 *
 * A rank that has the newest state has seed 0. The test compares the bytes in
 * the report with those that the engine counts.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hoop/state.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "engine/engine.h"
#include "fault/fault.h"
#include "ranks.h"

/* The state of a rank, whose bytes follow from a seed. */

enum {
    BLOCK = 1024,
    TEST_STATE_TENSORS = 6,
    TEST_STATE_ROOM = 1 << 16,
    TEST_STATE_BLOCKS = 1000, /* used by test_state_blocks() */
};

/* The tensors have many sizes, and none is aligned. */
struct test_state {
    uint8_t memory[TEST_STATE_ROOM];
    struct hoop_named_tensor tensors[TEST_STATE_TENSORS];
    struct hoop_state state;
};

enum {
    EDGE = 64, /* bytes around each tensor that must not change */
    EDGE_BYTE = 0xee,
};

static const size_t sizes[TEST_STATE_TENSORS] = {
    0, 4, 4 * BLOCK, 20 * BLOCK + 4, 4000, 1};
static const char *const names[TEST_STATE_TENSORS] = {"empty", "s", "w",
                                                      "large", "b", "one"};

static uint8_t
byte_of(uint32_t seed, size_t tensor, size_t at)
{
    return (uint8_t)(seed * 77 + tensor * 31 + at * 7 + at / 251);
}

/* The caller frees it with free(). */
static struct test_state *
test_state_create(uint32_t seed, uint64_t version)
{
    struct test_state *test_state = calloc(1, sizeof(*test_state));
    uint8_t *at = test_state->memory + 1;

    memset(test_state->memory, EDGE_BYTE, TEST_STATE_ROOM);
    for (size_t i = 0; i < TEST_STATE_TENSORS; i++) {
        at += EDGE;
        test_state->tensors[i] = (struct hoop_named_tensor){
            .name = names[i],
            .tensor = {.data = sizes[i] > 0 ? at : NULL,
                       .dtype = HOOP_UINT8,
                       .shape = {1, {sizes[i]}}},
        };
        for (size_t byte = 0; byte < sizes[i]; byte++)
            at[byte] = byte_of(seed, i, byte);
        at += sizes[i];
    }
    test_state->state = (struct hoop_state){test_state->tensors,
                                            TEST_STATE_TENSORS, version, BLOCK};
    return test_state;
}

/* Returns whether all bytes are those of the seed, and no others have
 * changed. */
static bool
test_state_is(const struct test_state *test_state, uint32_t seed)
{
    CLEANUP(free) struct test_state *right = test_state_create(seed, 0);

    return memcmp(test_state->memory, right->memory, TEST_STATE_ROOM) == 0;
}

/* Returns a tensor of TEST_STATE_BLOCKS blocks with seed 0. The caller frees
 * its data. */
static struct hoop_named_tensor
test_state_blocks(void)
{
    uint8_t *bytes = malloc(TEST_STATE_BLOCKS * BLOCK);

    for (size_t i = 0; i < TEST_STATE_BLOCKS * BLOCK; i++)
        bytes[i] = byte_of(0, 0, i);
    return (struct hoop_named_tensor){
        .name = "t",
        .tensor = {.data = bytes,
                   .dtype = HOOP_UINT8,
                   .shape = {1, {TEST_STATE_BLOCKS * BLOCK}}},
    };
}

static bool
test_state_blocks_are_right(const struct hoop_named_tensor *named)
{
    CLEANUP(free) uint8_t *right = test_state_blocks().tensor.data;

    return memcmp(named->tensor.data, right, TEST_STATE_BLOCKS * BLOCK) == 0;
}

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

/* Says which rank has which state and version. */
struct scene {
    uint32_t (*seed)(const struct rank *rank);
    uint64_t (*version)(const struct rank *rank);
};

static uint32_t
seed_same(const struct rank *rank)
{
    return 0;
}

static uint64_t
version_seven(const struct rank *rank)
{
    return 7;
}

static uint64_t
version_own(const struct rank *rank)
{
    return 1 + rank->rank;
}

/* The last rank has the newest state, and all others have different ones. */
static uint32_t
seed_own(const struct rank *rank)
{
    return rank->size - 1 - rank->rank;
}

/* The first rank is new. */
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

/* All ranks but the second are new. */
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

/* Counts the ranks that have the newest state, and those that lack it, and
 * checks the report. */
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
        struct test_state *test_state =
            test_state_create(scene->seed(rank), scene->version(rank));
        struct hoop_state_report report = {0};

        const enum hoop_status status =
            hoop_state_sync(&test_state->state, rank->comm, &report);
        if (status != HOOP_OK)
            fprintf(stderr, "scene %zu: %s\n", i, hoop_error_text());
        RANK_CHECK(status == HOOP_OK);
        RANK_CHECK(test_state_is(test_state, 0));
        RANK_CHECK(scene_check(rank, scene, &report) == 0);
        RANK_CHECK(hoop_state_sync(&test_state->state, rank->comm, NULL) ==
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

    for (size_t i = 0; i < COUNT_OF(worlds); i++)
        assert_int_equal(ranks_run_all(worlds[i], scenes_body), 0);
}

/* Rank 2 lacks three blocks, and must get no byte of any other block. */
static int
rank_that_lacks_three_blocks_gets_three(struct rank *rank)
{
    const bool is_new = rank->rank == 2;
    struct hoop_named_tensor named = test_state_blocks();
    CLEANUP(free) uint8_t *bytes = named.tensor.data;
    const struct hoop_state state = {&named, 1, is_new ? 3 : 4, BLOCK};
    struct hoop_state_report report;

    if (is_new)
        bytes[17] ^= bytes[500 * BLOCK] ^=
            bytes[TEST_STATE_BLOCKS * BLOCK - 1] ^= 0xff;
    const uint64_t before = bytes_received(rank);
    RANK_CHECK(hoop_state_sync(&state, rank->comm, &report) == HOOP_OK);
    const uint64_t n_came = bytes_received(rank) - before;
    RANK_CHECK(test_state_blocks_are_right(&named));
    RANK_CHECK(report.blocks_needed == (is_new ? N_LACKED : 0));
    RANK_CHECK(report.bytes_needed == (is_new ? N_LACKED * BLOCK : 0));
    RANK_CHECK(report.bytes_moved == N_LACKED * BLOCK);
    RANK_CHECK(is_new || report.bytes_sent == BLOCK);
    /* In addition to the blocks there are at most the hashes of all blocks,
     * their bits, and what four ranks report, as often as an algorithm may
     * forward it. */
    RANK_CHECK(n_came >= report.bytes_needed);
    RANK_CHECK(n_came <
               report.bytes_needed + 3 * (TEST_STATE_BLOCKS * 16 + 1024));
    return 0;
}

/* If all ranks have the same state, no hash of a block is sent. */
static int
equal_states_cost_one_small_exchange(struct rank *rank)
{
    struct hoop_named_tensor named = test_state_blocks();
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

/* Two of five ranks are new. Three sources share what each of them lacks. */
static int
sources_share_evenly(struct rank *rank)
{
    const bool is_new = rank->rank == 1 || rank->rank == 4;
    struct hoop_named_tensor named = test_state_blocks();
    CLEANUP(free) uint8_t *bytes = named.tensor.data;
    const struct hoop_state state = {&named, 1, !is_new, BLOCK};
    struct hoop_state_report report;

    if (is_new)
        memset(bytes, (int)rank->rank, TEST_STATE_BLOCKS * BLOCK);
    RANK_CHECK(hoop_state_sync(&state, rank->comm, &report) == HOOP_OK);
    RANK_CHECK(test_state_blocks_are_right(&named));
    RANK_CHECK(report.n_sources == 3);
    RANK_CHECK(report.bytes_moved == 2 * TEST_STATE_BLOCKS * BLOCK);
    const uint64_t share = report.bytes_moved / 3;
    RANK_CHECK(is_new || (report.bytes_sent + 2 * BLOCK > share &&
                          report.bytes_sent < share + 2 * BLOCK));
    return 0;
}

/* Sanitizers shadow memory that is only reserved. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* The tensor has more bytes than 32 bits can count, and only the last ones are
 * new. No page of the others is written, so all of them are the same page. */
static const size_t N_VAST = ((size_t)1 << 32) + 4 * BLOCK + 1;

static int
end_of_a_vast_tensor_comes(struct rank *rank)
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

#endif

/*
 * The cases below have states that cannot be synchronized.
 *
 * An error on one rank is the same failure with the same text on all ranks, and
 * no tensor has changed.
 */

enum {
    TEXT = 512,
    N_MESSAGES = 50,

    /* These are places in the room. */
    PLACE_DONE = 0,
    PLACE_FINISHED = 1,
    PLACE_LOST = 2,
};

/* Checks that all ranks fail in this way, with the same text. */
static int
failure_check(struct rank *rank,
              const struct hoop_state *state,
              enum hoop_status expected,
              const char *words)
{
    const enum hoop_status status = hoop_state_sync(state, rank->comm, NULL);
    char mine[TEXT] = "";
    char first[TEXT] = "";

    snprintf(mine, sizeof(mine), "%s", hoop_error_text());
    if (status != expected || !strstr(mine, words))
        fprintf(stderr, "rank %u: %s, \"%s\": \"%s\" was expected\n",
                rank->rank, hoop_status_name(status), mine, words);
    RANK_CHECK(status == expected && strstr(mine, words));
    RANK_CHECK(hoop_broadcast(mine, first, TEXT, HOOP_UINT8, 0, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(rank->rank == 0 || strcmp(mine, first) == 0);
    return 0;
}

static int
tensors_that_differ_are_named_on_all_ranks(struct rank *rank)
{
    const bool is_odd = rank->rank == 2;
    CLEANUP(free)
    struct test_state *test_state = test_state_create(rank->rank, 1);
    struct hoop_named_tensor *odd = &test_state->tensors[3];
    const struct hoop_named_tensor right = *odd;

    if (is_odd)
        odd->name = "size";
    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_MISMATCH,
                             "rank 2: there is no tensor \"large\", which rank "
                             "0 has") == 0);
    *odd = right;
    if (is_odd)
        odd->tensor.shape.dims[0]--;
    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_MISMATCH,
                             "rank 2: tensor \"large\" is uint8 [20483], but "
                             "uint8 [20484] on rank 0") == 0);
    *odd = right;
    if (is_odd)
        odd->tensor.dtype = HOOP_INT8;
    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_MISMATCH,
                             "rank 2: tensor \"large\" is int8 [20484], but "
                             "uint8 [20484] on rank 0") == 0);
    *odd = right;
    if (is_odd)
        test_state->state.block_bytes = 2 * BLOCK;
    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_MISMATCH,
                             "rank 2: blocks of 2048 bytes, but blocks of 1024 "
                             "bytes on rank 0") == 0);
    RANK_CHECK(test_state_is(test_state, rank->rank));
    return 0;
}

static int
states_that_cannot_be_are_refused_on_all_ranks(struct rank *rank)
{
    CLEANUP(free) struct test_state *test_state = test_state_create(0, 0);
    uint8_t *byte = test_state->tensors[3].tensor.data;

    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_PRECONDITION,
                             "has a version above 0") == 0);
    test_state->state.version = 12;
    if (rank->rank == 2)
        byte[5000] ^= 1;
    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_PRECONDITION,
                             "rank 2: tensor \"large\" holds other bytes than "
                             "on rank 0, which has version 12, too") == 0);
    if (rank->rank == 2)
        byte[5000] ^= 1;
    RANK_CHECK(test_state_is(test_state, 0));
    if (rank->rank == 1)
        test_state->tensors[1].name = "w";
    RANK_CHECK(failure_check(rank, &test_state->state, HOOP_E_INVALID,
                             "rank 1: the name \"w\" is there twice") == 0);
    RANK_CHECK(failure_check(rank, rank->rank == 1 ? NULL : &test_state->state,
                             HOOP_E_INVALID, "rank 1: state is NULL") == 0);
    RANK_CHECK(hoop_state_sync(&test_state->state, NULL, NULL) ==
               HOOP_E_INVALID);
    return 0;
}

/* Rank 1, which is a source, is killed before it sends one of its blocks. */
static int
death_body(struct rank *rank)
{
    const bool is_new = rank->rank == 2;
    struct hoop_named_tensor named = test_state_blocks();
    CLEANUP(free) uint8_t *bytes = named.tensor.data;
    const struct hoop_state state = {&named, 1, !is_new, BLOCK};
    char name[64];

    /* Every second block is missing, so that each one is a message. */
    for (size_t i = 0; is_new && i < TEST_STATE_BLOCKS; i += 2)
        bytes[i * BLOCK] ^= 1;
    const uint64_t begun_ns = clock_now_ns();
    RANK_CHECK(hoop_state_sync(&state, rank->comm, NULL) == HOOP_E_PEER_LOST);
    /* No rank waits for its deadline of 20 s. */
    RANK_CHECK(clock_now_ns() < begun_ns + 15000 * CLOCK_NS_PER_MS);
    snprintf(name, sizeof(name), "rank 1 (host:%d)", (int)rank->pids[1]);
    RANK_CHECK(strstr(hoop_error_text(), name));
    /* No rank leaves while another one still waits. */
    room_add(rank, PLACE_DONE);
    room_await(rank, PLACE_DONE, rank->size - 1);
    RANK_CHECK(is_new || test_state_blocks_are_right(&named));
    return 0;
}

static void
death_of_a_source_is_told_and_spares_the_others(void **state)
{
    if (!FAULT_IS_BUILT)
        skip();
    assert_int_equal(
        setenv("HOOP_DEBUG_FAULT", "rank=1,op=send,seq=70,do=kill", 1), 0);
    assert_int_equal(ranks_run_all(4, death_body), 0);
    assert_int_equal(
        setenv("HOOP_DEBUG_FAULT", "rank=1,op=send,seq=1,do=kill", 1), 0);
    assert_int_equal(ranks_run_all(4, death_body), 0);
    assert_int_equal(unsetenv("HOOP_DEBUG_FAULT"), 0);
}

/* Ranks 0 and 3 send messages to each other. */
static int
messages_exchange(struct rank *rank)
{
    const uint32_t other = 3 - rank->rank;
    uint32_t value = 0;

    for (uint32_t i = 0; i < N_MESSAGES; i++) {
        if (rank->rank == 0)
            RANK_CHECK(hoop_send(&i, 1, HOOP_UINT32, other, 5, rank->comm) ==
                       HOOP_OK);
        RANK_CHECK(hoop_recv(&value, 1, HOOP_UINT32, other, 5, rank->comm,
                             NULL) == HOOP_OK);
        RANK_CHECK(value == i);
        if (rank->rank == 3)
            RANK_CHECK(hoop_send(&i, 1, HOOP_UINT32, other, 5, rank->comm) ==
                       HOOP_OK);
    }
    return 0;
}

/* All ranks have the same state. A message that reaches rank 2 through rank 1
 * is dropped. Rank 1 is then stopped, so that it cannot report this, and dies
 * when the others have finished. */
static int
finished_body(struct rank *rank)
{
    CLEANUP(free) struct test_state *test_state = test_state_create(0, 3);
    const bool is_late = rank->rank == 2;

    RANK_CHECK(hoop_state_sync(&test_state->state, rank->comm, NULL) ==
               (is_late ? HOOP_E_PEER_LOST : HOOP_OK));
    room_add(rank, is_late ? PLACE_LOST : PLACE_FINISHED);
    if (rank->rank == 0) {
        room_await(rank, PLACE_FINISHED, 2);
        kill(rank->pids[1], SIGKILL);
    }
    room_await(rank, PLACE_LOST, 1);
    if (!is_late && messages_exchange(rank) != 0)
        return 1;
    room_add(rank, PLACE_DONE);
    room_await(rank, PLACE_DONE, rank->size - 1);
    return 0;
}

/* The test needs a ring of sockets, whatever the tested path is. */
static void
who_has_finished_goes_on_when_another_finds_a_loss(void **state)
{
    if (!FAULT_IS_BUILT)
        skip();
    assert_int_equal(setenv("HOOP_TRANSPORT", "tcp", 1), 0);
    assert_int_equal(setenv("HOOP_TEST_TUNED", "0", 1), 0);
    assert_int_equal(setenv("HOOP_DEBUG_FAULT",
                            "rank=1,op=allgather,round=3,peer=2,do=drop;"
                            "rank=1,op=allgather,at=end,do=stop",
                            1),
                     0);
    assert_int_equal(ranks_run_all(4, finished_body), 0);
    assert_int_equal(unsetenv("HOOP_DEBUG_FAULT"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_have_the_newest),
        RANKS_TEST(rank_that_lacks_three_blocks_gets_three, 4, 4),
        RANKS_TEST(equal_states_cost_one_small_exchange, 4, 4),
        RANKS_TEST(sources_share_evenly, 5, 5),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        RANKS_TEST(end_of_a_vast_tensor_comes, 2, 2),
#endif
        RANKS_TEST(tensors_that_differ_are_named_on_all_ranks, 4, 4),
        RANKS_TEST(states_that_cannot_be_are_refused_on_all_ranks, 3, 3),
        cmocka_unit_test(death_of_a_source_is_told_and_spares_the_others),
        /* This must be the last test, since it changes the path. */
        cmocka_unit_test(who_has_finished_goes_on_when_another_finds_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
