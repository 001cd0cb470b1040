/*
 * tests/integration/state_errors_test.c - states that no newcomer gets
 *
 * What is wrong on one rank is the same failure in the same words on all, and
 * nobody's tensors have changed.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "fault/fault.h"
#include "holding.h"
#include "ranks.h"

enum {
    TEXT = 512,
    N_MESSAGES = 50,

    /* Of the room. */
    PLACE_DONE = 0,
    PLACE_FINISHED = 1,
    PLACE_LOST = 2,
};

/* This failure, on all ranks, in the same words. */
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
mismatch_body(struct rank *rank)
{
    const bool is_odd = rank->rank == 2;
    CLEANUP(free) struct holding *holding = holding_create(rank->rank, 1);
    struct hoop_named_tensor *odd = &holding->tensors[3];
    const struct hoop_named_tensor right = *odd;

    if (is_odd)
        odd->name = "size";
    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_MISMATCH,
                             "rank 2: there is no tensor \"large\", which rank "
                             "0 has") == 0);
    *odd = right;
    if (is_odd)
        odd->tensor.shape.dims[0]--;
    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_MISMATCH,
                             "rank 2: tensor \"large\" is uint8 [20483], but "
                             "uint8 [20484] on rank 0") == 0);
    *odd = right;
    if (is_odd)
        odd->tensor.dtype = HOOP_INT8;
    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_MISMATCH,
                             "rank 2: tensor \"large\" is int8 [20484], but "
                             "uint8 [20484] on rank 0") == 0);
    *odd = right;
    if (is_odd)
        holding->state.block_bytes = 2 * BLOCK;
    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_MISMATCH,
                             "rank 2: blocks of 2048 bytes, but blocks of 1024 "
                             "bytes on rank 0") == 0);
    RANK_CHECK(holding_is(holding, rank->rank));
    return 0;
}

static void
tensors_that_differ_are_named_on_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(4, mismatch_body), 0);
}

static int
wrong_body(struct rank *rank)
{
    CLEANUP(free) struct holding *holding = holding_create(0, 0);
    uint8_t *byte = holding->tensors[3].tensor.data;

    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_PRECONDITION,
                             "has a version above 0") == 0);
    holding->state.version = 12;
    if (rank->rank == 2)
        byte[5000] ^= 1;
    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_PRECONDITION,
                             "rank 2: tensor \"large\" holds other bytes than "
                             "on rank 0, which has version 12, too") == 0);
    if (rank->rank == 2)
        byte[5000] ^= 1;
    RANK_CHECK(holding_is(holding, 0));
    if (rank->rank == 1)
        holding->tensors[1].name = "w";
    RANK_CHECK(failure_check(rank, &holding->state, HOOP_E_INVALID,
                             "rank 1: the name \"w\" is there twice") == 0);
    RANK_CHECK(failure_check(rank, rank->rank == 1 ? NULL : &holding->state,
                             HOOP_E_INVALID, "rank 1: state is NULL") == 0);
    RANK_CHECK(hoop_state_sync(&holding->state, NULL, NULL) == HOOP_E_INVALID);
    return 0;
}

static void
states_that_cannot_be_are_refused_on_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(3, wrong_body), 0);
}

/* Rank 1, a source, is killed before one of its blocks. */
static int
death_body(struct rank *rank)
{
    const bool is_new = rank->rank == 2;
    struct hoop_named_tensor named = holding_blocks();
    CLEANUP(free) uint8_t *bytes = named.tensor.data;
    const struct hoop_state state = {&named, 1, !is_new, BLOCK};
    char name[64];

    /* Every second block: each is a message. */
    for (size_t i = 0; is_new && i < HOLDING_BLOCKS; i += 2)
        bytes[i * BLOCK] ^= 1;
    const uint64_t begun_ns = clock_now_ns();
    RANK_CHECK(hoop_state_sync(&state, rank->comm, NULL) == HOOP_E_PEER_LOST);
    /* Nobody waits for its deadline, 20 s. */
    RANK_CHECK(clock_now_ns() < begun_ns + 15000 * CLOCK_NS_PER_MS);
    snprintf(name, sizeof(name), "rank 1 (host:%d)", (int)rank->pids[1]);
    RANK_CHECK(strstr(hoop_error_text(), name));
    /* Nobody leaves while another still waits. */
    room_add(rank, PLACE_DONE);
    room_await(rank, PLACE_DONE, rank->size - 1);
    RANK_CHECK(is_new || holding_blocks_are_right(&named));
    return 0;
}

static void
death_of_a_source_is_told_and_spares_the_others(void **state)
{
    (void)state;
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

/* Between ranks 0 and 3, there and back. */
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

/* All have the same. A word that is to come to rank 2 through rank 1 is lost, which
 * is stopped then, so that it does not say so; and dies when the others know all. */
static int
finished_body(struct rank *rank)
{
    CLEANUP(free) struct holding *holding = holding_create(0, 3);
    const bool is_late = rank->rank == 2;

    RANK_CHECK(hoop_state_sync(&holding->state, rank->comm, NULL) ==
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

/* In a ring of sockets, whichever way other tests go. */
static void
who_has_finished_goes_on_when_another_finds_a_loss(void **state)
{
    (void)state;
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
        cmocka_unit_test(tensors_that_differ_are_named_on_all_ranks),
        cmocka_unit_test(states_that_cannot_be_are_refused_on_all_ranks),
        cmocka_unit_test(death_of_a_source_is_told_and_spares_the_others),
        /* The last: the path stays as it is. */
        cmocka_unit_test(who_has_finished_goes_on_when_another_finds_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
