/*
 * tests/integration/mappings_errors_test.c - what is wrong on all ranks
 *
 * Each is told before anything moves, and nothing is handed out; none of it was
 * a call.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "passages.h"
#include "ranks.h"

enum {
    RANKS_ALL = 4,
    N_VALUES = 256,
};

static int64_t values[N_VALUES];

static bool
says(const char *phrase)
{
    if (strstr(hoop_error_text(), phrase))
        return true;
    fprintf(stderr, "\"%s\" is not in \"%s\"\n", phrase, hoop_error_text());
    return false;
}

static struct hoop_tensor
table_of(size_t n_rows, size_t n_columns)
{
    return (struct hoop_tensor){
        .data = values, .dtype = HOOP_INT64, .shape = {2, {n_rows, n_columns}}};
}

/* Both forms, into no memory: HOOP_E_INVALID with the text, and nothing. */
static bool
is_invalid(const struct passage *passage,
           struct redistribute_call_request call,
           const char *text)
{
    struct hoop_tensor out = {.data = NULL};
    hoop_op_t *op = NULL;

    if (!call.out)
        call.out = &out;
    return passage_run(passage, &call) == HOOP_E_INVALID && says(text) &&
           (!passage_has_start(passage) ||
            (passage_start(passage, &call, &op) == HOOP_E_INVALID &&
             says(text))) &&
           !op && !out.data && out.shape.n_dims == 0;
}

static int
wrong_tensors(struct rank *rank, const struct passage *passage)
{
    const size_t strides[2] = {1, 4};
    struct hoop_tensor x = table_of(rank->size, rank->size);
    struct redistribute_call_request call = {.tensor = &x, .comm = rank->comm};

    call.comm = NULL;
    RANK_CHECK(is_invalid(passage, call, "comm is NULL"));
    call.comm = rank->comm;
    call.tensor = NULL;
    RANK_CHECK(is_invalid(passage, call, "the tensor is NULL"));
    call.tensor = &x;
    x.dtype = (enum hoop_dtype)99;
    RANK_CHECK(is_invalid(passage, call, "dtype 99"));
    x = table_of(rank->size, rank->size);
    x.shape.n_dims = HOOP_MAX_DIMS + 1;
    RANK_CHECK(is_invalid(passage, call, "dimensions"));
    x = table_of((size_t)1 << 40, (size_t)1 << 40);
    RANK_CHECK(is_invalid(passage, call, "2^63"));
    x = table_of(rank->size, rank->size);
    x.data = NULL;
    RANK_CHECK(is_invalid(passage, call, "no data"));
    x = table_of(2, 2);
    x.strides = strides;
    RANK_CHECK(is_invalid(passage, call, "pack it with hoop_tensor_copy()"));
    x = (struct hoop_tensor){.data = values, .dtype = HOOP_INT64};
    if (passage->effect != EFFECT_SAME && passage->effect != EFFECT_SUM)
        RANK_CHECK(is_invalid(passage, call, "without dimensions"));
    return 0;
}

static int
wrong_results(struct rank *rank, const struct passage *passage)
{
    const size_t n = rank->size;
    const struct hoop_tensor x = table_of(2 * n, 2 * n);
    int64_t own[N_VALUES * RANKS_ALL];
    struct hoop_tensor out = {.data = NULL};
    struct redistribute_call_request call = {.tensor = &x, .comm = rank->comm};
    hoop_op_t *op = NULL;

    call.out = &out;
    RANK_CHECK(passage_run(passage, &call) == HOOP_OK);
    struct hoop_tensor wrong = out;
    hoop_tensor_free(&out);
    call.out = &wrong;
    wrong.data = own;
    wrong.dtype = HOOP_FLOAT64;
    RANK_CHECK(is_invalid(passage, call, "float64"));
    wrong.dtype = HOOP_INT64;
    wrong.shape.dims[0]++;
    RANK_CHECK(is_invalid(passage, call, "but the result is"));
    wrong.shape.dims[0]--;
    /* Behind the first element, or of another shape: not in place. */
    wrong.data = values + 1;
    RANK_CHECK(is_invalid(passage, call, "overlaps"));
    wrong.data = values;
    if (!hoop_shape_equal(&wrong.shape, &x.shape))
        RANK_CHECK(is_invalid(passage, call, "overlaps"));
    if (passage_has_start(passage)) {
        RANK_CHECK(passage_start(passage, &call, NULL) == HOOP_E_INVALID);
        RANK_CHECK(says("out_op is NULL"));
    }
    call.out = NULL;
    RANK_CHECK(passage_run(passage, &call) == HOOP_E_INVALID);
    RANK_CHECK(says("out is NULL"));
    RANK_CHECK(!op);
    return 0;
}

static int
wrong_rows(struct rank *rank, const struct passage *passage)
{
    const size_t n = rank->size;
    const struct hoop_tensor x = table_of(2 * n, 2);
    size_t sizes[RANKS_ALL];
    struct hoop_rows rows = {.sizes = sizes};
    struct hoop_row_splits splits = {.input = sizes};
    struct redistribute_call_request call = {.tensor = &x, .comm = rank->comm};
    struct hoop_tensor taken = {.data = values};
    hoop_scratch_t *scratch = NULL;

    for (size_t i = 0; i < n; i++)
        sizes[i] = 3 * n;
    if (passage->splits) {
        call.splits = &splits;
        /* The other way takes what the first one's result was given. */
        if (passage->effect == EFFECT_ROWS_BACK)
            splits = (struct hoop_row_splits){.output = sizes};
        RANK_CHECK(is_invalid(passage, call, "but the sizes give"));
        sizes[0] = SIZE_MAX;
        RANK_CHECK(n == 1 || is_invalid(passage, call, "more than 2^64"));
    }
    if (!passage_takes_rows(passage))
        return 0;
    call.rows = &rows;
    if (passage->effect == EFFECT_CUT_FIRST)
        RANK_CHECK(is_invalid(passage, call, "sizes must be NULL"));
    else
        RANK_CHECK(is_invalid(passage, call, "but the sizes give"));
    RANK_CHECK(hoop_scratch_create(&scratch) == HOOP_OK);
    rows = (struct hoop_rows){.scratch = scratch};
    call.out = &taken;
    RANK_CHECK(is_invalid(passage, call, "set it to NULL"));
    hoop_scratch_free(scratch);
    return 0;
}

static int
wrong_everywhere_body(struct rank *rank)
{
    int failure = 0;

    for (size_t i = 0; i < n_passages && failure == 0; i++) {
        failure = wrong_tensors(rank, &passages[i]);
        failure = failure ? failure : wrong_results(rank, &passages[i]);
        failure = failure ? failure : wrong_rows(rank, &passages[i]);
        if (failure)
            fprintf(stderr, "%s\n", passages[i].name);
    }
    /* Nothing of it was a call. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return failure;
}

static void
what_is_wrong_on_all_ranks_is_told_to_all(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= RANKS_ALL; size++)
        assert_int_equal(ranks_run_all(size, wrong_everywhere_body), 0);
}

static int
consumer_body(struct rank *rank)
{
    const enum hoop_consumer neither = (enum hoop_consumer)7;
    const struct hoop_tensor x = table_of(rank->size, 2);
    struct hoop_tensor out = {.data = NULL};
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_gather_from_sp_forward(&x, &out, neither, NULL,
                                           rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(says("HOOP_CONSUMER_SHARDED nor HOOP_CONSUMER_REPLICATED"));
    RANK_CHECK(hoop_gather_from_sp_forward_start(
                   &x, &out, neither, NULL, rank->comm, &op) == HOOP_E_INVALID);
    RANK_CHECK(hoop_gather_from_sp_backward(&x, &out, neither, NULL,
                                            rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_gather_from_sp_backward_start(
                   &x, &out, neither, NULL, rank->comm, &op) == HOOP_E_INVALID);
    RANK_CHECK(!op && !out.data);
    return 0;
}

static void
consumer_of_no_kind_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(2, consumer_body), 0);
}

/* A scratch in which the tensor lies, or that is in use. */
static int
scratch_body(struct rank *rank)
{
    const struct hoop_tensor x = table_of(rank->size, 2);
    struct hoop_tensor first = {.data = NULL};
    struct hoop_tensor second = {.data = NULL};
    struct hoop_rows rows = {.sizes = NULL};
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_scratch_create(&rows.scratch) == HOOP_OK);
    RANK_CHECK(hoop_tp_gather_first_start(&x, &first, &rows, rank->comm, &op) ==
               HOOP_OK);
    RANK_CHECK(hoop_tp_gather_first(&x, &second, &rows, rank->comm) ==
               HOOP_E_PRECONDITION);
    RANK_CHECK(says("has not been waited for") && !second.data);
    RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(hoop_tp_reduce_scatter_first(&first, &second, &rows,
                                            rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(says("lies in the scratch") && !second.data);
    RANK_CHECK(hoop_tp_gather_first(&x, &second, &rows, rank->comm) == HOOP_OK);
    hoop_scratch_free(rows.scratch);
    return 0;
}

static void
scratch_in_use_or_of_the_tensor_is_refused(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= RANKS_ALL; size++)
        assert_int_equal(ranks_run_all(size, scratch_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_on_all_ranks_is_told_to_all),
        cmocka_unit_test(consumer_of_no_kind_is_refused),
        cmocka_unit_test(scratch_in_use_or_of_the_tensor_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
