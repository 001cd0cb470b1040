/*
 * tests/integration/mappings_vectors_test.c - worked examples of each function
 *
 * Of hoop/tensor_parallel.h and hoop/mappings.h, on two ranks, where nothing
 * else is said, in both forms: blocking into new memory, started into memory
 * of the test. Then what cannot be cut, on two, three and four ranks.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "passages.h"
#include "ranks.h"

enum {
    RANKS = 2,
    VALUES_MAX = 16,
};

/* A tensor; without dimensions, its one element. */
struct given {
    struct hoop_shape shape;
    int64_t at[VALUES_MAX];
};

struct example {
    const char *name;
    struct given in[RANKS];
    struct given out[RANKS];
    /* NULL: none. Of all ranks; input and output of each rank. */
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
    {.name = "tp_split_last",
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
             {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}}},
    {.name = "scatter_to_tp forward",
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
             {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}}},
    {.name = "gather_from_tp backward",
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
             {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}}},
    {.name = "tp_split_first",
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {2, 4}}, {0, 1, 2, 3, 4, 5, 6, 7}},
             {{2, {2, 4}}, {8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.name = "scatter_to_sp forward",
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {2, 4}}, {0, 1, 2, 3, 4, 5, 6, 7}},
             {{2, {2, 4}}, {8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.name = "gather_from_sp replicated backward",
     .in = {{{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {{2, {4, 4}},
             {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}},
     .out = {{{2, {2, 4}}, {0, 1, 2, 3, 4, 5, 6, 7}},
             {{2, {2, 4}}, {8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.name = "tp_gather_last",
     .in = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
            {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}},
     .out = {{{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
             {{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.name = "scatter_to_tp backward",
     .in = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
            {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}},
     .out = {{{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
             {{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.name = "gather_from_tp forward",
     .in = {{{2, {4, 2}}, {0, 1, 4, 5, 8, 9, 12, 13}},
            {{2, {4, 2}}, {2, 3, 6, 7, 10, 11, 14, 15}}},
     .out = {{{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
             {{2, {4, 4}},
              {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}}},
    {.name = "tp_gather_last",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}},
             {{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}}}},
    {.name = "gather_from_tp forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}},
             {{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}}}},
    {.name = "all_gather_last_from_tp forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}},
             {{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}}}},
    {.name = "reduce_scatter_last_to_tp backward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}},
             {{2, {2, 4}}, {1, 2, 5, 6, 3, 4, 7, 8}}}},
    {.name = "tp_reduce_scatter_last",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 1}}, {6, 10}}, {{2, {2, 1}}, {8, 12}}}},
    {.name = "all_gather_last_from_tp backward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 1}}, {6, 10}}, {{2, {2, 1}}, {8, 12}}}},
    {.name = "reduce_scatter_last_to_tp forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 1}}, {6, 10}}, {{2, {2, 1}}, {8, 12}}}},
    {.name = "tp_gather_first",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
    {.name = "scatter_to_sp backward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
    {.name = "gather_from_sp sharded forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
    {.name = "gather_from_sp replicated forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
    {.name = "reduce_scatter_to_sp backward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}}},
    {.name = "tp_gather_first",
     .in = {{{2, {1, 2}}, {1, 2}}, {{2, {3, 2}}, {3, 4, 5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}},
     .sizes = one_three},
    {.name = "gather_from_sp sharded forward",
     .in = {{{2, {1, 2}}, {1, 2}}, {{2, {3, 2}}, {3, 4, 5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}},
     .sizes = one_three},
    {.name = "reduce_scatter_to_sp backward",
     .in = {{{2, {1, 2}}, {1, 2}}, {{2, {3, 2}}, {3, 4, 5, 6, 7, 8}}},
     .out = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}}},
     .sizes = one_three},
    {.name = "tp_reduce_scatter_first",
     .in = {{{1, {4}}, {1, 2, 3, 4}}, {{1, {4}}, {10, 20, 30, 40}}},
     .out = {{{1, {1}}, {11}}, {{1, {3}}, {22, 33, 44}}},
     .sizes = one_three},
    {.name = "gather_from_sp sharded backward",
     .in = {{{1, {4}}, {1, 2, 3, 4}}, {{1, {4}}, {10, 20, 30, 40}}},
     .out = {{{1, {1}}, {11}}, {{1, {3}}, {22, 33, 44}}},
     .sizes = one_three},
    {.name = "reduce_scatter_to_sp forward",
     .in = {{{1, {4}}, {1, 2, 3, 4}}, {{1, {4}}, {10, 20, 30, 40}}},
     .out = {{{1, {1}}, {11}}, {{1, {3}}, {22, 33, 44}}},
     .sizes = one_three},
    {.name = "gather_from_sp sharded backward",
     .in = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {4, 2}}, {10, 20, 30, 40, 50, 60, 70, 80}}},
     .out = {{{2, {2, 2}}, {11, 22, 33, 44}}, {{2, {2, 2}}, {55, 66, 77, 88}}}},
    {.name = "tp_reduce_scatter_first",
     .in = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {4, 2}}, {10, 20, 30, 40, 50, 60, 70, 80}}},
     .out = {{{2, {2, 2}}, {11, 22, 33, 44}}, {{2, {2, 2}}, {55, 66, 77, 88}}}},
    {.name = "reduce_scatter_to_sp forward",
     .in = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {4, 2}}, {10, 20, 30, 40, 50, 60, 70, 80}}},
     .out = {{{2, {2, 2}}, {11, 22, 33, 44}}, {{2, {2, 2}}, {55, 66, 77, 88}}}},
    {.name = "gather_from_sp replicated backward",
     .in = {{{2, {4, 2}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {4, 2}}, {10, 20, 30, 40, 50, 60, 70, 80}}},
     .out = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {50, 60, 70, 80}}}},
    {.name = "tp_reduce",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {6, 8, 10, 12}}, {{2, {2, 2}}, {6, 8, 10, 12}}}},
    {.name = "copy_to_tp backward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {6, 8, 10, 12}}, {{2, {2, 2}}, {6, 8, 10, 12}}}},
    {.name = "reduce_from_tp forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {6, 8, 10, 12}}, {{2, {2, 2}}, {6, 8, 10, 12}}}},
    {.name = "copy_to_tp forward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}}},
    {.name = "reduce_from_tp backward",
     .in = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}},
     .out = {{{2, {2, 2}}, {1, 2, 3, 4}}, {{2, {2, 2}}, {5, 6, 7, 8}}}},
    {.name = "all_to_all_sp2hp forward",
     .in = {{{2, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {2, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}},
     .out = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
             {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}}},
    {.name = "all_to_all_hp2sp backward",
     .in = {{{2, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{2, {2, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}},
     .out = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
             {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}}},
    {.name = "all_to_all_hp2sp forward",
     .in = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
            {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}},
     .out = {{{2, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {2, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}}},
    {.name = "all_to_all_sp2hp backward",
     .in = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
            {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}},
     .out = {{{2, {2, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
             {{2, {2, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}}},
    {.name = "all_to_all_hp2sp forward",
     .in = {{{2, {4, 1}}, {1, 2, 3, 4}}, {{2, {4, 1}}, {10, 20, 30, 40}}},
     .out = {{{2, {2, 2}}, {1, 10, 2, 20}}, {{2, {2, 2}}, {3, 30, 4, 40}}}},
    {.name = "all_to_all_sp2hp forward",
     .in = {{{3, {2, 1, 4}}, {1, 2, 3, 4, 5, 6, 7, 8}},
            {{3, {2, 1, 4}}, {11, 12, 13, 14, 15, 16, 17, 18}}},
     .out = {{{2, {4, 2}}, {1, 2, 5, 6, 11, 12, 15, 16}},
             {{2, {4, 2}}, {3, 4, 7, 8, 13, 14, 17, 18}}}},
    {.name = "all_to_all_rows forward",
     .in = {{{1, {5}}, {0, 1, 2, 3, 4}}, {{1, {4}}, {10, 11, 12, 13}}},
     .out = {{{1, {3}}, {0, 1, 10}}, {{1, {6}}, {2, 3, 4, 11, 12, 13}}},
     .input = {two_three, one_three},
     .output = {two_one, three_three}},
    {.name = "all_to_all_rows backward",
     .in = {{{1, {3}}, {0, 1, 10}}, {{1, {6}}, {2, 3, 4, 11, 12, 13}}},
     .out = {{{1, {5}}, {0, 1, 2, 3, 4}}, {{1, {4}}, {10, 11, 12, 13}}},
     .input = {two_three, one_three},
     .output = {two_one, three_three}},
    {.name = "all_to_all_rows forward",
     .in = {{{1, {5}}, {0, 1, 2, 3, 4}}, {{1, {4}}, {10, 11, 12, 13}}},
     .out = {{{1, {4}}, {10, 11, 12, 13}}, {{1, {5}}, {0, 1, 2, 3, 4}}},
     .input = {zero_five, four_zero},
     .output = {zero_four, five_zero}},
    {.name = "all_to_all_rows forward",
     .in = {{{2, {2, 2}}, {0, 1, 2, 3}}, {{2, {2, 2}}, {4, 5, 6, 7}}},
     .out = {{{2, {2, 2}}, {0, 1, 4, 5}}, {{2, {2, 2}}, {2, 3, 6, 7}}}},
    {.name = "all_to_all_rows backward",
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
one_example(struct rank *rank, const struct example *at)
{
    const struct passage *passage = passage_find(at->name);
    const struct given *expected = &at->out[rank->rank];
    const struct hoop_rows rows = {.sizes = at->sizes};
    const struct hoop_row_splits splits = {.input = at->input[rank->rank],
                                           .output = at->output[rank->rank]};
    struct given in = at->in[rank->rank];
    struct given own = {.shape = expected->shape};
    const struct hoop_tensor tensor = tensor_of(in.at, &in.shape);
    struct hoop_tensor out = {.data = NULL};
    struct hoop_tensor given = tensor_of(own.at, &own.shape);
    struct redistribute_call_request call = {.tensor = &tensor,
                                             .out = &out,
                                             .rows = at->sizes ? &rows : NULL,
                                             .splits =
                                                 splits.input ? &splits : NULL,
                                             .comm = rank->comm};

    RANK_CHECK(passage);
    RANK_CHECK(passage_run(passage, &call) == HOOP_OK);
    RANK_CHECK(is(&out, expected));
    hoop_tensor_free(&out);
    RANK_CHECK(!out.data);
    call.out = &given;
    RANK_CHECK((passage_has_start(passage)
                    ? passage_run_started(passage, &call)
                    : passage_run(passage, &call)) == HOOP_OK);
    RANK_CHECK(is(&given, expected));
    /* What went in stays as it was. */
    RANK_CHECK(memcmp(&in, &at->in[rank->rank], sizeof(in)) == 0);
    return 0;
}

static int
examples_body(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        if (one_example(rank, &examples[i]) != 0) {
            fprintf(stderr, "example %zu: %s: %s\n", i, examples[i].name,
                    hoop_error_text());
            return 1;
        }
    }
    return 0;
}

static void
each_example_gives_what_is_written(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(RANKS, examples_body), 0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = RANKS,
                         .body = examples_body,
                         .is_checked = true,
                     }),
                     0);
}

/* Value = rank, of the world and of ranks 4 to 7 of a larger one. */
static int
sums_body(struct rank *rank)
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
        /* The other ways change nothing, nor move they anything. */
        RANK_CHECK(hoop_copy_to_tp_forward(&in_place, &in_place, rank->comm) ==
                   HOOP_OK);
        RANK_CHECK(hoop_reduce_from_tp_backward(&in_place, &in_place,
                                                rank->comm) == HOOP_OK);
        RANK_CHECK(value == n * (n - 1) / 2 + n * first);
    }
    return 0;
}

static void
sums_of_ranks_are_the_same_everywhere(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 4; size++)
        assert_int_equal(ranks_run_all(size, sums_body), 0);
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
    const struct passage *passage = passage_find(at->name);
    int64_t values[20] = {0};
    const struct hoop_tensor tensor = tensor_of(values, &at->shape);
    struct hoop_tensor out = {.data = NULL};
    const struct redistribute_call_request call = {
        .tensor = &tensor, .out = &out, .comm = rank->comm};

    RANK_CHECK(passage);
    RANK_CHECK(passage_run(passage, &call) == HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "cannot be cut into"));
    RANK_CHECK(!passage_has_start(passage) ||
               passage_run_started(passage, &call) == HOOP_E_INVALID);
    RANK_CHECK(!out.data && out.shape.n_dims == 0);
    return 0;
}

static int
indivisible_body(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(indivisible); i++) {
        if (indivisible[i].size == rank->size &&
            one_indivisible(rank, &indivisible[i]) != 0) {
            fprintf(stderr, "%s\n", indivisible[i].name);
            return 1;
        }
    }
    /* And the communicator is as it was. */
    return hoop_barrier(rank->comm) == HOOP_OK ? 0 : 1;
}

static void
what_cannot_be_cut_is_refused_on_every_rank(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 4; size++)
        assert_int_equal(ranks_run_all(size, indivisible_body), 0);
}

/* Every function stands in an example, but sums alone. */
static void
each_function_has_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_passages; i++) {
        bool is_found = false;

        for (size_t k = 0; k < COUNT_OF(examples); k++)
            is_found |= strcmp(examples[k].name, passages[i].name) == 0;
        if (!is_found)
            fail_msg("%s has none", passages[i].name);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_function_has_an_example),
        cmocka_unit_test(each_example_gives_what_is_written),
        cmocka_unit_test(sums_of_ranks_are_the_same_everywhere),
        cmocka_unit_test(what_cannot_be_cut_is_refused_on_every_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
