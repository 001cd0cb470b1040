/*
 * tests/integration/parallel/mappings_vectors_test.c - worked examples of
 * mappings
 *
 * The functions are those of hoop/tensor_parallel.h and hoop/mappings.h. Unless
 * an example says otherwise, it has two ranks, and is run in two forms:
 * blocking into new memory, and started into memory of the test. Then the test
 * tries tensors that cannot be cut, on two, three and four ranks.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/parallel/mapping_cases.h"
#include "ranks.h"

enum {
    RANKS = 2,
    VALUES_MAX = 16,
    NAMES_MAX = 5,
};

/* A tensor. Without dimensions it has a single element. */
struct given {
    struct hoop_shape shape;
    int64_t at[VALUES_MAX];
};

struct example {
    const char *names[NAMES_MAX]; /* of functions that all do the same */
    struct given in[RANKS];
    struct given out[RANKS];
    /* The sizes are those of all ranks; input and output are those of each
     * rank. NULL means that there are none. */
    const size_t *sizes;
    const size_t *input[RANKS];
    const size_t *output[RANKS];
};

static const size_t one_three[] = {1, 3};
static const size_t two_three[] = {2, 3};
static const size_t two_one[] = {2, 1};
static const size_t three_three[] = {3, 3};
static const size_t zero_five[] = {0, 5};
static const size_t four_zero[] = {4, 0};
static const size_t zero_four[] = {0, 4};
static const size_t five_zero[] = {5, 0};

static const struct example examples[] = {
    {.names = {"tp_split_last", "scatter_to_tp forward",
               "gather_from_tp backward"},
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
             {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}}},
    {.names = {"tp_split_first", "scatter_to_sp forward",
               "gather_from_sp replicated backward"},
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {2, 4}}, {0, 1, 2, 3, 4, 5, 6, 7}},
             {{2, {2, 4}}, {8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.names = {"tp_gather_last", "scatter_to_tp backward",
               "gather_from_tp forward"},
     .in = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
            {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}},
     .out = {{{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
             {{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.names = {"tp_gather_last", "gather_from_tp forward",
               "all_gather_last_from_tp forward",
               "reduce_scatter_last_to_tp backward"},
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}},
             {{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}}}},
    {.names = {"tp_reduce_scatter_last", "all_gather_last_from_tp backward",
               "reduce_scatter_last_to_tp forward"},
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 1}}, {6, 10}}, {{2, {2, 1}}, {8, 12}}}},
    {.names = {"tp_gather_first", "scatter_to_sp backward",
               "gather_from_sp sharded forward",
               "gather_from_sp replicated forward",
               "reduce_scatter_to_sp backward"},
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
    {.names = {"tp_gather_first", "gather_from_sp sharded forward",
               "reduce_scatter_to_sp backward"},
     .in = {{{2, {1, 2}}, {1, 2}}, {{2, {3, 2}}, {3, 4, 5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}},
     .sizes = one_three},
    {.names = {"tp_reduce_scatter_first", "gather_from_sp sharded backward",
               "reduce_scatter_to_sp forward"},
     .in = {{{1, {4}}, {1, 2, 3, 4}}, {{1, {4}}, {10, 20, 30, 40}}},
     .out = {{{1, {1}}, {11}}, {{1, {3}}, {22, 33, 44}}},
     .sizes = one_three},
    {.names = {"gather_from_sp sharded backward", "tp_reduce_scatter_first",
               "reduce_scatter_to_sp forward"},
     .in = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {4, 2}}, {10, 20, 30, 40, 50, 60, 70, 80}}},
     .out = {{{2, {2, 2}}, {11, 22, 33, 44}}, {{2, {2, 2}}, {55, 66, 77, 88}}}},
    {.names = {"gather_from_sp replicated backward"},
     .in = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {4, 2}}, {10, 20, 30, 40, 50, 60, 70, 80}}},
     .out = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {50, 60, 70, 80}}}},
    {.names = {"tp_reduce", "copy_to_tp backward", "reduce_from_tp forward"},
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {6, 8, 10, 12}}, {{2, {2, 2}}, {6, 8, 10, 12}}}},
    {.names = {"copy_to_tp forward", "reduce_from_tp backward"},
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}}},
    {.names = {"all_to_all_sp2hp forward", "all_to_all_hp2sp backward"},
     .in = {{{2, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {2, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}},
     .out = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
             {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}}},
    {.names = {"all_to_all_hp2sp forward", "all_to_all_sp2hp backward"},
     .in = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
            {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}},
     .out = {{{2, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {2, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}}},
    {.names = {"all_to_all_hp2sp forward"},
     .in = {{{2, {4, 1}}, {1, 2, 3, 4}}, {{2, {4, 1}}, {10, 20, 30, 40}}},
     .out = {{{2, {2, 2}}, {1, 10, 2, 20}}, {{2, {2, 2}}, {3, 30, 4, 40}}}},
    {.names = {"all_to_all_sp2hp forward"},
     .in = {{{3, {2, 1, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{3, {2, 1, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}},
     .out = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
             {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}}},
    {.names = {"all_to_all_rows forward"},
     .in = {{{1, {5}}, {0, 1, 2, 3, 4}}, {{1, {4}}, {10, 11, 12, 13}}},
     .out = {{{1, {3}}, {0, 1, 10}}, {{1, {6}}, {2, 3, 4, 11, 12, 13}}},
     .input = {two_three, one_three},
     .output = {two_one, three_three}},
    {.names = {"all_to_all_rows backward"},
     .in = {{{1, {3}}, {0, 1, 10}}, {{1, {6}}, {2, 3, 4, 11, 12, 13}}},
     .out = {{{1, {5}}, {0, 1, 2, 3, 4}}, {{1, {4}}, {10, 11, 12, 13}}},
     .input = {two_three, one_three},
     .output = {two_one, three_three}},
    {.names = {"all_to_all_rows forward"},
     .in = {{{1, {5}}, {0, 1, 2, 3, 4}}, {{1, {4}}, {10, 11, 12, 13}}},
     .out = {{{1, {4}}, {10, 11, 12, 13}}, {{1, {5}}, {0, 1, 2, 3, 4}}},
     .input = {zero_five, four_zero},
     .output = {zero_four, five_zero}},
    {.names = {"all_to_all_rows forward", "all_to_all_rows backward"},
     .in = {{{2, {2, 2}}, {0, 1, 2, 3}}, {{2, {2, 2}}, {4, 5, 6, 7}}},
     .out = {{{2, {2, 2}}, {0, 1, 4, 5}}, {{2, {2, 2}}, {2, 3, 6, 7}}}},
};

static struct hoop_tensor
tensor_of(int64_t *at, const struct hoop_shape *shape)
{
    return (struct hoop_tensor){
        .data = at, .dtype = HOOP_INT64, .shape = *shape};
}

static bool
is(const struct hoop_tensor *tensor, const struct given *expected)
{
    size_t n = 0;

    return hoop_shape_count(&expected->shape, &n) == HOOP_OK &&
           tensor->dtype == HOOP_INT64 && !tensor->strides &&
           hoop_shape_equal(&tensor->shape, &expected->shape) &&
           memcmp(tensor->data, expected->at, n * sizeof(int64_t)) == 0;
}

static int
one_example(struct rank *rank, const struct example *at, const char *name)
{
    const struct mapping_case *mapping_case = mapping_case_find(name);
    const struct given *expected = &at->out[rank->rank];
    const struct hoop_rows rows = {.sizes = at->sizes};
    const struct hoop_row_splits splits = {.input = at->input[rank->rank],
                                           .output = at->output[rank->rank]};
    struct given in = at->in[rank->rank];
    struct given own = {.shape = expected->shape};
    const struct hoop_tensor tensor = tensor_of(in.at, &in.shape);
    struct hoop_tensor out = {.data = NULL};
    struct hoop_tensor given = tensor_of(own.at, &own.shape);
    struct redistribute_call_arguments call = {.tensor = &tensor,
                                               .out = &out,
                                               .rows = at->sizes ? &rows : NULL,
                                               .splits = splits.input ? &splits
                                                                      : NULL,
                                               .comm = rank->comm};

    RANK_CHECK(mapping_case);
    RANK_CHECK(mapping_case_run(mapping_case, &call) == HOOP_OK);
    RANK_CHECK(is(&out, expected));
    hoop_tensor_free(&out);
    RANK_CHECK(!out.data);
    call.out = &given;
    RANK_CHECK((mapping_case_has_start(mapping_case)
                    ? mapping_case_run_started(mapping_case, &call)
                    : mapping_case_run(mapping_case, &call)) == HOOP_OK);
    RANK_CHECK(is(&given, expected));
    /* The input has not changed. */
    RANK_CHECK(memcmp(&in, &at->in[rank->rank], sizeof(in)) == 0);
    return 0;
}

static int
examples_body(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        const char *const *names = examples[i].names;

        for (size_t k = 0; k < NAMES_MAX && names[k]; k++) {
            if (one_example(rank, &examples[i], names[k]) != 0) {
                fprintf(stderr, "example %zu: %s: %s\n", i, names[k],
                        hoop_error_text());
                return 1;
            }
        }
    }
    return 0;
}

static void
each_example_gives_what_is_written(void **state)
{
    assert_int_equal(ranks_run_all(RANKS, examples_body), 0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = RANKS,
                         .body = examples_body,
                         .is_checked = true,
                     }),
                     0);
}

/* The values are the ranks of the world, and then ranks 4 to 7 of a larger
 * one. */
static int
sums_of_ranks_are_the_same_everywhere(struct rank *rank)
{
    const int64_t n = rank->size;
    const struct hoop_shape shape = {0};

    for (int64_t first = 0; first <= 4; first += 4) {
        int64_t value = rank->rank + first;
        struct hoop_tensor in_place = tensor_of(&value, &shape);

        RANK_CHECK(hoop_copy_to_tp_backward(&in_place, &in_place, rank->comm) ==
                   HOOP_OK);
        RANK_CHECK(value == n * (n - 1) / 2 + n * first);
        RANK_CHECK(n != 4 || value == (first == 0 ? 6 : 22));
        value = rank->rank + first;
        RANK_CHECK(hoop_reduce_from_tp_forward(&in_place, &in_place,
                                               rank->comm) == HOOP_OK);
        RANK_CHECK(value == n * (n - 1) / 2 + n * first);
        /* The other directions change nothing, and send nothing. */
        RANK_CHECK(hoop_copy_to_tp_forward(&in_place, &in_place, rank->comm) ==
                   HOOP_OK);
        RANK_CHECK(hoop_reduce_from_tp_backward(&in_place, &in_place,
                                                rank->comm) == HOOP_OK);
        RANK_CHECK(value == n * (n - 1) / 2 + n * first);
    }
    return 0;
}

struct indivisible {
    const char *name;
    struct hoop_shape shape;
    uint32_t size;
};

static const struct indivisible indivisible[] = {
    {"tp_reduce_scatter_first", {1, {5}}, 2},
    {"tp_reduce_scatter_first", {2, {5, 4}}, 3},
    {"tp_reduce_scatter_last", {2, {4, 5}}, 4},
    {"tp_reduce_scatter_last", {1, {5}}, 2},
    {"reduce_scatter_to_sp forward", {1, {5}}, 3},
    {"reduce_scatter_last_to_tp forward", {1, {5}}, 4},
    {"all_gather_last_from_tp backward", {1, {5}}, 2},
    {"gather_from_sp sharded backward", {1, {5}}, 2},
    {"gather_from_sp replicated backward", {1, {5}}, 2},
    {"tp_split_last", {2, {4, 3}}, 2},
    {"tp_split_first", {2, {3, 4}}, 2},
    {"scatter_to_tp forward", {2, {4, 3}}, 2},
    {"gather_from_tp backward", {2, {4, 3}}, 4},
    {"scatter_to_sp forward", {2, {3, 4}}, 2},
    {"all_to_all_hp2sp forward", {2, {3, 4}}, 2},
    {"all_to_all_sp2hp backward", {3, {1, 3, 2}}, 2},
    {"all_to_all_sp2hp forward", {2, {4, 3}}, 2},
    {"all_to_all_hp2sp backward", {2, {4, 5}}, 3},
    {"all_to_all_rows forward", {1, {5}}, 2},
    {"all_to_all_rows backward", {2, {5, 2}}, 4},
};

static int
one_indivisible(struct rank *rank, const struct indivisible *at)
{
    const struct mapping_case *mapping_case = mapping_case_find(at->name);
    int64_t values[20] = {0};
    const struct hoop_tensor tensor = tensor_of(values, &at->shape);
    struct hoop_tensor out = {.data = NULL};
    const struct redistribute_call_arguments call = {
        .tensor = &tensor, .out = &out, .comm = rank->comm};

    RANK_CHECK(mapping_case);
    RANK_CHECK(mapping_case_run(mapping_case, &call) == HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "cannot be cut into"));
    RANK_CHECK(!mapping_case_has_start(mapping_case) ||
               mapping_case_run_started(mapping_case, &call) == HOOP_E_INVALID);
    RANK_CHECK(!out.data && out.shape.n_dims == 0);
    return 0;
}

static int
what_cannot_be_cut_is_refused_on_every_rank(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(indivisible); i++) {
        if (indivisible[i].size == rank->size &&
            one_indivisible(rank, &indivisible[i]) != 0) {
            fprintf(stderr, "%s\n", indivisible[i].name);
            return 1;
        }
    }
    /* The communicator remains usable. */
    return hoop_barrier(rank->comm) == HOOP_OK ? 0 : 1;
}

/* Every function has an example, except those that only sum. */
static void
each_function_has_an_example(void **state)
{
    for (size_t i = 0; i < n_mapping_cases; i++) {
        bool is_found = false;

        for (size_t k = 0; k < COUNT_OF(examples) * NAMES_MAX; k++) {
            const char *name = examples[k / NAMES_MAX].names[k % NAMES_MAX];

            is_found |= name && strcmp(name, mapping_cases[i].name) == 0;
        }
        if (!is_found)
            fail_msg("%s has none", mapping_cases[i].name);
    }
}

/*
 * The rest of the file tests calls that are wrong on all ranks.
 *
 * Each call fails before anything moves, and returns no tensor. It does not
 * count as a call.
 */

enum {
    RANKS_ALL = 4,
};

/* Tries both forms without memory for the result. Both must return
 * HOOP_E_INVALID with the text, and nothing else. */
static bool
is_invalid(const struct mapping_case *mapping_case,
           struct redistribute_call_arguments call,
           const char *text)
{
    struct hoop_tensor out = {.data = NULL};
    hoop_op_t *op = NULL;

    if (!call.out)
        call.out = &out;
    return mapping_case_run(mapping_case, &call) == HOOP_E_INVALID &&
           error_says(text) &&
           (!mapping_case_has_start(mapping_case) ||
            (mapping_case_start(mapping_case, &call, &op) == HOOP_E_INVALID &&
             error_says(text))) &&
           !op && !out.data && out.shape.n_dims == 0;
}

static int
wrong_tensors(struct rank *rank, const struct mapping_case *mapping_case)
{
    const size_t strides[2] = {1, 4};
    struct hoop_tensor x = mapping_table(rank->size, rank->size);
    struct redistribute_call_arguments call = {.tensor = &x,
                                               .comm = rank->comm};

    call.comm = NULL;
    RANK_CHECK(is_invalid(mapping_case, call, "comm is NULL"));
    call.comm = rank->comm;
    call.tensor = NULL;
    RANK_CHECK(is_invalid(mapping_case, call, "the tensor is NULL"));
    call.tensor = &x;
    x.dtype = (enum hoop_dtype)99;
    RANK_CHECK(is_invalid(mapping_case, call, "dtype 99"));
    x = mapping_table(rank->size, rank->size);
    x.shape.n_dims = HOOP_MAX_DIMS + 1;
    RANK_CHECK(is_invalid(mapping_case, call, "dimensions"));
    x = mapping_table((size_t)1 << 40, (size_t)1 << 40);
    RANK_CHECK(is_invalid(mapping_case, call, "2^63"));
    x = mapping_table(rank->size, rank->size);
    x.data = NULL;
    RANK_CHECK(is_invalid(mapping_case, call, "no data"));
    x = mapping_table(2, 2);
    x.strides = strides;
    RANK_CHECK(
        is_invalid(mapping_case, call, "pack it with hoop_tensor_copy()"));
    x = (struct hoop_tensor){.data = mapping_values, .dtype = HOOP_INT64};
    if (mapping_case->effect != EFFECT_SAME &&
        mapping_case->effect != EFFECT_SUM)
        RANK_CHECK(is_invalid(mapping_case, call, "without dimensions"));
    return 0;
}

static int
wrong_results(struct rank *rank, const struct mapping_case *mapping_case)
{
    const size_t n = rank->size;
    const struct hoop_tensor x = mapping_table(2 * n, 2 * n);
    int64_t own[MAPPING_VALUES * RANKS_ALL];
    struct hoop_tensor out = {.data = NULL};
    struct redistribute_call_arguments call = {.tensor = &x,
                                               .comm = rank->comm};
    hoop_op_t *op = NULL;

    call.out = &out;
    RANK_CHECK(mapping_case_run(mapping_case, &call) == HOOP_OK);
    struct hoop_tensor wrong = out;
    hoop_tensor_free(&out);
    call.out = &wrong;
    wrong.data = own;
    wrong.dtype = HOOP_FLOAT64;
    RANK_CHECK(is_invalid(mapping_case, call, "float64"));
    wrong.dtype = HOOP_INT64;
    wrong.shape.dims[0]++;
    RANK_CHECK(is_invalid(mapping_case, call, "but the result is"));
    wrong.shape.dims[0]--;
    /* The output overlaps the input with an offset, or has another shape, so
     * this is not in place. */
    wrong.data = mapping_values + 1;
    RANK_CHECK(is_invalid(mapping_case, call, "overlaps"));
    wrong.data = mapping_values;
    if (!hoop_shape_equal(&wrong.shape, &x.shape))
        RANK_CHECK(is_invalid(mapping_case, call, "overlaps"));
    if (mapping_case_has_start(mapping_case)) {
        RANK_CHECK(mapping_case_start(mapping_case, &call, NULL) ==
                   HOOP_E_INVALID);
        RANK_CHECK(error_says("out_op is NULL"));
    }
    call.out = NULL;
    RANK_CHECK(mapping_case_run(mapping_case, &call) == HOOP_E_INVALID);
    RANK_CHECK(error_says("out is NULL"));
    RANK_CHECK(!op);
    return 0;
}

static int
wrong_rows(struct rank *rank, const struct mapping_case *mapping_case)
{
    const size_t n = rank->size;
    const struct hoop_tensor x = mapping_table(2 * n, 2);
    size_t sizes[RANKS_ALL];
    struct hoop_rows rows = {.sizes = sizes};
    struct hoop_row_splits splits = {.input = sizes};
    struct redistribute_call_arguments call = {.tensor = &x,
                                               .comm = rank->comm};
    struct hoop_tensor taken = {.data = mapping_values};
    hoop_scratch_t *scratch = NULL;

    for (size_t i = 0; i < n; i++)
        sizes[i] = 3 * n;
    if (mapping_case->splits) {
        call.splits = &splits;
        /* The other direction takes the sizes as those of its output. */
        if (mapping_case->effect == EFFECT_ROWS_BACK)
            splits = (struct hoop_row_splits){.output = sizes};
        RANK_CHECK(is_invalid(mapping_case, call, "but the sizes give"));
        sizes[0] = SIZE_MAX;
        RANK_CHECK(n == 1 || is_invalid(mapping_case, call, "more than 2^64"));
    }
    if (!mapping_case_takes_rows(mapping_case))
        return 0;
    call.rows = &rows;
    if (mapping_case->effect == EFFECT_CUT_FIRST)
        RANK_CHECK(is_invalid(mapping_case, call, "sizes must be NULL"));
    else
        RANK_CHECK(is_invalid(mapping_case, call, "but the sizes give"));
    RANK_CHECK(hoop_scratch_create(&scratch) == HOOP_OK);
    rows = (struct hoop_rows){.scratch = scratch};
    call.out = &taken;
    RANK_CHECK(is_invalid(mapping_case, call, "set it to NULL"));
    hoop_scratch_free(scratch);
    return 0;
}

static int
what_is_wrong_on_all_ranks_is_told_to_all(struct rank *rank)
{
    int failure = 0;

    for (size_t i = 0; i < n_mapping_cases && failure == 0; i++) {
        failure = wrong_tensors(rank, &mapping_cases[i]);
        failure = failure ? failure : wrong_results(rank, &mapping_cases[i]);
        failure = failure ? failure : wrong_rows(rank, &mapping_cases[i]);
        if (failure)
            fprintf(stderr, "%s\n", mapping_cases[i].name);
    }
    /* The refused calls do not count as calls. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return failure;
}

static int
consumer_of_no_kind_is_refused(struct rank *rank)
{
    const enum hoop_consumer neither = (enum hoop_consumer)7;
    const struct hoop_tensor x = mapping_table(rank->size, 2);
    struct hoop_tensor out = {.data = NULL};
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_gather_from_sp_forward(&x, &out, neither, NULL,
                                           rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(
        error_says("HOOP_CONSUMER_SHARDED nor HOOP_CONSUMER_REPLICATED"));
    RANK_CHECK(hoop_gather_from_sp_forward_start(
                   &x, &out, neither, NULL, rank->comm, &op) == HOOP_E_INVALID);
    RANK_CHECK(hoop_gather_from_sp_backward(&x, &out, neither, NULL,
                                            rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(hoop_gather_from_sp_backward_start(
                   &x, &out, neither, NULL, rank->comm, &op) == HOOP_E_INVALID);
    RANK_CHECK(!op && !out.data);
    return 0;
}

/* The scratch contains the tensor, or is in use. */
static int
scratch_in_use_or_of_the_tensor_is_refused(struct rank *rank)
{
    const struct hoop_tensor x = mapping_table(rank->size, 2);
    struct hoop_tensor first = {.data = NULL};
    struct hoop_tensor second = {.data = NULL};
    struct hoop_rows rows = {.sizes = NULL};
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_scratch_create(&rows.scratch) == HOOP_OK);
    RANK_CHECK(hoop_tp_gather_first_start(&x, &first, &rows, rank->comm, &op) ==
               HOOP_OK);
    RANK_CHECK(hoop_tp_gather_first(&x, &second, &rows, rank->comm) ==
               HOOP_E_PRECONDITION);
    RANK_CHECK(error_says("has not been waited for") && !second.data);
    RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(hoop_tp_reduce_scatter_first(&first, &second, &rows,
                                            rank->comm) == HOOP_E_INVALID);
    RANK_CHECK(error_says("lies in the scratch") && !second.data);
    RANK_CHECK(hoop_tp_gather_first(&x, &second, &rows, rank->comm) == HOOP_OK);
    hoop_scratch_free(rows.scratch);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_function_has_an_example),
        cmocka_unit_test(each_example_gives_what_is_written),
        RANKS_TEST(sums_of_ranks_are_the_same_everywhere, 1, 4),
        RANKS_TEST(what_cannot_be_cut_is_refused_on_every_rank, 2, 4),
        RANKS_TEST(what_is_wrong_on_all_ranks_is_told_to_all, 1, RANKS_ALL),
        RANKS_TEST(consumer_of_no_kind_is_refused, 2, 2),
        RANKS_TEST(scratch_in_use_or_of_the_tensor_is_refused, 1, RANKS_ALL),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
