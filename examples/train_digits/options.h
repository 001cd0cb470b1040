/* train_digits/options.h - the command line of train_digits */

#ifndef TRAIN_DIGITS_OPTIONS_H
#define TRAIN_DIGITS_OPTIONS_H

#include <stddef.h>

#include "train_digits/training.h"

/* The texts are borrowed from argv. */
struct options {
    struct training_options training;
    size_t n_hidden;
    const char *images; /* path of the CSV file */
    const char *out;    /* directory for the curve */
};

/* Fills *out_options, or prints what is wrong and exits with 64. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
