/* train_3d/trainer.c - connects the parts of a training in three dimensions */

#include "train_3d/trainer.h"

#include "train_3d/clock.h"

enum {
    EVENTS_BESIDE = 8, /* per step, besides forwards and backwards */
};

/* Returns the number of tokens in a step, over all replicas. */
static double
tokens_of(const struct trainer_options *options)
{
    return (double)options->n_micro_batches *
           (double)options->dimensions.n_windows *
           (double)options->dimensions.n_positions;
}

static struct model_options
model_options_of(const struct trainer_options *options, const struct axes *axes)
{
    struct model_options model = {
        .dimensions = options->dimensions,
        .comm = axes->tensor,
        .stage = hoop_comm_rank(axes->pipeline),
        .n_stages = options->sizes.pipeline,
        .n_chunks = options->n_chunks,
        .n_micro_batches = options->n_micro_batches / options->sizes.data,
        .factor = (float)(1 / tokens_of(options)),
    };

    model.dimensions.part = hoop_comm_rank(axes->tensor);
    model.dimensions.n_parts = options->sizes.tensor;
    return model;
}

enum hoop_status
trainer_init(struct trainer *trainer,
             const struct trainer_options *options,
             const struct axes *axes,
             const struct text *text)
{
    const struct model_options model = model_options_of(options, axes);

    *trainer = (struct trainer){.options = *options, .axes = axes};
    model_init(&trainer->model, &model);
    timeline_init(&trainer->timeline,
                  2 * model.n_micro_batches * model.n_chunks + EVENTS_BESIDE);
    const enum hoop_status status = optimizer_init(&trainer->optimizer,
                                                   &(struct optimizer_options){
                                                       .place = options->place,
                                                       .comm = axes->data,
                                                       .rate = options->rate,
                                                   },
                                                   &trainer->model);
    if (status != HOOP_OK)
        return status;

    trainer->stage = (struct stage){
        .model = &trainer->model,
        .optimizer = &trainer->optimizer,
        .timeline = &trainer->timeline,
        .axes = axes,
        .text = text,
    };
    return stage_init(&trainer->stage, options->schedule);
}

void
trainer_deinit(struct trainer *trainer)
{
    stage_deinit(&trainer->stage);
    optimizer_deinit(&trainer->optimizer);
    timeline_deinit(&trainer->timeline);
    model_deinit(&trainer->model);
    *trainer = (struct trainer){0};
}

static enum hoop_status
micro_batches_run(struct trainer *trainer)
{
    const uint32_t replica = hoop_comm_rank(trainer->axes->data);
    const uint64_t first = trainer->n_steps * trainer->options.n_micro_batches +
                           replica * trainer->model.options.n_micro_batches;
    struct hoop_run_stats stats = {0};

    model_clear(&trainer->model);
    const enum hoop_status status = stage_run(&trainer->stage, first, &stats);
    trainer->times.schedule_ns += stats.total_ns;
    trainer->times.compute_ns += stats.compute_ns;
    trainer->times.wait_ns += stats.wait_ns;
    return status;
}

/* Returns how many ranks have computed the loss of the same row. */
static double
witnesses_of(const struct trainer_options *options)
{
    return options->dimensions.rows == ROWS_REPLICATED ? options->sizes.tensor
                                                       : 1;
}

/* The ranks of the last stages have computed the loss of their rows. */
static enum hoop_status
loss_sum(struct trainer *trainer, double *out_loss)
{
    const uint64_t begin_ns = clock_ns();
    double loss = trainer->model.loss / tokens_of(&trainer->options) /
                  witnesses_of(&trainer->options);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, &loss, 1, HOOP_FLOAT64, HOOP_SUM, trainer->axes->world);

    timeline_end(&trainer->timeline, EVENT_REDUCE, begin_ns);
    if (status == HOOP_OK)
        *out_loss = loss;
    return status;
}

enum hoop_status
trainer_step(struct trainer *trainer, double *out_loss)
{
    const uint64_t begin_ns = clock_ns();

    timeline_begin(&trainer->timeline);
    enum hoop_status status = micro_batches_run(trainer);
    if (status == HOOP_OK)
        status = optimizer_step(&trainer->optimizer, &trainer->timeline);
    if (status == HOOP_OK)
        status = loss_sum(trainer, out_loss);
    trainer->n_steps++;
    trainer->times.total_ns += clock_ns() - begin_ns;
    return status;
}
