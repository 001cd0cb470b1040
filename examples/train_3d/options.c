/* train_3d/options.c - the command line of train_3d */

#include "train_3d/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_USAGE = 64,
    NUMBER_MAX = 1 << 20,
    CHUNKS_DEFAULT = 2, /* chunks per rank of an interleaved pipeline */
};

static const char description[] =
    "Train a small language model on data x tensor x pipeline ranks of a hoop "
    "job: hooprun -n 8 train_3d --dp 2 --tp 2 --pp 2";

enum option_key {
    KEY_DATA = 'd',
    KEY_TENSOR = 't',
    KEY_PIPELINE = 'p',
    KEY_STEPS = 'n',
    KEY_OUT = 'o',
    KEY_SEED = 's',
    KEY_RATE = 'r',
    KEY_SCHEDULE = 256, /* has no letter */
    KEY_CHUNKS,
    KEY_MICRO_BATCHES,
    KEY_SHARDED,
    KEY_REPLICATED_ROWS,
    KEY_BLOCKS,
    KEY_WIDTH,
    KEY_HIDDEN,
    KEY_HEADS,
    KEY_POSITIONS,
    KEY_WINDOWS,
    KEY_TEXT,
};

static const struct argp_option table[] = {
    {"dp", KEY_DATA, "N", 0, "replicas of the model (1)", 1},
    {"tp", KEY_TENSOR, "N", 0, "ranks that divide each layer (1)", 1},
    {"pp", KEY_PIPELINE, "N", 0, "stages of the pipeline (1)", 1},
    {"replicated-rows", KEY_REPLICATED_ROWS, NULL, 0,
     "no sequence parallelism between the layers' divided parts", 1},
    {"schedule", KEY_SCHEDULE, "KIND", 0, "gpipe, 1f1b or interleaved (1f1b)",
     2},
    {"chunks", KEY_CHUNKS, "N", 0,
     "virtual stages of each stage (1; 2 when interleaved)", 2},
    {"micro-batches", KEY_MICRO_BATCHES, "N", 0,
     "parts of a step's batch, over all replicas (8)", 2},
    {"sharded", KEY_SHARDED, NULL, 0, "divide the optimizer over replicas", 2},
    {"steps", KEY_STEPS, "N", 0, "steps of training (50)", 3},
    {"rate", KEY_RATE, "X", 0, "learning rate (0.006)", 3},
    {"seed", KEY_SEED, "N", 0, "of weights and batches (1)", 3},
    {"blocks", KEY_BLOCKS, "N", 0, "transformer blocks (4)", 4},
    {"width", KEY_WIDTH, "N", 0, "numbers per position (32)", 4},
    {"hidden", KEY_HIDDEN, "N", 0, "cells of a perceptron (64)", 4},
    {"heads", KEY_HEADS, "N", 0, "attention heads (4)", 4},
    {"positions", KEY_POSITIONS, "N", 0, "bytes of a window (32)", 4},
    {"windows", KEY_WINDOWS, "N", 0, "windows of a micro-batch (2)", 4},
    {"text", KEY_TEXT, "FILE", 0,
     "what to learn (examples/data/devils_dictionary.txt); rank 0 reads it", 5},
    {"out", KEY_OUT, "DIR", 0,
     "where loss curve and timeline go (train_3d_out)", 5},
    {0},
};

static uint32_t
number_take(struct argp_state *state, const char *name, const char *text)
{
    char *end = NULL;

    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') ||
        value < 1 || value > NUMBER_MAX)
        argp_failure(state, EXIT_USAGE, 0,
                     "--%s %s: a whole number from 1 to %d is expected", name,
                     text, NUMBER_MAX);
    return (uint32_t)value;
}

static float
rate_take(struct argp_state *state, const char *text)
{
    char *end = NULL;
    const float value = strtof(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value <= 0)
        argp_failure(state, EXIT_USAGE, 0,
                     "--rate %s: a number above 0 is expected", text);
    return value;
}

static enum hoop_schedule_kind
schedule_take(struct argp_state *state, const char *text)
{
    static const char *const names[] = {
        [HOOP_GPIPE] = "gpipe",
        [HOOP_1F1B] = "1f1b",
        [HOOP_INTERLEAVED] = "interleaved",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], text) == 0)
            return (enum hoop_schedule_kind)i;
    }
    argp_failure(state, EXIT_USAGE, 0,
                 "--schedule %s: gpipe, 1f1b or interleaved is expected", text);
    return HOOP_1F1B;
}

/* Reads the options that describe the model. */
static error_t
dimension_take(int key, const char *value, struct argp_state *state)
{
    struct options *options = state->input;
    struct dimensions *dimensions = &options->trainer.dimensions;

    switch (key) {
    case KEY_BLOCKS:
        dimensions->n_blocks = number_take(state, "blocks", value);
        return 0;
    case KEY_WIDTH:
        dimensions->width = number_take(state, "width", value);
        return 0;
    case KEY_HIDDEN:
        dimensions->hidden = number_take(state, "hidden", value);
        return 0;
    case KEY_HEADS:
        dimensions->n_heads = number_take(state, "heads", value);
        return 0;
    case KEY_POSITIONS:
        dimensions->n_positions = number_take(state, "positions", value);
        return 0;
    case KEY_WINDOWS:
        dimensions->n_windows = number_take(state, "windows", value);
        return 0;
    case KEY_SEED:
        dimensions->seed = number_take(state, "seed", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Reads the options that say how the model is divided. */
static error_t
parallel_take(int key, const char *value, struct argp_state *state)
{
    struct options *options = state->input;
    struct trainer_options *trainer = &options->trainer;

    switch (key) {
    case KEY_DATA:
        trainer->sizes.data = number_take(state, "dp", value);
        return 0;
    case KEY_TENSOR:
        trainer->sizes.tensor = number_take(state, "tp", value);
        return 0;
    case KEY_PIPELINE:
        trainer->sizes.pipeline = number_take(state, "pp", value);
        return 0;
    case KEY_SCHEDULE:
        trainer->schedule = schedule_take(state, value);
        return 0;
    case KEY_CHUNKS:
        trainer->n_chunks = number_take(state, "chunks", value);
        return 0;
    case KEY_MICRO_BATCHES:
        trainer->n_micro_batches = number_take(state, "micro-batches", value);
        return 0;
    case KEY_REPLICATED_ROWS:
        trainer->dimensions.rows = ROWS_REPLICATED;
        return 0;
    case KEY_SHARDED:
        trainer->place = OPTIMIZER_SHARDED;
        return 0;
    default:
        return dimension_take(key, value, state);
    }
}

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_STEPS:
        options->n_steps = number_take(state, "steps", value);
        return 0;
    case KEY_RATE:
        options->trainer.rate = rate_take(state, value);
        return 0;
    case KEY_TEXT:
        options->text = value;
        return 0;
    case KEY_OUT:
        options->out = value;
        return 0;
    default:
        return parallel_take(key, value, state);
    }
}

void
options_parse(int argc, char **argv, struct options *out_options)
{
    static const struct argp parser = {
        .options = table,
        .parser = option_take,
        .doc = description,
    };
    struct options options = {
        .trainer =
            {
                .sizes = {1, 1, 1},
                .dimensions =
                    {
                        .n_blocks = 4,
                        .width = 32,
                        .hidden = 64,
                        .n_heads = 4,
                        .n_positions = 32,
                        .n_windows = 2,
                        .seed = 1,
                    },
                .schedule = HOOP_1F1B,
                .n_micro_batches = 8,
                .rate = 0.006F,
            },
        .n_steps = 50,
        .text = DEVILS_DICTIONARY,
        .out = "train_3d_out",
    };

    argp_parse(&parser, argc, argv, 0, NULL, &options);
    if (options.trainer.n_chunks == 0)
        options.trainer.n_chunks =
            options.trainer.schedule == HOOP_INTERLEAVED ? CHUNKS_DEFAULT : 1;
    *out_options = options;
}

/* A number that must be divisible by another. */
struct division {
    uint64_t whole;
    uint64_t parts;
    const char *whole_name;
    const char *parts_name;
};

static bool
divisions_fit(const struct division *divisions,
              size_t n_divisions,
              char out_problem[static PROBLEM_BYTES])
{
    for (size_t i = 0; i < n_divisions; i++) {
        const struct division *division = &divisions[i];

        if (division->whole % division->parts == 0)
            continue;
        snprintf(out_problem, PROBLEM_BYTES,
                 "%s, %llu, cannot be divided equally by %s, %llu",
                 division->whole_name, (unsigned long long)division->whole,
                 division->parts_name, (unsigned long long)division->parts);
        return false;
    }
    return true;
}

static bool
model_fits(const struct trainer_options *trainer,
           char out_problem[static PROBLEM_BYTES])
{
    const struct dimensions *dimensions = &trainer->dimensions;
    const uint64_t parts = trainer->sizes.tensor;
    const uint64_t stages = trainer->sizes.pipeline;
    const struct division divisions[] = {
        {dimensions->width, dimensions->n_heads, "--width", "--heads"},
        {dimensions->n_heads, parts, "--heads", "--tp"},
        {dimensions->hidden, parts, "--hidden", "--tp"},
        {dimensions->n_windows * dimensions->n_positions,
         dimensions->rows == ROWS_REPLICATED ? 1 : parts,
         "--windows x --positions", "--tp"},
        {dimensions->n_blocks, stages * trainer->n_chunks, "--blocks",
         "--pp x --chunks"},
        {trainer->n_micro_batches, trainer->sizes.data, "--micro-batches",
         "--dp"},
    };

    return divisions_fit(divisions, sizeof(divisions) / sizeof(divisions[0]),
                         out_problem);
}

bool
options_fit(const struct options *options,
            uint32_t n_ranks,
            char out_problem[static PROBLEM_BYTES])
{
    const struct trainer_options *trainer = &options->trainer;
    const struct axes_sizes sizes = trainer->sizes;
    const uint64_t n_wanted =
        (uint64_t)sizes.data * sizes.tensor * sizes.pipeline;

    if (n_wanted != n_ranks) {
        snprintf(out_problem, PROBLEM_BYTES,
                 "--dp %u x --tp %u x --pp %u make %llu ranks, but %u are "
                 "here: start as many, as by hooprun -n %llu",
                 sizes.data, sizes.tensor, sizes.pipeline,
                 (unsigned long long)n_wanted, n_ranks,
                 (unsigned long long)n_wanted);
        return false;
    }
    if (trainer->n_chunks > 1 && trainer->schedule != HOOP_INTERLEAVED) {
        snprintf(out_problem, PROBLEM_BYTES,
                 "--chunks %u is for --schedule interleaved only",
                 trainer->n_chunks);
        return false;
    }
    return model_fits(trainer, out_problem);
}
