/* train_digits/options.c - the command line of train_digits */

#include "train_digits/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_USAGE = 64,
    NUMBER_MAX = 1000000,
};

static const char description[] =
    "Train a classifier of handwritten digits on all ranks of a hoop job: "
    "hooprun -n 4 train_digits";

static const struct argp_option table[] = {
    {"epochs", 'e', "N", 0, "times over all images (default: 30)", 0},
    {"batch", 'b', "N", 0, "images for one step, over all ranks (64)", 0},
    {"hidden", 'h', "N", 0, "hidden cells (64)", 0},
    {"rate", 'r', "X", 0, "learning rate (0.1)", 0},
    {"data", 'd', "FILE", 0, "the images (examples/data/digits.csv)", 0},
    {"out", 'o', "DIR", 0,
     "where the loss curve goes, as CSV and SVG (train_digits_out)", 0},
    {0},
};

static size_t
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
    return value;
}

static double
rate_take(struct argp_state *state, const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value <= 0)
        argp_failure(state, EXIT_USAGE, 0,
                     "--rate %s: a number above 0 is expected", text);
    return value;
}

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'e':
        options->training.n_epochs = number_take(state, "epochs", value);
        return 0;
    case 'b':
        options->training.batch = number_take(state, "batch", value);
        return 0;
    case 'h':
        options->n_hidden = number_take(state, "hidden", value);
        return 0;
    case 'r':
        options->training.rates.rate = rate_take(state, value);
        return 0;
    case 'd':
        options->images = value;
        return 0;
    case 'o':
        options->out = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
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

    *out_options = (struct options){
        .training =
            {
                .n_epochs = 30,
                .batch = 64,
                .rates = {.rate = 0.1, .momentum = 0.9},
            },
        .n_hidden = 64,
        .images = DIGITS_CSV,
        .out = "train_digits_out",
    };
    argp_parse(&parser, argc, argv, 0, NULL, out_options);
}
