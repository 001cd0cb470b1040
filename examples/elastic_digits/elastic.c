/*
 * elastic_digits/elastic.c - a worker that continues when others die
 *
 * A step is taken by all workers or by none, with one exception: some may have
 * received the sum of the gradients, and taken the step, when others are
 * interrupted. So after a death the survivors shrink their communicator.
 * hoop_state_sync() then copies the weights of those that are ahead to the
 * others, and returns the step at which all of them are. They divide the batch
 * among themselves again, so that the part of the dead worker is included in
 * the next attempt.
 *
 * If there are too few workers at the beginning of an epoch, they wait for new
 * ones, which get the weights in the same way.
 */

#include "elastic_digits/elastic.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "hoop/hoop.h"

#include "train_digits/digits.h"
#include "train_digits/mlp.h"
#include "train_digits/training.h"

/* What a worker reports of a growth. The agreement has the bits that all
 * report. */
enum {
    HAS_GROWN = 1,
    NOBODY_CAME = 2,
};

enum {
    SEED_WEIGHTS = 7,
    HIDDEN = 64,
    BATCH = 64,
    WORKERS_LEAST = 3, /* with fewer workers, wait for new ones */
    GROW_MS = 20000,
    JOIN_MS = 120000,
    TENSORS = 2,
};

struct elastic {
    struct board *board;
    struct training training;
    struct digits digits;
    struct mlp mlp;
    hoop_session_t *session;
    hoop_comm_t *comm; /* of the workers that are left */
    uint64_t step;     /* how many steps have been taken */
    size_t n_shuffled; /* epochs whose order is known */
};

static void
say(const struct elastic *elastic, const char *what)
{
    if (hoop_comm_rank(elastic->comm) != 0)
        return;
    printf("step %llu: %s\n", (unsigned long long)elastic->step, what);
    fflush(stdout);
}

static void
comm_change(struct elastic *elastic, hoop_comm_t *comm)
{
    hoop_comm_free(elastic->comm);
    elastic->comm = comm;
    elastic->training.comm = comm;
}

/* Brings all workers to the step of those that are ahead. If that fails, the
 * weights of a worker that was behind may be half written, so that it has no
 * valid version any more. */
static enum hoop_status
weights_bring(struct elastic *elastic, uint64_t *version)
{
    const struct hoop_shape shape = {1, {elastic->mlp.n_parameters}};
    const struct hoop_named_tensor tensors[TENSORS] = {
        {"weights", {elastic->mlp.parameters, HOOP_FLOAT64, shape, NULL}},
        {"velocity", {elastic->mlp.velocity, HOOP_FLOAT64, shape, NULL}},
    };
    const struct hoop_state state = {
        .tensors = tensors,
        .n_tensors = TENSORS,
        .version = *version,
        .block_bytes = 4096,
    };
    struct hoop_state_report report;
    uint64_t newest = *version;
    char text[160];

    enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, &newest, 1, HOOP_UINT64, HOOP_MAX, elastic->comm);
    if (status != HOOP_OK)
        return status;
    status = hoop_state_sync(&state, elastic->comm, &report);
    if (status != HOOP_OK && *version < newest)
        *version = 0;
    if (status != HOOP_OK)
        return status;
    elastic->step = report.version - 1;
    if (report.bytes_moved > 0) {
        snprintf(text, sizeof(text),
                 "%.1f kB of weights have gone to those that lacked them",
                 (double)report.bytes_moved / 1e3);
        say(elastic, text);
    }
    return HOOP_OK;
}

/* A rank is lost, or another rank has noticed that and interrupts this one. */
static bool
is_interrupted(enum hoop_status status)
{
    return status == HOOP_E_PEER_LOST || status == HOOP_E_ABORTED;
}

/* Continue with the workers that are left. Repeat this if more of them die. */
static enum hoop_status
recover(struct elastic *elastic)
{
    uint64_t version = elastic->step + 1;
    enum hoop_status status = HOOP_E_PEER_LOST;

    while (is_interrupted(status)) {
        const uint32_t n_before = hoop_comm_size(elastic->comm);
        hoop_comm_t *left = NULL;
        char text[1100];

        snprintf(text, sizeof(text), "interrupted: %.1000s", hoop_error_text());
        status = hoop_comm_shrink(elastic->comm, &left);
        if (status != HOOP_OK)
            return status;
        comm_change(elastic, left);
        say(elastic, text);
        status = weights_bring(elastic, &version);
        snprintf(text, sizeof(text), "%u of %u workers go on",
                 hoop_comm_size(left), n_before);
        if (status != HOOP_OK)
            continue;
        say(elastic, text);
        if (hoop_comm_rank(left) == 0)
            elastic->board->n_left = hoop_comm_size(left);
    }
    return status;
}

/* Admit new workers, or go on without any. The workers agree which of the two
 * it is, since all must use the same communicator. */
static enum hoop_status
newcomers_admit(struct elastic *elastic)
{
    const uint32_t size = hoop_comm_size(elastic->comm);
    hoop_comm_t *grown = NULL;
    char text[160];

    say(elastic, "too few: waiting for a newcomer");
    const enum hoop_status grew =
        hoop_comm_grow(elastic->comm, WORKERS_LEAST - size, GROW_MS, &grown);
    uint64_t said = grew == HOOP_OK          ? HAS_GROWN
                    : grew == HOOP_E_TIMEOUT ? NOBODY_CAME
                                             : 0;
    const enum hoop_status status = hoop_comm_agree(elastic->comm, &said);
    if (status != HOOP_OK || !(said & HAS_GROWN)) {
        hoop_comm_free(grown);
        return status != HOOP_OK    ? status
               : said & NOBODY_CAME ? HOOP_OK
                                    : HOOP_E_PEER_LOST;
    }
    comm_change(elastic, grown);
    snprintf(text, sizeof(text), "%u more: %u workers go on",
             hoop_comm_size(grown) - size, hoop_comm_size(grown));
    say(elastic, text);
    uint64_t version = elastic->step + 1;

    return weights_bring(elastic, &version);
}

static enum hoop_status
step_make(struct elastic *elastic)
{
    const size_t epoch = elastic->step / ELASTIC_BATCHES;
    const size_t begin = elastic->step % ELASTIC_BATCHES * BATCH;
    const size_t left = elastic->training.n_training - begin;

    if (begin == 0 && hoop_comm_size(elastic->comm) < WORKERS_LEAST) {
        const enum hoop_status status = newcomers_admit(elastic);

        if (status != HOOP_OK)
            return status;
    }
    while (elastic->n_shuffled <= epoch)
        training_shuffle(&elastic->training, elastic->n_shuffled++);
    const enum hoop_status status =
        training_batch(&elastic->training, begin, left < BATCH ? left : BATCH);
    if (status != HOOP_OK)
        return status;
    elastic->step++;
    elastic->board->step = elastic->step;
    return HOOP_OK;
}

static enum hoop_status
end_reach(struct elastic *elastic)
{
    double accuracy = 0;
    char text[160];

    const enum hoop_status status =
        training_accuracy(&elastic->training, &accuracy);
    if (status != HOOP_OK)
        return status;
    snprintf(text, sizeof(text),
             "done by %u workers: accuracy %.2f %% of the held-out images",
             hoop_comm_size(elastic->comm), 100 * accuracy);
    say(elastic, text);
    elastic->board->has_ended = true;
    return HOOP_OK;
}

static enum hoop_status
steps_make(struct elastic *elastic)
{
    bool has_ended = false;

    while (!has_ended) {
        const bool is_last = elastic->step == ELASTIC_STEPS;
        const enum hoop_status status =
            is_last ? end_reach(elastic) : step_make(elastic);

        has_ended = is_last && status == HOOP_OK;
        if (status != HOOP_OK &&
            (!is_interrupted(status) || recover(elastic) != HOOP_OK))
            return status;
    }
    return HOOP_OK;
}

static enum hoop_status
training_open(struct elastic *elastic, uint32_t world_size)
{
    const struct hoop_join_options join = {.world_size = world_size,
                                           .join_timeout_ms = JOIN_MS};
    const struct training_options options = {
        .n_epochs = ELASTIC_EPOCHS,
        .batch = BATCH,
        .rates = {.rate = 0.1, .momentum = 0.9},
    };

    enum hoop_status status = hoop_join(&join, &elastic->session);
    if (status != HOOP_OK)
        return status;
    elastic->comm = hoop_world(elastic->session);
    status = training_init(&elastic->training, &options, &elastic->digits,
                           &elastic->mlp, elastic->comm);
    if (status != HOOP_OK)
        return status;
    /* If the world has fewer ranks than the job began with, this worker has
     * joined later and has no weights yet, which is version 0. */
    uint64_t version = hoop_comm_size(elastic->comm) == world_size ? 1 : 0;

    return weights_bring(elastic, &version);
}

int
elastic_train(struct board *board, uint32_t world_size)
{
    struct elastic elastic = {.board = board};

    if (digits_load(DIGITS_CSV, &elastic.digits) != HOOP_OK)
        return EXIT_FAILURE;
    if (mlp_init(&elastic.mlp, HIDDEN, SEED_WEIGHTS) != HOOP_OK)
        errx(EXIT_FAILURE, "not enough memory");
    enum hoop_status status = training_open(&elastic, world_size);
    if (status == HOOP_OK)
        status = steps_make(&elastic);
    if (status != HOOP_OK)
        warnx("%s", hoop_error_text());
    hoop_leave(elastic.session);
    training_deinit(&elastic.training);
    mlp_deinit(&elastic.mlp);
    digits_deinit(&elastic.digits);
    return status == HOOP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
