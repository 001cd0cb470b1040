/* tests/integration/pipeline/chain.c - a model of integers that shows every
 * error */

#include "integration/pipeline/chain.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "pseudo_random.h"

static const uint64_t PRIME = 1000003;

/* Returns the shape that a virtual stage sends to the next one for a
 * micro-batch. */
static struct hoop_shape
boundary_shape(uint32_t at, uint32_t micro_batch)
{
    const bool is_large = micro_batch % 16 == 5 && at % 2 == 0;

    return (struct hoop_shape){
        .n_dims = 1 + micro_batch % 3,
        .dims = {is_large ? 10000 + micro_batch : 1 + at % 4,
                 1 + micro_batch % 2, 2},
    };
}

static struct hoop_tensor
boundary(uint32_t at, uint32_t micro_batch)
{
    const struct hoop_shape shape = boundary_shape(at, micro_batch);
    struct hoop_tensor tensor;

    if (hoop_tensor_create(HOOP_FLOAT64, &shape, &tensor) != HOOP_OK)
        abort();
    return tensor;
}

static size_t
count_of(const struct hoop_tensor *tensor)
{
    size_t count;

    if (hoop_shape_count(&tensor->shape, &count) != HOOP_OK)
        abort();
    return count;
}

static uint64_t
value(const struct hoop_tensor *tensor, size_t i)
{
    const double *values = tensor->data;

    return (uint64_t)values[i % count_of(tensor)];
}

/* One micro-batch in one virtual stage. */
struct leg {
    uint32_t at;
    uint32_t n_virtual;
    uint32_t micro_batch;
};

/* If input is NULL, this is the first virtual stage, which makes its own. */
static uint64_t
input_value(const struct leg *leg, const struct hoop_tensor *input, size_t i)
{
    return input ? value(input, i) : 11 * (uint64_t)leg->micro_batch + i;
}

static struct hoop_tensor
leg_forward(const struct leg *leg, const struct hoop_tensor *input)
{
    struct hoop_tensor out = boundary(leg->at, leg->micro_batch);
    double *values = out.data;
    const size_t count = count_of(&out);

    for (size_t i = 0; i < count; i++)
        values[i] = (double)((3 * input_value(leg, input, i) + i + leg->at +
                              7 * (uint64_t)leg->micro_batch) %
                             PRIME);
    return out;
}

/* If output_grad is NULL, this is the last virtual stage, which begins with its
 * input. */
static uint64_t
grad_value(const struct leg *leg,
           const struct hoop_tensor *input,
           const struct hoop_tensor *output_grad,
           size_t i)
{
    return output_grad ? value(output_grad, i)
                       : 2 * input_value(leg, input, i) + leg->micro_batch;
}

static struct hoop_tensor
leg_backward(const struct leg *leg,
             const struct hoop_tensor *input,
             const struct hoop_tensor *output_grad,
             uint64_t *sum)
{
    struct hoop_tensor out = {0};
    const size_t n_sum = output_grad ? count_of(output_grad) : 3;

    for (size_t i = 0; i < n_sum; i++)
        *sum = (7 * *sum + grad_value(leg, input, output_grad, i) +
                input_value(leg, input, i)) %
               PRIME;
    if (!input)
        return out;
    out = boundary(leg->at - 1, leg->micro_batch);
    double *values = out.data;
    const size_t count = count_of(&out);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)((5 * grad_value(leg, input, output_grad, i) +
                              value(input, i) + leg->at * i) %
                             PRIME);
    return out;
}

static uint64_t
loss_add(uint64_t losses, const struct hoop_tensor *output)
{
    const size_t count = count_of(output);

    for (size_t i = 0; i < count; i++)
        losses = (13 * losses + value(output, i)) % PRIME;
    return losses;
}

static struct leg
leg_of(const struct chain *chain, const struct hoop_task *task)
{
    return (struct leg){
        .at = task->chunk * chain->shape->n_stages + chain->stage,
        .n_virtual = chain->shape->n_stages * chain->shape->n_chunks,
        .micro_batch = task->micro_batch,
    };
}

static void
chain_delay(struct chain *chain)
{
    if (chain->delay_us == 0)
        return;
    const uint32_t us = random_below(&chain->chance, chain->delay_us);

    nanosleep(&(struct timespec){.tv_nsec = (long)(1000 * us)}, NULL);
}

/* Fails for the task that is meant to fail. */
static enum hoop_status
chain_status(struct chain *chain, const struct hoop_task *task)
{
    const struct hoop_task *bad = &chain->bad_task;

    chain_delay(chain);
    if (chain->bad_status == HOOP_OK || task->kind != bad->kind ||
        task->micro_batch != bad->micro_batch || task->chunk != bad->chunk)
        return HOOP_OK;
    if (chain->on_bad)
        chain->on_bad();
    return chain->bad_status;
}

static enum hoop_status
on_forward(void *owner,
           const struct hoop_task *task,
           const struct hoop_tensor *input,
           struct hoop_tensor *out)
{
    struct chain *chain = owner;
    const struct leg leg = leg_of(chain, task);

    *out = leg_forward(&leg, input);
    if (leg.at == leg.n_virtual - 1)
        chain->losses = loss_add(chain->losses, out);
    return chain_status(chain, task);
}

static enum hoop_status
on_backward(void *owner,
            const struct hoop_task *task,
            const struct hoop_tensor *input,
            const struct hoop_tensor *output_grad,
            struct hoop_tensor *out_input_grad)
{
    struct chain *chain = owner;
    const struct leg leg = leg_of(chain, task);

    *out_input_grad =
        leg_backward(&leg, input, output_grad, &chain->sums[task->chunk]);
    return chain_status(chain, task);
}

static void
on_task(void *owner,
        const struct hoop_task *task,
        uint64_t begin_ns,
        uint64_t end_ns)
{
    struct chain *chain = owner;

    (void)task;
    chain->n_tasks++;
    chain->is_out_of_order |= begin_ns < chain->last_ns || end_ns < begin_ns;
    chain->last_ns = end_ns;
}

struct hoop_stage_work
chain_work(struct chain *chain)
{
    return (struct hoop_stage_work){
        .forward = on_forward,
        .backward = on_backward,
        .owner = chain,
        .on_task = on_task,
    };
}

/* Takes one micro-batch through all virtual stages and back. */
static void
micro_batch_reference(uint32_t n_virtual,
                      uint32_t micro_batch,
                      uint64_t sums[CHAIN_VIRTUAL_MAX],
                      uint64_t *losses)
{
    struct hoop_tensor made[CHAIN_VIRTUAL_MAX] = {0};
    struct hoop_tensor grad = {0};

    for (uint32_t at = 0; at < n_virtual; at++) {
        const struct leg leg = {at, n_virtual, micro_batch};

        made[at] = leg_forward(&leg, at > 0 ? &made[at - 1] : NULL);
    }
    *losses = loss_add(*losses, &made[n_virtual - 1]);
    for (uint32_t at = n_virtual; at-- > 0;) {
        const struct leg leg = {at, n_virtual, micro_batch};
        const bool is_last = at == n_virtual - 1;

        struct hoop_tensor next =
            leg_backward(&leg, at > 0 ? &made[at - 1] : NULL,
                         is_last ? NULL : &grad, &sums[at]);
        hoop_tensor_free(&grad);
        hoop_tensor_free(&made[at]);
        grad = next;
    }
    hoop_tensor_free(&grad);
}

void
chain_reference(const struct hoop_schedule_options *shape,
                uint64_t sums[CHAIN_VIRTUAL_MAX],
                uint64_t *out_losses)
{
    const uint32_t n_virtual = shape->n_stages * shape->n_chunks;

    assert(n_virtual <= CHAIN_VIRTUAL_MAX);
    for (uint32_t at = 0; at < n_virtual; at++)
        sums[at] = 0;
    *out_losses = 0;
    for (uint32_t i = 0; i < shape->n_micro_batches; i++)
        micro_batch_reference(n_virtual, i, sums, out_losses);
}
