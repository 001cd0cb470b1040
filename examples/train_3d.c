/*
 * examples/train_3d.c - trains a language model in three dimensions at once
 *
 *   hooprun -n 8 train_3d --dp 2 --tp 2 --pp 2
 *
 * The model is cut into stages (pipeline), its layers into parts (tensor), and
 * its batches into those of replicas (data). The loss does not depend on the
 * three sizes: it is that of a single process. To read on, see
 * train_3d/trainer.h for where hoop does what, and train_3d/layer.h for how a
 * layer is divided.
 */

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "hoop/hoop.h"

#include "train_3d/axes.h"
#include "train_3d/clock.h"
#include "train_3d/memory.h"
#include "train_3d/options.h"
#include "train_3d/report.h"
#include "train_3d/text.h"
#include "train_3d/trainer.h"

static bool
is_chief(const hoop_comm_t *world)
{
    return hoop_comm_rank(world) == 0;
}

static enum hoop_status
steps_run(struct trainer *trainer, size_t n_steps, double *losses)
{
    const bool has_progress = progress_is_wanted(trainer->axes->world);

    for (size_t i = 0; i < n_steps; i++) {
        const enum hoop_status status = trainer_step(trainer, &losses[i]);
        if (status != HOOP_OK)
            return status;
        if (has_progress)
            progress_show(&(struct progress){i + 1, n_steps, losses[i]});
    }
    return HOOP_OK;
}

static enum hoop_status
train(struct trainer *trainer, const struct options *options, double *losses)
{
    const uint64_t begin_ns = clock_ns();

    enum hoop_status status = steps_run(trainer, options->n_steps, losses);
    if (status == HOOP_OK)
        status = summary_print(trainer, options,
                               (double)(clock_ns() - begin_ns) / 1e9);
    return status;
}

/* The last line is the loss. A loss that is not a finite number is a
 * failure. */
static enum hoop_status
loss_print(const struct options *options, double loss)
{
    printf("curve     %s/loss.csv, %s/loss.svg, %s/timeline.svg\n"
           "loss %.9f\n",
           options->out, options->out, options->out, loss);
    if (isfinite(loss))
        return HOOP_OK;
    warnx("training went astray: choose a smaller --rate");
    return HOOP_E_INVALID;
}

static enum hoop_status
text_train(hoop_session_t *session,
           const struct options *options,
           const struct text *text)
{
    double *losses = zeros_create(options->n_steps, sizeof(double));
    struct axes axes = {0};
    struct trainer trainer = {0};

    enum hoop_status status = axes_init(&axes, session, options->trainer.sizes);
    if (status == HOOP_OK)
        status = trainer_init(&trainer, &options->trainer, &axes, text);
    if (status == HOOP_OK)
        status = train(&trainer, options, losses);
    if (status != HOOP_OK)
        warnx("rank %u: %s", hoop_comm_rank(axes.world), hoop_error_text());
    else
        status = pictures_write(&trainer, options, losses);
    if (status == HOOP_OK && is_chief(axes.world))
        status = loss_print(options, losses[options->n_steps - 1]);
    trainer_deinit(&trainer);
    axes_deinit(&axes);
    free(losses);
    return status;
}

/* Prints to stderr what is wrong, if anything is. */
static enum hoop_status
options_check(const struct options *options, uint32_t n_ranks)
{
    char problem[PROBLEM_BYTES];

    if (options_fit(options, n_ranks, problem))
        return out_prepare(options->out);
    warnx("%s", problem);
    return HOOP_E_INVALID;
}

/* Rank 0 checks for all ranks; the others receive its verdict. */
static enum hoop_status
world_check(hoop_comm_t *world, const struct options *options)
{
    int32_t verdict = HOOP_OK;

    if (is_chief(world))
        verdict = (int32_t)options_check(options, hoop_comm_size(world));
    const enum hoop_status status =
        hoop_broadcast(HOOP_IN_PLACE, &verdict, 1, HOOP_INT32, 0, world);
    if (status != HOOP_OK)
        warnx("no verdict of rank 0: %s", hoop_error_text());
    return status != HOOP_OK ? status : (enum hoop_status)verdict;
}

static enum hoop_status
session_train(hoop_session_t *session, const struct options *options)
{
    hoop_comm_t *world = hoop_world(session);
    struct text text = {0};

    enum hoop_status status = world_check(world, options);
    if (status == HOOP_OK)
        status =
            text_share(options->text, options->trainer.dimensions.n_positions,
                       world, &text);
    if (status == HOOP_OK)
        status = text_train(session, options, &text);
    text_deinit(&text);
    return status;
}

int
main(int argc, char **argv)
{
    struct options options;
    hoop_session_t *session = NULL;

    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);
    if (hoop_join(NULL, &session) != HOOP_OK)
        errx(EXIT_FAILURE,
             "%s (to start 8 ranks here: hooprun -n 8 %s --dp 2 --tp 2 --pp 2)",
             hoop_error_text(), argv[0]);

    const enum hoop_status status = session_train(session, &options);
    hoop_leave(session);
    return status == HOOP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
