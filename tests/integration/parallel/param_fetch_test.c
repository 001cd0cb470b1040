/* tests/integration/parallel/param_fetch_test.c - a parameter cut over ranks
 *
 * Each rank has some rows of a weight. A hook gathers all rows before an
 * operation, and releases them afterwards. After the backward it leaves each
 * rank the sum of the gradients of its own rows. A second hook observes when
 * the first one has done so.
 */

#include <string.h>

#include "hoop/parameter.h"
#include "hoop/tensor_parallel.h"

#include "integration/vectors.h"

enum {
    ROWS = 2,
    COLUMNS = 3,
    PIECE = ROWS * COLUMNS,
};

struct store {
    struct rank *rank;
    struct hoop_tensor piece; /* of the weight; kept while it is whole */
    struct hoop_tensor grad;  /* of the whole weight, from the operation */
    struct hoop_tensor grad_piece;
    hoop_comm_t *comm;
    uint32_t n_fetched;
};

static enum hoop_status
fetch(const struct hoop_param_list *params, void *owner)
{
    struct store *store = owner;
    struct hoop_tensor whole = {0};

    store->piece = params->params[0]->tensor;
    store->n_fetched++;
    const enum hoop_status status =
        hoop_tp_gather_first(&store->piece, &whole, NULL, store->comm);
    if (status == HOOP_OK)
        params->params[0]->tensor = whole;
    return status;
}

static enum hoop_status
give_up(const struct hoop_param_list *params, void *owner)
{
    struct store *store = owner;

    hoop_tensor_free(&params->params[0]->tensor);
    params->params[0]->tensor = store->piece;
    return HOOP_OK;
}

static enum hoop_status
give_up_backward(const struct hoop_param_list *params, void *owner)
{
    struct store *store = owner;
    const enum hoop_status status = give_up(params, owner);

    if (status != HOOP_OK)
        return status;
    return hoop_tp_reduce_scatter_first(&store->grad, &store->grad_piece, NULL,
                                        store->comm);
}

/* The second hook counts the rows that it sees in each phase. */
struct seen {
    size_t rows[8];
    size_t n_calls;
};

static enum hoop_status
look(const struct hoop_param_list *params, void *owner)
{
    struct seen *seen = owner;

    seen->rows[seen->n_calls++] = params->params[0]->tensor.shape.dims[0];
    return HOOP_OK;
}

/* Sums all elements of the weight. */
static enum hoop_status
sum_forward(const struct hoop_param_op *op, void *owner)
{
    const struct hoop_tensor *weight = &op->operands[0].param->tensor;
    int64_t *sum = op->operands[1].param->tensor.data;
    size_t count = 0;
    const enum hoop_status status = hoop_shape_count(&weight->shape, &count);

    (void)owner;
    for (size_t i = 0; i < count; i++)
        *sum += ((const int64_t *)weight->data)[i];
    return status;
}

/* Element i of the gradient of the weight is (rank + 1) * i. */
static enum hoop_status
sum_backward(const struct hoop_param_op *op, void *owner)
{
    struct store *store = owner;
    const struct hoop_tensor *weight = &op->operands[0].param->tensor;
    const enum hoop_status status =
        hoop_tensor_create(HOOP_INT64, &weight->shape, &store->grad);

    if (status != HOOP_OK)
        return status;
    for (uint32_t i = 0; i < PIECE * store->rank->size; i++)
        ((int64_t *)store->grad.data)[i] = (int64_t)(store->rank->rank + 1) * i;
    return HOOP_OK;
}

static int
gradient_is_summed(const struct rank *rank, const struct store *store)
{
    const int64_t n_ways = (int64_t)rank->size * (rank->size + 1) / 2;

    RANK_CHECK(store->grad_piece.shape.dims[0] == ROWS);
    for (uint32_t i = 0; i < PIECE; i++)
        RANK_CHECK(((const int64_t *)store->grad_piece.data)[i] ==
                   n_ways * (int64_t)(rank->rank * PIECE + i));
    return 0;
}

static int
step_is_whole(struct rank *rank,
              const struct hoop_param_op *op,
              struct store *store,
              const struct seen *seen)
{
    const int64_t count = (int64_t)rank->size * PIECE;
    const int64_t *sum = op->operands[1].param->tensor.data;
    const size_t whole = rank->size * ROWS;
    const size_t rows[] = {whole, ROWS, whole, ROWS};

    RANK_CHECK(hoop_param_op_forward(op) == HOOP_OK);
    RANK_CHECK(*sum == count * (count - 1) / 2);
    RANK_CHECK(op->operands[0].param->tensor.shape.dims[0] == ROWS);
    RANK_CHECK(hoop_param_op_backward(op) == HOOP_OK);
    RANK_CHECK(gradient_is_summed(rank, store) == 0);
    RANK_CHECK(store->n_fetched == 2 && seen->n_calls == 4);
    RANK_CHECK(memcmp(seen->rows, rows, sizeof(rows)) == 0);
    hoop_tensor_free(&store->grad);
    hoop_tensor_free(&store->grad_piece);
    return 0;
}

/* If hoop fails within a hook, the operation reports it, and the scope remains
 * usable. */
static int
failure_is_told(struct rank *rank,
                const struct hoop_param_op *op,
                struct store *store)
{
    store->comm = NULL;
    RANK_CHECK(hoop_param_op_forward(op) == HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "pre_forward of operation \"sum\""));
    RANK_CHECK(strstr(hoop_error_text(), "comm is NULL"));
    RANK_CHECK(op->operands[0].param->tensor.shape.dims[0] == ROWS);
    store->comm = rank->comm;
    RANK_CHECK(hoop_param_op_forward(op) == HOOP_OK);
    return 0;
}

static int
body(struct rank *rank)
{
    int64_t values[PIECE];
    int64_t sum = 0;
    struct hoop_param weight;
    struct hoop_param output;
    struct store store = {.rank = rank, .comm = rank->comm};
    struct seen seen = {.n_calls = 0};
    const hoop_param_hook_t fetching = {fetch, give_up, fetch, give_up_backward,
                                        &store};
    const hoop_param_hook_t looking = {look, look, look, look, &seen};
    const hoop_param_hook_t *const hooks[] = {&fetching, &looking};
    const struct hoop_operand operands[] = {{.param = &weight},
                                            {.param = &output}};
    const struct hoop_param_op op = {.name = "sum",
                                     .forward = sum_forward,
                                     .backward = sum_backward,
                                     .operands = operands,
                                     .n_operands = 2,
                                     .owner = &store};
    struct hoop_param_hooks scope;

    for (uint32_t i = 0; i < PIECE; i++)
        values[i] = rank->rank * PIECE + i;
    RANK_CHECK(
        hoop_param_init("weight",
                        &(struct hoop_tensor){.data = values,
                                              .dtype = HOOP_INT64,
                                              .shape = {2, {ROWS, COLUMNS}}},
                        &weight) == HOOP_OK);
    RANK_CHECK(hoop_param_init(
                   "sum",
                   &(struct hoop_tensor){.data = &sum, .dtype = HOOP_INT64},
                   &output) == HOOP_OK);
    output.kind = HOOP_PARAM_NONMODEL;
    RANK_CHECK(hoop_param_hooks_use(&scope, hooks, 2) == HOOP_OK);
    RANK_CHECK(step_is_whole(rank, &op, &store, &seen) == 0);
    RANK_CHECK(failure_is_told(rank, &op, &store) == 0);
    RANK_CHECK(hoop_param_hooks_release(&scope) == HOOP_OK);
    RANK_CHECK(weight.tensor.data == values);
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {{"param_fetch", body}};

    return vectors_run(cases, COUNT_OF(cases));
}
