/* train_3d/options.h - the command line of train_3d */

#ifndef TRAIN_3D_OPTIONS_H
#define TRAIN_3D_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train_3d/trainer.h"

/* The texts are borrowed from argv. */
struct options {
    struct trainer_options trainer;
    size_t n_steps;
    const char *text; /* path of the text to learn */
    const char *out;  /* directory for curve and timeline */
};

/* Fills *out_options, or prints what is wrong and exits with 64. */
void
options_parse(int argc, char **argv, struct options *out_options);

enum {
    PROBLEM_BYTES = 256,
};

/* Returns whether n_ranks can train this. If not, out_problem says what is
 * wrong and how to avoid it. The result is the same on all ranks. */
bool
options_fit(const struct options *options,
            uint32_t n_ranks,
            char out_problem[static PROBLEM_BYTES]);

#endif
