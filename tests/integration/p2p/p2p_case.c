/* tests/integration/p2p/p2p_case.c - runs processes as stages of a pipeline */

#include "integration/p2p/p2p_case.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "check.h"

const struct hoop_shape pair = {.n_dims = 3, .dims = {1, 1, 2}};

static void
must(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "set-up: %s\n", hoop_error_text());
    exit(99);
}

struct hoop_shape
shape_of(size_t sequence, size_t batch, size_t hidden)
{
    return (struct hoop_shape){.n_dims = 3, .dims = {sequence, batch, hidden}};
}

static size_t
count_of(const struct hoop_shape *shape)
{
    size_t count = 0;

    must(hoop_shape_count(shape, &count));
    return count;
}

struct hoop_tensor
tensor_filled(const struct hoop_shape *shape, int64_t first, int64_t step)
{
    struct hoop_tensor tensor;

    must(hoop_tensor_create(HOOP_INT64, shape, &tensor));
    int64_t *at = tensor.data;
    for (size_t i = 0; i < count_of(shape); i++)
        at[i] = first + (int64_t)i * step;
    return tensor;
}

struct hoop_tensor
tensor_awaited(const struct hoop_shape *shape)
{
    return (struct hoop_tensor){.dtype = HOOP_UINT8, .shape = *shape};
}

bool
tensor_is(const struct hoop_tensor *tensor,
          const struct hoop_shape *shape,
          int64_t first,
          int64_t step)
{
    const int64_t *at = tensor->data;

    if (tensor->dtype != HOOP_INT64 || !hoop_shape_equal(&tensor->shape, shape))
        return false;
    for (size_t i = 0; i < count_of(shape); i++) {
        if (at[i] != first + (int64_t)i * step)
            return false;
    }
    return true;
}

hoop_p2p_t *
p2p_of_kind(struct rank *rank, uint32_t kind)
{
    static const enum hoop_dtype dtype = HOOP_INT64;
    const struct hoop_p2p_options options = {
        .stages = rank->comm,
        .dtype = &dtype,
        .is_unbatched = kind % 2 == 1,
        .has_variable_shapes = kind / 2 == 1,
    };
    hoop_p2p_t *p2p = NULL;

    must(hoop_p2p_create(&options, &p2p));
    return p2p;
}

unsigned
stage_of(const struct rank *rank)
{
    return (rank->rank == 0 ? (unsigned)HOOP_P2P_STAGE_FIRST : 0U) |
           (rank->rank == rank->size - 1 ? (unsigned)HOOP_P2P_STAGE_LAST : 0U);
}

void
stage_init(struct stage *stage, struct rank *rank, uint32_t kind)
{
    const int64_t base = 100 * (int64_t)rank->rank;

    *stage = (struct stage){
        .rank = rank,
        .p2p = p2p_of_kind(rank, kind),
        .at = stage_of(rank),
        .next = (rank->rank + 1) % rank->size,
        .prev = (rank->rank + rank->size - 1) % rank->size,
        .act = tensor_filled(&pair, base + 1, 1),
        .grad = tensor_filled(&pair, -(base + 1), -1),
    };
    stage->acts = (struct hoop_tensors){1, &stage->act, &stage->act, 0};
    stage->grads = (struct hoop_tensors){1, &stage->grad, &stage->grad, 0};
}

void
stage_deinit(struct stage *stage)
{
    hoop_tensor_free(&stage->act);
    hoop_tensor_free(&stage->grad);
    hoop_p2p_free(stage->p2p);
}

bool
is_act(const struct hoop_tensor *tensor, uint32_t of)
{
    return tensor_is(tensor, &pair, 100 * (int64_t)of + 1, 1);
}

bool
is_grad(const struct hoop_tensor *tensor, uint32_t of)
{
    return tensor_is(tensor, &pair, -(100 * (int64_t)of + 1), -1);
}

int
p2p_exchange_check(const struct rank *rank,
                   hoop_p2p_t *p2p,
                   const struct hoop_shape *out,
                   const struct hoop_shape *in)
{
    const int64_t mine = 2 * (int64_t)rank->rank;
    const int64_t prev =
        2 * (int64_t)((rank->rank + rank->size - 1) % rank->size);
    const int64_t next = 2 * (int64_t)((rank->rank + 1) % rank->size);
    struct hoop_tensor output = tensor_filled(out, mine + 1, 1);
    struct hoop_tensor input_grad = tensor_filled(in, mine + 2, -1);
    struct hoop_tensor input = tensor_awaited(out);
    struct hoop_tensor output_grad = tensor_awaited(in);
    const struct hoop_p2p_ops ops = {.send_next = &output,
                                     .send_prev = &input_grad,
                                     .recv_prev = &input,
                                     .received_prev = &input,
                                     .recv_next = &output_grad,
                                     .received_next = &output_grad};

    RANK_CHECK(hoop_p2p_exchange_all(p2p, &ops) == HOOP_OK);
    RANK_CHECK(tensor_is(&input, out, prev + 1, 1));
    RANK_CHECK(tensor_is(&output_grad, in, next + 2, -1));
    hoop_tensor_free(&output);
    hoop_tensor_free(&input_grad);
    hoop_tensor_free(&input);
    hoop_tensor_free(&output_grad);
    return 0;
}

int
p2p_case_run(const struct rank_case *cases, size_t n_cases, uint32_t deadline_s)
{
    static const uint32_t sizes[] = {1, 2, 3, 4};

    return ranks_run_cases(&(struct rank_cases){
        .cases = cases,
        .n_cases = n_cases,
        .sizes = sizes,
        .n_sizes = COUNT_OF(sizes),
        .deadline_s = deadline_s,
    });
}
