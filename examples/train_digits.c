/*
 * examples/train_digits.c - trains a classifier on all ranks of a job
 *
 *   hooprun -n 4 train_digits
 *
 * The essential part is in train_digits/training.c: each rank computes the
 * gradient of its share of a batch, hoop_allreduce() sums the gradients, and
 * all ranks take the same step. The curve does not depend on the number of
 * ranks.
 */

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hoop/hoop.h"

#include "train_digits/chart.h"
#include "train_digits/digits.h"
#include "train_digits/mlp.h"
#include "train_digits/options.h"
#include "train_digits/training.h"

enum {
    SEED_WEIGHTS = 7,
    BAR_CELLS = 30,
    PATH_MAX_BYTES = 4096,
};

static double
now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* hooprun sets HOOP_PROGRESS if the pipe ends on a terminal. */
static bool
progress_is_wanted(const hoop_comm_t *comm)
{
    const char *asked = getenv("HOOP_PROGRESS");

    if (hoop_comm_rank(comm) != 0)
        return false;
    if (asked && *asked)
        return strcmp(asked, "0") != 0;
    return isatty(STDERR_FILENO) == 1;
}

static void
progress_show(size_t done, size_t total, const struct epoch *epoch)
{
    char bar[BAR_CELLS + 1] = {0};

    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', done * BAR_CELLS / total);
    fprintf(stderr,
            "\rtraining [%s] epoch %zu/%zu  loss %.4f  accuracy %.1f %%"
            "\033[K",
            bar, done, total, epoch->loss, 100 * epoch->accuracy);
    fputs(done == total ? "\n" : "", stderr);
    fflush(stderr);
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
    return HOOP_E_DATA_LOSS;
}

static enum hoop_status
curve_write_csv(const char *directory,
                const struct epoch *curve,
                size_t n_epochs)
{
    FILE *file = out_open(directory, "loss.csv");

    if (!file)
        return HOOP_E_UNAVAILABLE;
    fputs("epoch,loss,accuracy\n", file);
    for (size_t i = 0; i < n_epochs; i++)
        fprintf(file, "%zu,%.12f,%.6f\n", i + 1, curve[i].loss,
                curve[i].accuracy);
    return out_close(file, directory);
}

static enum hoop_status
curve_write_svg(const char *directory,
                const struct epoch *curve,
                size_t n_epochs)
{
    FILE *file = out_open(directory, "loss.svg");
    double *losses = calloc(n_epochs, sizeof(double));

    if (!file || !losses) {
        free(losses);
        if (file)
            fclose(file);
        return HOOP_E_UNAVAILABLE;
    }
    for (size_t i = 0; i < n_epochs; i++)
        losses[i] = curve[i].loss;
    chart_write(
        &(struct chart){
            .title = "Handwritten digits: training loss",
            .x_title = "epoch",
            .y_title = "cross-entropy",
            .values = losses,
            .n_values = n_epochs,
        },
        file);
    free(losses);
    return out_close(file, directory);
}

static enum hoop_status
curve_write(const struct options *options, const struct epoch *curve)
{
    if (mkdir(options->out, 0777) != 0 && errno != EEXIST) {
        warn("cannot make the directory %s; choose another with --out",
             options->out);
        return HOOP_E_UNAVAILABLE;
    }
    const size_t n_epochs = options->training.n_epochs;
    const enum hoop_status status =
        curve_write_csv(options->out, curve, n_epochs);
    return status != HOOP_OK ? status
                             : curve_write_svg(options->out, curve, n_epochs);
}

/* All ranks must call it, since each has moved bytes. Rank 0 prints the sum. */
static enum hoop_status
summary_print(hoop_session_t *session,
              const struct options *options,
              const struct epoch *last,
              double seconds)
{
    hoop_comm_t *comm = hoop_world(session);
    struct hoop_stats stats = {0};

    hoop_session_stats(session, &stats);
    uint64_t n_bytes = stats.bytes_sent;
    const enum hoop_status status =
        hoop_allreduce(HOOP_IN_PLACE, &n_bytes, 1, HOOP_UINT64, HOOP_SUM, comm);
    if (status != HOOP_OK || hoop_comm_rank(comm) != 0)
        return status;

    printf("accuracy            %.2f %% of the held-out images\n",
           100 * last->accuracy);
    printf("loss                %.6f\n", last->loss);
    printf("collectives         %.0f per second (%llu in all)\n",
           (double)stats.operations / seconds,
           (unsigned long long)stats.operations);
    printf("bytes moved         %.1f MB between %u workers\n",
           (double)n_bytes / 1e6, hoop_comm_size(comm));
    printf("time                %.2f s for %zu epochs\n", seconds,
           options->training.n_epochs);
    printf("curve               %s/loss.csv, %s/loss.svg\n", options->out,
           options->out);
    return HOOP_OK;
}

static enum hoop_status
epochs_run(struct training *training, struct epoch *curve)
{
    const size_t n_epochs = training->options.n_epochs;
    const bool has_progress = progress_is_wanted(training->comm);

    for (size_t i = 0; i < n_epochs; i++) {
        const enum hoop_status status = training_epoch(training, i, &curve[i]);
        if (status != HOOP_OK)
            return status;
        if (has_progress)
            progress_show(i + 1, n_epochs, &curve[i]);
    }
    return HOOP_OK;
}

/* Returns false if a hoop call failed or the curve could not be written. */
static bool
train(hoop_session_t *session,
      const struct options *options,
      const struct digits *digits,
      struct mlp *mlp,
      struct epoch *curve)
{
    hoop_comm_t *comm = hoop_world(session);
    struct training training;
    const double begin_s = now_s();

    enum hoop_status status =
        training_init(&training, &options->training, digits, mlp, comm);
    if (status == HOOP_OK)
        status = training_begin(&training);
    if (status == HOOP_OK)
        status = epochs_run(&training, curve);
    if (status == HOOP_OK)
        status = summary_print(session, options,
                               &curve[options->training.n_epochs - 1],
                               now_s() - begin_s);
    training_deinit(&training);
    if (status != HOOP_OK) {
        warnx("rank %u: %s", hoop_comm_rank(comm), hoop_error_text());
        return false;
    }
    return hoop_comm_rank(comm) != 0 || curve_write(options, curve) == HOOP_OK;
}

int
main(int argc, char **argv)
{
    struct options options;
    struct digits digits = {0};
    struct mlp mlp = {0};
    hoop_session_t *session = NULL;

    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);
    if (digits_load(options.images, &digits) != HOOP_OK)
        return EXIT_FAILURE;
    struct epoch *curve =
        calloc(options.training.n_epochs, sizeof(struct epoch));
    if (!curve || mlp_init(&mlp, options.n_hidden, SEED_WEIGHTS) != HOOP_OK)
        errx(EXIT_FAILURE, "not enough memory; choose a smaller --hidden");
    if (hoop_join(NULL, &session) != HOOP_OK)
        errx(EXIT_FAILURE, "%s (to start 4 ranks here: hooprun -n 4 %s)",
             hoop_error_text(), argv[0]);

    const bool is_good = train(session, &options, &digits, &mlp, curve);
    hoop_leave(session);
    mlp_deinit(&mlp);
    digits_deinit(&digits);
    free(curve);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
