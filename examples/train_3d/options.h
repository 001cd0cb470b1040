/* train_3d/options.h - the command line of train_3d */

#ifndef TRAIN_3D_OPTIONS_H
#define TRAIN_3D_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train_3d/trainer.h"

/* All text is borrowed from argv. */
struct options {
    struct trainer_options trainer;
    size_t n_steps;
    const char *text; /* path of the text to learn */
    const char *out;  /* directory for curve and timeline */
};

/* Prints what is wrong and exits 64, or fills *out_options. */
void
options_parse(int argc, char **argv, struct options *out_options);

enum {
    PROBLEM_BYTES = 256,
};

/* Whether n_ranks can train this; if not, a sentence says what is in the way
 * and how to get around it. The same verdict on all ranks. */
bool
options_fit(const struct options *options,
            uint32_t n_ranks,
            char out_problem[static PROBLEM_BYTES]);

#endif
