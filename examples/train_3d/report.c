/* train_3d/report.c - reports progress, results and pictures of a training */

#include "train_3d/report.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train_digits/chart.h"

enum {
    BAR_CELLS = 30,
    PATH_MAX_BYTES = 4096,
};

/* hooprun sets HOOP_PROGRESS if the pipe ends on a terminal. */
bool
progress_is_wanted(const hoop_comm_t *world)
{
    const char *asked = getenv("HOOP_PROGRESS");

    if (hoop_comm_rank(world) != 0)
        return false;
    if (asked && *asked)
        return strcmp(asked, "0") != 0;
    return isatty(STDERR_FILENO) == 1;
}

void
progress_show(const struct progress *progress)
{
    char bar[BAR_CELLS + 1] = {0};

    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', progress->n_steps * BAR_CELLS / progress->n_all);
    fprintf(stderr, "\rtraining [%s] step %zu/%zu  loss %.4f\033[K", bar,
            progress->n_steps, progress->n_all, progress->loss);
    fputs(progress->n_steps == progress->n_all ? "\n" : "", stderr);
    fflush(stderr);
}

/* Shares of the time, averaged over the ranks. */
struct shares {
    double pipeline_wait;
    double tensor_wait;
    double data_wait;
    double bubble;
    double forward; /* in seconds, like the next one */
    double backward;
};

enum {
    N_SHARES = sizeof(struct shares) / sizeof(double),
};

static double
share_of(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static enum hoop_status
shares_average(const struct trainer *trainer, struct shares *out_shares)
{
    const struct trainer_times *times = &trainer->times;
    const uint64_t *events_ns = trainer->timeline.total_ns;
    const uint64_t tensor_ns = trainer->model.workspace.region.wait_ns;
    struct shares shares = {
        .pipeline_wait = share_of(times->wait_ns, times->total_ns),
        .tensor_wait = share_of(tensor_ns, times->total_ns),
        .data_wait = share_of(events_ns[EVENT_REDUCE], times->total_ns),
        .bubble = 1 - share_of(times->compute_ns, times->schedule_ns),
        .forward = (double)events_ns[EVENT_FORWARD] / 1e9,
        .backward = (double)events_ns[EVENT_BACKWARD] / 1e9,
    };
    const enum hoop_status status =
        hoop_allreduce(HOOP_IN_PLACE, &shares, N_SHARES, HOOP_FLOAT64, HOOP_AVG,
                       trainer->axes->world);

    if (status == HOOP_OK)
        *out_shares = shares;
    return status;
}

/* Predicts the bubble of the schedule from the measured times of forward and
 * backward. */
static enum hoop_status
bubble_foretell(const struct trainer *trainer,
                const struct shares *shares,
                double *out_bubble)
{
    struct hoop_schedule_cost cost = {
        .forward = shares->forward,
        .backward = shares->backward,
    };
    const enum hoop_status status =
        hoop_schedule_check(trainer->stage.schedule, &cost);

    if (status == HOOP_OK)
        *out_bubble = cost.bubble;
    return status;
}

enum hoop_status
summary_print(const struct trainer *trainer,
              const struct options *options,
              double seconds)
{
    const struct trainer_options *set = &options->trainer;
    const struct dimensions *dimensions = &set->dimensions;
    const double n_tokens = (double)options->n_steps * set->n_micro_batches *
                            (double)dimensions->n_windows *
                            (double)dimensions->n_positions;
    struct shares shares = {0};
    double bubble = 0;

    enum hoop_status status = shares_average(trainer, &shares);
    if (status == HOOP_OK)
        status = bubble_foretell(trainer, &shares, &bubble);
    if (status != HOOP_OK || hoop_comm_rank(trainer->axes->world) != 0)
        return status;

    printf(
        "model     %zu blocks, %zu wide, with %zu heads and %zu hidden cells\n",
        dimensions->n_blocks, dimensions->width, dimensions->n_heads,
        dimensions->hidden);
    printf("ranks     %u = data %u x tensor %u x pipeline %u\n",
           hoop_comm_size(trainer->axes->world), set->sizes.data,
           set->sizes.tensor, set->sizes.pipeline);
    printf("speed     %.0f tokens per second: %.0f in %.2f s\n",
           n_tokens / seconds, n_tokens, seconds);
    printf("waiting   %.1f %% of the time: %.1f %% in the pipeline, %.1f %% "
           "for tensors, %.1f %% for data\n",
           100 * (shares.pipeline_wait + shares.tensor_wait + shares.data_wait),
           100 * shares.pipeline_wait, 100 * shares.tensor_wait,
           100 * shares.data_wait);
    printf("bubble    %.1f %% measured, %.1f %% by the schedule\n",
           100 * fmax(shares.bubble, 0), 100 * fmax(bubble, 0));
    return HOOP_OK;
}

enum hoop_status
out_prepare(const char *directory)
{
    char inside[PATH_MAX_BYTES];

    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        warn("cannot make the directory %s; choose another with --out",
             directory);
        return HOOP_E_UNAVAILABLE;
    }
    /* This path does not exist if directory is a file. */
    snprintf(inside, sizeof(inside), "%s/.", directory);
    if (access(inside, W_OK | X_OK) == 0)
        return HOOP_OK;
    warn("cannot write into %s; choose another directory with --out",
         directory);
    return HOOP_E_UNAVAILABLE;
}

static FILE *
out_open(const char *directory, const char *name)
{
    char path[PATH_MAX_BYTES];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    if (!file)
        warn("cannot write %s", path);
    return file;
}

static enum hoop_status
out_close(FILE *file, const char *directory)
{
    if (fclose(file) == 0)
        return HOOP_OK;
    warn("cannot write to %s", directory);
    return HOOP_E_UNAVAILABLE;
}

static enum hoop_status
losses_write(const struct options *options, const double *losses)
{
    FILE *file = out_open(options->out, "loss.csv");

    if (!file)
        return HOOP_E_UNAVAILABLE;
    fputs("step,loss\n", file);
    for (size_t i = 0; i < options->n_steps; i++)
        fprintf(file, "%zu,%.9f\n", i + 1, losses[i]);
    return out_close(file, options->out);
}

static const char *
curve_title(const struct options *options)
{
    return strcmp(options->text, DEVILS_DICTIONARY) == 0
               ? "The Devil's Dictionary, byte by byte: training loss"
               : "A text, byte by byte: training loss";
}

static enum hoop_status
curve_draw(const struct options *options, const double *losses)
{
    FILE *file = out_open(options->out, "loss.svg");

    if (!file)
        return HOOP_E_UNAVAILABLE;
    chart_write(
        &(struct chart){
            .title = curve_title(options),
            .x_title = "step",
            .y_title = "cross-entropy (nats per byte)",
            .values = losses,
            .n_values = options->n_steps,
        },
        file);
    return out_close(file, options->out);
}

static enum hoop_status
stages_draw(const struct options *options, const struct hoop_objects *stages)
{
    FILE *file = out_open(options->out, "timeline.svg");

    if (!file)
        return HOOP_E_UNAVAILABLE;
    timeline_draw(stages, file);
    return out_close(file, options->out);
}

static enum hoop_status
out_write(const struct options *options,
          const struct hoop_objects *stages,
          const double *losses)
{
    enum hoop_status status = losses_write(options, losses);
    if (status == HOOP_OK)
        status = curve_draw(options, losses);
    if (status == HOOP_OK)
        status = stages_draw(options, stages);
    return status;
}

enum hoop_status
pictures_write(const struct trainer *trainer,
               const struct options *options,
               const double *losses)
{
    struct hoop_objects stages = {0};
    enum hoop_status status =
        timeline_gather(&trainer->timeline, &stages, trainer->axes->pipeline);

    if (status != HOOP_OK)
        warnx("%s", hoop_error_text());
    else if (hoop_comm_rank(trainer->axes->world) == 0)
        status = out_write(options, &stages, losses);
    hoop_objects_free(&stages);
    return status;
}
