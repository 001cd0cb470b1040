/*
 * tests/integration/parallel/mappings_differ_test.c - ranks that call
 * differently
 *
 * If ranks differ, each of them is told once. If only one rank is wrong, the
 * others learn of it by its next call, its end or their deadline. A rank that
 * is gone is named. No call hangs, and no failed call returns a tensor.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/parallel/mapping_cases.h"
#include "ranks.h"

enum {
    RANKS_ALL = 4,
    N_PASSAGES_MAX = 64,
    SHORT_MS = 1000,
    N_BARRIERS = 2, /* by the second one all have been told */
};

/* This is far below the deadline of an operation, which is 20 s. A sanitizer is
 * slow. */
static const uint64_t TOLD_AFTER_NS = 10000000000;

/* Says how the call of the last rank differs. */
enum difference {
    DIFFERENT_DTYPE,
    DIFFERENT_SHAPE,
    DIFFERENT_LISTS, /* each fits its rank's tensor */
    DIFFERENT_LIST,  /* only the last rank has one */
    DIFFERENT_FUNCTION,
    N_DIFFERENCES,
};

static bool
can_differ(const struct mapping_case *mapping_case, enum difference difference)
{
    switch (difference) {
    case DIFFERENT_DTYPE:
    case DIFFERENT_SHAPE:
        return true;
    case DIFFERENT_LISTS:
        return mapping_case_takes_sizes(mapping_case);
    case DIFFERENT_LIST:
        return mapping_case_takes_sizes(mapping_case) || mapping_case->splits;
    case DIFFERENT_FUNCTION:
        return mapping_case->effect == EFFECT_JOIN_FIRST ||
               mapping_case->effect == EFFECT_SUM_CUT_FIRST ||
               mapping_case->effect == EFFECT_SP2HP;
    case N_DIFFERENCES:
        break;
    }
    return false;
}

/* Returns another function with the same collective, for the same tensor. */
static const struct mapping_case *
other_than(const struct mapping_case *mapping_case)
{
    return mapping_case_find(
        mapping_case->effect == EFFECT_JOIN_FIRST ? "tp_gather_last"
        : mapping_case->effect == EFFECT_SP2HP    ? "all_to_all_rows forward"
                                                  : "tp_reduce_scatter_last");
}

/* Fills lists of rows for all ranks. The last rank's list is different; what a
 * rank has fits its own list. */
static void
lists_fill(const struct rank *rank,
           const struct mapping_case *mapping_case,
           enum difference difference,
           size_t *list)
{
    const bool is_odd = rank->rank == rank->size - 1;

    for (uint32_t i = 0; i < rank->size; i++)
        list[i] = 2;
    if (difference != DIFFERENT_LISTS || !is_odd)
        return;
    if (mapping_case->effect == EFFECT_JOIN_FIRST) {
        list[0] = 1;
        return;
    }
    list[0] = 1;
    list[rank->size - 1] = 3;
}

/* Returns the status. A rank may have had all it needs before it could learn of
 * the difference. */
static enum hoop_status
call_differing(struct rank *rank,
               const struct mapping_case *mapping_case,
               enum difference difference)
{
    const size_t n = rank->size;
    const bool is_odd = rank->rank == n - 1;
    const bool has_list = difference == DIFFERENT_LISTS ||
                          (difference == DIFFERENT_LIST && is_odd);
    const bool joins = mapping_case->effect == EFFECT_JOIN_FIRST && has_list;
    struct hoop_tensor x = mapping_table(joins ? 2 : 2 * n, 2 * n);
    struct hoop_tensor out = {.data = NULL};
    size_t list[RANKS_ALL];
    const struct hoop_rows rows = {.sizes = list};
    const struct hoop_row_splits splits = {.input = list, .output = list};
    const struct redistribute_call_arguments call = {
        .tensor = &x,
        .out = &out,
        .rows = has_list ? &rows : NULL,
        .splits = has_list ? &splits : NULL,
        .comm = rank->comm,
    };

    lists_fill(rank, mapping_case, difference, list);
    if (difference == DIFFERENT_DTYPE && is_odd)
        x.dtype = HOOP_FLOAT64;
    if (difference == DIFFERENT_SHAPE && is_odd)
        x.shape = (struct hoop_shape){2, {4 * n, n}};
    if (difference == DIFFERENT_FUNCTION && is_odd)
        mapping_case = other_than(mapping_case);
    const enum hoop_status status =
        mapping_case_run_started(mapping_case, &call);
    hoop_tensor_free(&out);
    return status;
}

/* Each rank is told once, by this call or the next ones, and then all can
 * continue. */
static int
one_difference(struct rank *rank,
               const struct mapping_case *mapping_case,
               enum difference difference)
{
    const uint64_t begin_ns = clock_now_ns();
    unsigned n_told = 0;

    for (unsigned i = 0; i <= N_BARRIERS; i++) {
        const enum hoop_status status =
            i == 0 ? call_differing(rank, mapping_case, difference)
                   : hoop_barrier(rank->comm);

        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        if (status == HOOP_E_MISMATCH) {
            n_told++;
            RANK_CHECK(error_says("rank ") && error_says("called"));
        }
    }
    RANK_CHECK(n_told == 1);
    RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
    return 0;
}

static int
differences_body(struct rank *rank)
{
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (size_t i = 0; i < n_mapping_cases; i++) {
        if (effect_stays_here(mapping_cases[i].effect))
            continue;
        for (enum difference k = 0; k < N_DIFFERENCES; k++) {
            if (can_differ(&mapping_cases[i], k) &&
                one_difference(rank, &mapping_cases[i], k) != 0) {
                fprintf(stderr, "%s, difference %d\n", mapping_cases[i].name,
                        (int)k);
                return 1;
            }
        }
    }
    return 0;
}

static void
ranks_that_differ_are_all_told_once(void **state)
{
    for (uint32_t size = 2; size <= RANKS_ALL; size++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = differences_body,
                             .is_checked = size == 3,
                         }),
                         0);
}

/* Rank 0 sends the first number of rows to rank 1, which expects the second. */
static const size_t inconsistent[][2] = {{2, 3}, {3, 2}, {0, 2}, {2, 0}};

static int
splits_that_do_not_agree_are_told_to_both(struct rank *rank)
{
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(inconsistent); i++) {
        const uint64_t begin_ns = clock_now_ns();
        size_t input[RANKS_ALL] = {1, 1, 1, 1};
        size_t output[RANKS_ALL] = {1, 1, 1, 1};
        const struct hoop_row_splits splits = {input, output};
        struct hoop_tensor out = {.data = NULL};
        unsigned n_told = 0;

        if (rank->rank == 0)
            input[1] = inconsistent[i][0];
        if (rank->rank == 1)
            output[0] = inconsistent[i][1];
        const struct hoop_tensor x =
            mapping_table(rank->size - 1 + (rank->rank == 0 ? input[1] : 1), 3);
        enum hoop_status status =
            hoop_all_to_all_rows_forward(&x, &out, &splits, rank->comm);
        RANK_CHECK(status == HOOP_OK || !out.data);
        for (unsigned k = 0; k <= N_BARRIERS; k++) {
            RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
            if (status == HOOP_E_MISMATCH) {
                n_told++;
                RANK_CHECK(error_names(rank, 0) && error_names(rank, 1));
                RANK_CHECK(error_says("alltoallv") &&
                           error_says("which sends"));
            }
            if (k < N_BARRIERS)
                status = hoop_barrier(rank->comm);
        }
        RANK_CHECK(n_told == 1);
        RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
        hoop_tensor_free(&out);
    }
    return 0;
}

/* The rows of the last rank do not fit its tensor, so it has not called. */
static enum hoop_status
gather_misfit(struct rank *rank, struct hoop_tensor *out)
{
    const size_t sizes[RANKS_ALL] = {2, 2, 2, 2};
    const struct hoop_rows rows = {.sizes = sizes};
    const struct hoop_tensor x =
        mapping_table(rank->rank == rank->size - 1 ? 3 : 2, 5);

    return hoop_tp_gather_first(&x, out, &rows, rank->comm);
}

static int
wrong_alone_is_told_to_the_others_by_its_next_call(struct rank *rank)
{
    const bool is_odd = rank->rank == rank->size - 1;
    struct hoop_tensor out = {.data = NULL};
    enum hoop_status status = gather_misfit(rank, &out);

    if (is_odd) {
        RANK_CHECK(status == HOOP_E_INVALID);
        RANK_CHECK(error_says("has 3 rows, but the sizes give 2 to this rank"));
        status = hoop_barrier(rank->comm);
    }
    RANK_CHECK(status == HOOP_E_MISMATCH && !out.data);
    RANK_CHECK(error_says("allgatherv #") && error_says("barrier #"));
    RANK_CHECK(error_names(rank, rank->size - 1));
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

/* If the last rank makes no other call, the others are told by the deadline, or
 * by its end. */
static int
alone_then_nothing_body(struct rank *rank)
{
    struct hoop_tensor out = {.data = NULL};
    const bool *leaves = rank->input;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (!*leaves)
        hoop_comm_set_timeout(rank->comm, SHORT_MS);
    const enum hoop_status status = gather_misfit(rank, &out);
    if (rank->rank == rank->size - 1) {
        RANK_CHECK(status == HOOP_E_INVALID);
        if (!*leaves)
            room_await(rank, 0, rank->size - 1);
        return 0;
    }
    RANK_CHECK(status == (*leaves ? HOOP_E_PEER_LOST : HOOP_E_TIMEOUT));
    RANK_CHECK(error_names(rank, rank->size - 1) && error_says("allgatherv #"));
    RANK_CHECK(!out.data);
    room_add(rank, 0);
    return 0;
}

static void
wrong_alone_is_told_to_the_others_by_deadline_or_end(void **state)
{
    static const bool ways[] = {false, true};

    for (size_t i = 0; i < COUNT_OF(ways); i++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = 2,
                             .body = alone_then_nothing_body,
                             .input = &ways[i],
                         }),
                         0);
}

/* The started calls wait for a rank that has not started them, and then
 * dies. */
static int
end_started(struct rank *rank, hoop_op_t **ops, struct hoop_tensor *outs)
{
    const uint32_t culprit = rank->size - 1;

    for (size_t i = 0; i < n_mapping_cases; i++) {
        if (ops[i]) {
            RANK_CHECK(hoop_wait(ops[i], HOOP_FOREVER) == HOOP_E_PEER_LOST);
            RANK_CHECK(error_names(rank, culprit));
        }
        /* A started call has its memory, whatever happens. */
        RANK_CHECK(!ops[i] || outs[i].data);
        hoop_tensor_free(&outs[i]);
    }
    return 0;
}

static int
call_without(struct rank *rank,
             const struct mapping_case *mapping_case,
             const struct hoop_tensor *x)
{
    struct hoop_tensor out = {.data = NULL};
    const struct redistribute_call_arguments call = {
        .tensor = x, .out = &out, .comm = rank->comm};
    const enum hoop_status status = mapping_case_run(mapping_case, &call);

    if (effect_stays_here(mapping_case->effect)) {
        RANK_CHECK(status == HOOP_OK && out.data);
        hoop_tensor_free(&out);
        return 0;
    }
    RANK_CHECK(status == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, rank->size - 1));
    RANK_CHECK(!out.data && out.shape.n_dims == 0);
    return 0;
}

static int
peer_that_is_gone_is_named_by_each_function(struct rank *rank)
{
    const struct hoop_tensor x = mapping_table(2 * rank->size, 2 * rank->size);
    struct hoop_tensor outs[N_PASSAGES_MAX] = {{.data = NULL}};
    hoop_op_t *ops[N_PASSAGES_MAX] = {NULL};

    RANK_CHECK(n_mapping_cases <= N_PASSAGES_MAX);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == rank->size - 1) {
        room_await(rank, 10, rank->size - 1);
        kill(getpid(), SIGKILL);
    }
    for (size_t i = 0; i < n_mapping_cases; i++) {
        const struct redistribute_call_arguments call = {
            .tensor = &x, .out = &outs[i], .comm = rank->comm};

        if (mapping_case_has_start(&mapping_cases[i]) &&
            !effect_stays_here(mapping_cases[i].effect))
            RANK_CHECK(mapping_case_start(&mapping_cases[i], &call, &ops[i]) ==
                       HOOP_OK);
    }
    room_add(rank, 10);
    int failure = end_started(rank, ops, outs);
    for (size_t i = 0; i < n_mapping_cases && failure == 0; i++)
        failure = call_without(rank, &mapping_cases[i], &x);
    return failure;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_differ_are_all_told_once),
        RANKS_TEST(splits_that_do_not_agree_are_told_to_both, 2, RANKS_ALL),
        RANKS_TEST(wrong_alone_is_told_to_the_others_by_its_next_call, 2,
                   RANKS_ALL),
        cmocka_unit_test(wrong_alone_is_told_to_the_others_by_deadline_or_end),
        RANKS_TEST(peer_that_is_gone_is_named_by_each_function, 2, RANKS_ALL),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
