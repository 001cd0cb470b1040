/* train_3d/optimizer.c - turns the gradients of all replicas into one step */

#include "train_3d/optimizer.h"

#include <stdlib.h>

#include "train_3d/clock.h"
#include "train_3d/memory.h"

enum {
    BUCKET_BYTES = 1 << 16, /* small enough that this model has several */
};

/* Describes the model's parameters for hoop. Returns how many numbers they
 * have. */
static size_t
tensors_init(struct optimizer *optimizer)
{
    const struct model *model = optimizer->model;
    size_t n_values = 0;

    optimizer->values =
        zeros_create(model->n_parameters, sizeof(struct hoop_tensor));
    optimizer->gradients =
        zeros_create(model->n_parameters, sizeof(struct hoop_tensor));
    for (size_t i = 0; i < model->n_parameters; i++) {
        const struct parameter *parameter = model->parameters[i];

        optimizer->values[i] = matrix_tensor(parameter->value);
        optimizer->gradients[i] = matrix_tensor(parameter->gradient);
        n_values += matrix_count(parameter->value);
    }
    return n_values;
}

static enum hoop_status
replicated_init(struct optimizer *optimizer,
                const struct optimizer_options *options,
                size_t n_values)
{
    adam_init(&optimizer->adam, n_values, options->rate);
    return hoop_gradients_create(optimizer->gradients,
                                 optimizer->model->n_parameters,
                                 &(struct hoop_gradients_options){
                                     .comm = options->comm,
                                     .op = HOOP_SUM,
                                     .bucket_bytes = BUCKET_BYTES,
                                 },
                                 &optimizer->reduction);
}

static enum hoop_status
sharded_init(struct optimizer *optimizer,
             const struct optimizer_options *options)
{
    const enum hoop_status status =
        hoop_sharded_create(optimizer->values, optimizer->model->n_parameters,
                            options->comm, &optimizer->sharded);

    if (status != HOOP_OK)
        return status;
    const struct hoop_shard shard =
        hoop_sharded_part(optimizer->sharded, hoop_comm_rank(options->comm));
    adam_init(&optimizer->adam, shard.count, options->rate);
    return HOOP_OK;
}

enum hoop_status
optimizer_init(struct optimizer *optimizer,
               const struct optimizer_options *options,
               struct model *model)
{
    *optimizer = (struct optimizer){.model = model};
    const size_t n_values = tensors_init(optimizer);

    if (options->place == OPTIMIZER_SHARDED)
        return sharded_init(optimizer, options);
    return replicated_init(optimizer, options, n_values);
}

void
optimizer_deinit(struct optimizer *optimizer)
{
    hoop_gradients_free(optimizer->reduction);
    hoop_sharded_free(optimizer->sharded);
    free(optimizer->values);
    free(optimizer->gradients);
    adam_deinit(&optimizer->adam);
    *optimizer = (struct optimizer){0};
}

enum hoop_status
optimizer_ready(struct optimizer *optimizer, const struct chunk *chunk)
{
    enum hoop_status status = HOOP_OK;

    if (!optimizer->reduction)
        return HOOP_OK; /* shards are summed all at once */
    for (size_t i = chunk->n_parameters; i > 0 && status == HOOP_OK; i--)
        status = hoop_gradients_ready(optimizer->reduction,
                                      chunk->first_parameter + i - 1);
    return status;
}

static enum hoop_status
replicated_step(struct optimizer *optimizer, struct timeline *timeline)
{
    const struct model *model = optimizer->model;
    const uint64_t wait_ns = clock_ns();
    const enum hoop_status status = hoop_gradients_wait(optimizer->reduction);
    size_t offset = 0;

    timeline_end(timeline, EVENT_REDUCE, wait_ns);
    if (status != HOOP_OK)
        return status;

    const uint64_t update_ns = clock_ns();
    for (size_t i = 0; i < model->n_parameters; i++) {
        const struct parameter *parameter = model->parameters[i];
        const struct adam_part part = {
            .offset = offset,
            .n = matrix_count(parameter->value),
            .gradients = parameter->gradient.at,
            .values = parameter->value.at,
        };

        adam_step(&optimizer->adam, optimizer->n_steps, &part);
        offset += part.n;
    }
    timeline_end(timeline, EVENT_UPDATE, update_ns);
    return HOOP_OK;
}

static enum hoop_status
sharded_step(struct optimizer *optimizer, struct timeline *timeline)
{
    struct hoop_tensor gradient = {0};
    struct hoop_tensor value = {0};
    uint64_t begin_ns = clock_ns();

    enum hoop_status status = hoop_sharded_reduce(
        optimizer->sharded, optimizer->gradients, HOOP_SUM, &gradient, &value);
    timeline_end(timeline, EVENT_REDUCE, begin_ns);
    if (status != HOOP_OK)
        return status;

    begin_ns = clock_ns();
    adam_step(&optimizer->adam, optimizer->n_steps,
              &(struct adam_part){
                  .n = optimizer->adam.n,
                  .gradients = gradient.data,
                  .values = value.data,
              });
    timeline_end(timeline, EVENT_UPDATE, begin_ns);

    begin_ns = clock_ns();
    status = hoop_sharded_gather(optimizer->sharded);
    timeline_end(timeline, EVENT_REDUCE, begin_ns);
    return status;
}

enum hoop_status
optimizer_step(struct optimizer *optimizer, struct timeline *timeline)
{
    optimizer->n_steps++;
    return optimizer->sharded ? sharded_step(optimizer, timeline)
                              : replicated_step(optimizer, timeline);
}
