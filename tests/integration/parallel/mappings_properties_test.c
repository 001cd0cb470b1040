/*
 * tests/integration/parallel/mappings_properties_test.c - checks properties
 *
 * The test checks the backward of a forward, the transpose, how much is sent,
 * scratch memory, and many operations at the same time.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "engine/engine.h"
#include "integration/parallel/mapping_cases.h"
#include "integration/reference.h"
#include "pseudo_random.h"
#include "ranks.h"

enum {
    RANKS_ALL = 4,
    N_ELEMENTS_MAX = 1024,
};

/* What the backward of the forward of a tensor must be. */
enum round_trip {
    REDISTRIBUTE_CASE_SAME,            /* for any tensor */
    REDISTRIBUTE_CASE_SAME_REPLICATED, /* for one that all ranks have */
    REDISTRIBUTE_CASE_TIMES_N,
    REDISTRIBUTE_CASE_SUM,
};

struct pair {
    const char *name;
    enum round_trip trip;
    /* Whether each is the transpose of the other, if the ranks' tensors are
     * parts of one. */
    unsigned is_transpose;
};

static const struct pair pairs[] = {
    {"copy_to_tp", REDISTRIBUTE_CASE_SUM, 0},
    {"reduce_from_tp", REDISTRIBUTE_CASE_SUM, 0},
    {"scatter_to_tp", REDISTRIBUTE_CASE_SAME_REPLICATED, 0},
    {"gather_from_tp", REDISTRIBUTE_CASE_SAME, 0},
    {"scatter_to_sp", REDISTRIBUTE_CASE_SAME_REPLICATED, 0},
    {"gather_from_sp sharded", REDISTRIBUTE_CASE_TIMES_N, 1},
    {"gather_from_sp replicated", REDISTRIBUTE_CASE_SAME, 0},
    {"reduce_scatter_to_sp", REDISTRIBUTE_CASE_SUM, 1},
    {"all_gather_last_from_tp", REDISTRIBUTE_CASE_TIMES_N, 1},
    {"reduce_scatter_last_to_tp", REDISTRIBUTE_CASE_SUM, 1},
    {"all_to_all_rows", REDISTRIBUTE_CASE_SAME, 1},
    {"all_to_all_sp2hp", REDISTRIBUTE_CASE_SAME, 1},
    {"all_to_all_hp2sp", REDISTRIBUTE_CASE_SAME, 1},
};

static const struct mapping_case *
way_of(const struct pair *pair, const char *way)
{
    char name[64];

    snprintf(name, sizeof(name), "%s %s", pair->name, way);
    return mapping_case_find(name);
}

/* By these lists rank r has r + 1 rows, or gives r + s rows to rank s. */
struct lists {
    size_t sizes[RANKS_ALL];
    size_t input[RANKS_ALL];
    size_t output[RANKS_ALL];
    struct hoop_rows rows;
    struct hoop_row_splits splits;
};

static void
lists_fill(struct lists *lists, const struct rank *rank)
{
    for (uint32_t i = 0; i < rank->size; i++) {
        lists->sizes[i] = i + 1;
        lists->input[i] = rank->rank + 2 * (size_t)i;
        lists->output[i] = i + 2 * (size_t)rank->rank;
    }
    lists->rows = (struct hoop_rows){.sizes = lists->sizes};
    lists->splits = (struct hoop_row_splits){lists->input, lists->output};
}

/* Returns whether the pair takes the lists: not every function takes sizes both
 * forward and backward. */
static bool
takes_lists(const struct pair *pair)
{
    const struct mapping_case *forward = way_of(pair, "forward");
    const struct mapping_case *backward = way_of(pair, "backward");

    return forward->splits || (mapping_case_takes_sizes(forward) &&
                               mapping_case_takes_sizes(backward));
}

/* Returns how many rows the tensor of the forward has, by the lists. */
static size_t
listed_rows(const struct mapping_case *forward,
            const struct lists *lists,
            const struct rank *rank)
{
    const size_t *list = forward->splits ? lists->input : lists->sizes;
    size_t sum = 0;

    if (forward->effect == EFFECT_JOIN_FIRST)
        return lists->sizes[rank->rank];
    for (uint32_t i = 0; i < rank->size; i++)
        sum += list[i];
    return sum;
}

/* Fills the tensor with small numbers that depend on the seed. */
static void
fill(struct hoop_tensor *tensor, uint64_t seed)
{
    int64_t *values = tensor->data;
    size_t n = 0;

    if (hoop_shape_count(&tensor->shape, &n) != HOOP_OK || n > N_ELEMENTS_MAX)
        abort();
    for (size_t i = 0; i < n; i++)
        values[i] = (int64_t)(random_next(&seed) % 2001) - 1000;
}

static size_t
count_of(const struct hoop_tensor *tensor)
{
    size_t n = 0;

    return hoop_shape_count(&tensor->shape, &n) == HOOP_OK ? n : 0;
}

/* Returns whether a has the given values, multiplied by factor. */
static bool
is_times(const struct hoop_tensor *a, const int64_t *values, int64_t factor)
{
    const int64_t *got = a->data;

    for (size_t i = 0; i < count_of(a); i++) {
        if (got[i] != values[i] * factor)
            return false;
    }
    return true;
}

/* Returns whether the round trip has the right effect on the tensors of all
 * ranks. */
static bool
is_as_after(enum round_trip trip,
            const struct hoop_tensor *there_and_back,
            const struct hoop_tensor *tensor,
            hoop_comm_t *comm)
{
    int64_t sum[N_ELEMENTS_MAX];

    switch (trip) {
    case REDISTRIBUTE_CASE_SAME:
    case REDISTRIBUTE_CASE_SAME_REPLICATED:
        return is_times(there_and_back, tensor->data, 1);
    case REDISTRIBUTE_CASE_TIMES_N:
        return is_times(there_and_back, tensor->data, hoop_comm_size(comm));
    case REDISTRIBUTE_CASE_SUM:
        return hoop_allreduce(tensor->data, sum, count_of(tensor), HOOP_INT64,
                              HOOP_SUM, comm) == HOOP_OK &&
               is_times(there_and_back, sum, 1);
    }
    return false;
}

/* Returns the sum of <a, b> over all ranks. */
static int64_t
product_of(const struct hoop_tensor *a,
           const struct hoop_tensor *b,
           hoop_comm_t *comm)
{
    const int64_t *x = a->data;
    const int64_t *y = b->data;
    int64_t sum = 0;

    for (size_t i = 0; i < count_of(a); i++)
        sum += x[i] * y[i];
    return hoop_allreduce(HOOP_IN_PLACE, &sum, 1, HOOP_INT64, HOOP_SUM, comm) ==
                   HOOP_OK
               ? sum
               : -1;
}

/* Checks the round trip, and that <f(x), g> = <x, f*(g)>. */
static int
one_pair(struct rank *rank,
         const struct pair *pair,
         const struct hoop_shape *shape,
         const struct lists *lists)
{
    const struct mapping_case *forward = way_of(pair, "forward");
    const struct mapping_case *backward = way_of(pair, "backward");
    const uint64_t seed =
        7 + (pair->trip == REDISTRIBUTE_CASE_SAME_REPLICATED ? 0 : rank->rank);
    int64_t values[N_ELEMENTS_MAX];
    struct hoop_tensor x = {values, HOOP_INT64, *shape, NULL};
    struct hoop_tensor y = {.data = NULL};
    struct hoop_tensor back = {.data = NULL};
    struct hoop_tensor grad = {.data = NULL};
    struct redistribute_call_arguments call = {
        .tensor = &x,
        .out = &y,
        .rows = lists ? &lists->rows : NULL,
        .splits = lists ? &lists->splits : NULL,
        .comm = rank->comm};

    RANK_CHECK(forward && backward);
    fill(&x, seed);
    RANK_CHECK(mapping_case_run(forward, &call) == HOOP_OK);
    call.tensor = &y;
    call.out = &back;
    RANK_CHECK(mapping_case_run_started(backward, &call) == HOOP_OK);
    RANK_CHECK(count_of(&back) == count_of(&x));
    RANK_CHECK(is_as_after(pair->trip, &back, &x, rank->comm));
    if (pair->is_transpose) {
        RANK_CHECK(hoop_tensor_create(HOOP_INT64, &y.shape, &grad) == HOOP_OK);
        fill(&grad, 99 + rank->rank);
        call.tensor = &grad;
        RANK_CHECK(mapping_case_run(backward, &call) == HOOP_OK);
        RANK_CHECK(product_of(&y, &grad, rank->comm) ==
                   product_of(&x, &back, rank->comm));
    }
    hoop_tensor_free(&y);
    hoop_tensor_free(&back);
    hoop_tensor_free(&grad);
    return 0;
}

static int
backward_is_what_the_forward_asks_for(struct rank *rank)
{
    const size_t n = rank->size;

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const struct hoop_shape even = {3, {2 * n, 3, 2 * n}};
        struct hoop_shape uneven = {2, {0, 3}};
        struct lists lists;

        lists_fill(&lists, rank);
        int failure = one_pair(rank, &pairs[i], &even, NULL);
        if (failure == 0 && takes_lists(&pairs[i])) {
            uneven.dims[0] =
                listed_rows(way_of(&pairs[i], "forward"), &lists, rank);
            failure = one_pair(rank, &pairs[i], &uneven, &lists);
        }
        if (failure) {
            fprintf(stderr, "%s: %s\n", pairs[i].name, hoop_error_text());
            return failure;
        }
    }
    return 0;
}

/* Reads the same counters as hoop_session_stats(), since this world has no
 * session. A single rank does not even start an operation. */
static int
splits_and_copies_send_nothing(struct rank *rank)
{
    const size_t n = rank->size;
    int64_t values[N_ELEMENTS_MAX];
    struct hoop_tensor x = {values, HOOP_INT64, {2, {2 * n, 2 * n}}, NULL};
    struct engine_stats before;
    struct engine_stats after;

    fill(&x, 1);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (size_t i = 0; i < n_mapping_cases; i++) {
        struct hoop_tensor out = {.data = NULL};
        const struct redistribute_call_arguments call = {
            .tensor = &x, .out = &out, .comm = rank->comm};
        const bool is_still =
            n == 1 || effect_stays_here(mapping_cases[i].effect);

        engine_stats(rank->engine, &before);
        RANK_CHECK(mapping_case_run(&mapping_cases[i], &call) == HOOP_OK);
        if (is_still && mapping_case_has_start(&mapping_cases[i]))
            RANK_CHECK(mapping_case_run_started(&mapping_cases[i], &call) ==
                       HOOP_OK);
        engine_stats(rank->engine, &after);
        hoop_tensor_free(&out);
        RANK_CHECK(is_still == (after.operations == before.operations));
        RANK_CHECK(!is_still || memcmp(&before.transport, &after.transport,
                                       sizeof(before.transport)) == 0);
        RANK_CHECK(is_still ||
                   after.transport.bytes_sent > before.transport.bytes_sent);
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    }
    return 0;
}

static int
scratch_has_one_result_after_the_other(struct rank *rank)
{
    const size_t n = rank->size;
    int64_t values[N_ELEMENTS_MAX];
    struct hoop_tensor x = {values, HOOP_INT64, {2, {2 * n, 3}}, NULL};
    struct hoop_tensor first = {.data = NULL};
    struct hoop_tensor second = {.data = NULL};
    struct hoop_tensor third = {.data = NULL};
    struct hoop_rows rows = {.sizes = NULL};

    RANK_CHECK(hoop_scratch_create(&rows.scratch) == HOOP_OK);
    fill(&x, 1);
    RANK_CHECK(hoop_gather_from_sp_forward(&x, &first, HOOP_CONSUMER_SHARDED,
                                           &rows, rank->comm) == HOOP_OK);
    const int64_t before = *(int64_t *)first.data;
    RANK_CHECK(before == values[0]);
    /* The next result uses the same scratch memory as the first one. */
    values[0]++;
    RANK_CHECK(hoop_tp_gather_first(&x, &second, &rows, rank->comm) == HOOP_OK);
    RANK_CHECK(second.data == first.data);
    RANK_CHECK(*(int64_t *)first.data == before + 1);
    /* So do a smaller result and one that is cut here. */
    RANK_CHECK(hoop_reduce_scatter_to_sp_forward(&x, &third, &rows,
                                                 rank->comm) == HOOP_OK);
    RANK_CHECK(third.data == first.data && third.shape.dims[0] == 2);
    RANK_CHECK(*(int64_t *)third.data ==
               (int64_t)n * values[2 * 3 * (size_t)rank->rank]);
    third.data = NULL;
    RANK_CHECK(hoop_gather_from_sp_backward(&x, &third,
                                            HOOP_CONSUMER_REPLICATED, &rows,
                                            rank->comm) == HOOP_OK);
    RANK_CHECK(third.data == first.data);
    hoop_scratch_free(rows.scratch);
    return 0;
}

/* All functions are started before any is waited for, and the last one is
 * waited for first. */
static int
operations_may_be_under_way_at_once(struct rank *rank)
{
    const size_t n = rank->size;
    int64_t values[N_ELEMENTS_MAX];
    struct hoop_tensor x = {values, HOOP_INT64, {2, {2 * n, 2 * n}}, NULL};
    struct hoop_tensor started[64] = {{.data = NULL}};
    hoop_op_t *ops[64] = {NULL};

    RANK_CHECK(n_mapping_cases <= COUNT_OF(ops));
    fill(&x, 5 + rank->rank);
    for (size_t i = 0; i < n_mapping_cases; i++) {
        const struct redistribute_call_arguments call = {
            .tensor = &x, .out = &started[i], .comm = rank->comm};

        if (mapping_case_has_start(&mapping_cases[i]))
            RANK_CHECK(mapping_case_start(&mapping_cases[i], &call, &ops[i]) ==
                       HOOP_OK);
    }
    for (size_t i = n_mapping_cases; i-- > 0;)
        RANK_CHECK(!ops[i] || hoop_wait(ops[i], HOOP_FOREVER) == HOOP_OK);
    for (size_t i = 0; i < n_mapping_cases; i++) {
        struct hoop_tensor out = {.data = NULL};
        const struct redistribute_call_arguments call = {
            .tensor = &x, .out = &out, .comm = rank->comm};

        RANK_CHECK(mapping_case_run(&mapping_cases[i], &call) == HOOP_OK);
        RANK_CHECK(!ops[i] ||
                   (hoop_shape_equal(&out.shape, &started[i].shape) &&
                    is_times(&started[i], out.data, 1)));
        hoop_tensor_free(&out);
        hoop_tensor_free(&started[i]);
    }
    return 0;
}

/* The tensors have many frames and many rows. Element i of rank r is r times
 * the number of elements, plus i. */
static int
large_tensors_are_sorted_there_and_back(struct rank *rank)
{
    const size_t t = 509;
    const size_t h = 96;
    const size_t n_columns = h * rank->size;
    const struct hoop_shape shape = {3, {1, t, n_columns}};
    const int64_t first = (int64_t)(rank->rank * t * n_columns);
    struct hoop_tensor x = {.data = NULL};
    struct hoop_tensor y = {.data = NULL};
    struct hoop_tensor back = {.data = NULL};
    int64_t n_wrong = 0;

    RANK_CHECK(hoop_tensor_create(HOOP_INT64, &shape, &x) == HOOP_OK);
    int64_t *given = x.data;
    for (size_t i = 0; i < t * n_columns; i++)
        given[i] = first + (int64_t)i;
    RANK_CHECK(hoop_all_to_all_sp2hp_forward(&x, &y, rank->comm) == HOOP_OK);
    /* Rows i of all ranks' tokens follow each other, and have the columns of
     * this rank. */
    const int64_t *got = y.data;
    for (size_t i = 0; i < t * rank->size * h; i++)
        n_wrong +=
            got[i] != (int64_t)(i / h * n_columns + rank->rank * h + i % h);
    RANK_CHECK(n_wrong == 0);
    RANK_CHECK(hoop_all_to_all_sp2hp_backward(&y, &back, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(memcmp(back.data, x.data, t * n_columns * sizeof(*got)) == 0);
    hoop_tensor_free(&x);
    hoop_tensor_free(&y);
    hoop_tensor_free(&back);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(backward_is_what_the_forward_asks_for, 1, RANKS_ALL),
        RANKS_TEST(splits_and_copies_send_nothing, 1, RANKS_ALL),
        RANKS_TEST(scratch_has_one_result_after_the_other, 1, RANKS_ALL),
        RANKS_TEST(operations_may_be_under_way_at_once, 1, RANKS_ALL),
        RANKS_TEST(large_tensors_are_sorted_there_and_back, 1, RANKS_ALL),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
