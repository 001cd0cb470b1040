/*
 * train_digits/training.c - data-parallel gradient descent, which calls hoop
 *
 * Every rank has all images in the same order, and takes its share of each
 * batch. The sum of the gradients does not depend on how the batch was cut,
 * except for rounding, which in double stays far below what the curve shows.
 */

#include "train_digits/training.h"

#include <stdlib.h>
#include <string.h>

#include "train_digits/random.h"

enum {
    HELD_OUT_PART = 5, /* one image in five */
    SEED_SPLIT = 20,
    SEED_EPOCHS = 1000,
};

/* One of count equal parts of n things, as far as whole numbers allow. */
struct share {
    size_t begin;
    size_t end;
};

static struct share
share_of(size_t count, const hoop_comm_t *comm)
{
    const size_t n = hoop_comm_size(comm);
    const size_t part = hoop_comm_rank(comm);

    return (struct share){count * part / n, count * (part + 1) / n};
}

enum hoop_status
training_init(struct training *training,
              const struct training_options *options,
              const struct digits *digits,
              struct mlp *mlp,
              hoop_comm_t *comm)
{
    struct random random = {SEED_SPLIT};

    *training = (struct training){
        .options = *options,
        .digits = digits,
        .mlp = mlp,
        .comm = comm,
        .order = calloc(digits->n_images, sizeof(size_t)),
        .n_training = digits->n_images - digits->n_images / HELD_OUT_PART,
        .gradient = calloc(mlp->n_parameters + 1, sizeof(double)),
    };
    if (!training->order || !training->gradient)
        return HOOP_E_EXHAUSTED;

    /* The file is sorted by writer, so the images are shuffled before some are
     * held out. */
    for (size_t i = 0; i < digits->n_images; i++)
        training->order[i] = i;
    random_shuffle(&random, training->order, digits->n_images);
    return HOOP_OK;
}

enum hoop_status
training_begin(struct training *training)
{
    struct mlp *mlp = training->mlp;

    return hoop_broadcast(HOOP_IN_PLACE, mlp->parameters, mlp->n_parameters,
                          HOOP_FLOAT64, 0, training->comm);
}

void
training_shuffle(struct training *training, size_t number)
{
    struct random random = {SEED_EPOCHS + number};

    random_shuffle(&random, training->order, training->n_training);
}

enum hoop_status
training_batch(struct training *training, size_t begin, size_t count)
{
    struct mlp *mlp = training->mlp;
    const struct share share = share_of(count, training->comm);
    double *gradient = training->gradient;

    memset(gradient, 0, (mlp->n_parameters + 1) * sizeof(double));
    for (size_t i = share.begin; i < share.end; i++) {
        const size_t index = training->order[begin + i];
        gradient[mlp->n_parameters] +=
            mlp_backward(mlp, &training->digits->images[index], gradient);
    }

    /* The loss follows the gradient in the buffer, so that one operation sums
     * both. */
    const enum hoop_status status =
        hoop_allreduce(HOOP_IN_PLACE, gradient, mlp->n_parameters + 1,
                       HOOP_FLOAT64, HOOP_SUM, training->comm);
    if (status != HOOP_OK)
        return status;
    mlp_step(mlp, gradient, count, training->options.rates);
    return HOOP_OK;
}

enum hoop_status
training_accuracy(struct training *training, double *out_accuracy)
{
    const size_t n_images = training->digits->n_images - training->n_training;
    const struct share share = share_of(n_images, training->comm);
    int64_t n_right = 0;

    for (size_t i = share.begin; i < share.end; i++) {
        const struct image *image =
            &training->digits
                 ->images[training->order[training->n_training + i]];
        n_right += mlp_classify(training->mlp, image) == image->label;
    }
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, &n_right, 1, HOOP_INT64, HOOP_SUM, training->comm);
    if (status != HOOP_OK)
        return status;
    *out_accuracy = n_images ? (double)n_right / (double)n_images : 0;
    return HOOP_OK;
}

enum hoop_status
training_epoch(struct training *training,
               size_t number,
               struct epoch *out_epoch)
{
    const size_t batch = training->options.batch;
    const size_t n_training = training->n_training;
    struct epoch epoch = {0};

    training_shuffle(training, number);
    for (size_t begin = 0; begin < n_training; begin += batch) {
        const size_t left = n_training - begin;
        const enum hoop_status status =
            training_batch(training, begin, left < batch ? left : batch);
        if (status != HOOP_OK)
            return status;
        epoch.loss += training->gradient[training->mlp->n_parameters];
    }
    epoch.loss /= (double)n_training;

    const enum hoop_status status =
        training_accuracy(training, &epoch.accuracy);
    if (status != HOOP_OK)
        return status;
    *out_epoch = epoch;
    return HOOP_OK;
}

void
training_deinit(struct training *training)
{
    free(training->order);
    free(training->gradient);
    *training = (struct training){0};
}
