/* train_3d/report.h - reports progress, results and pictures of a training */

#ifndef TRAIN_3D_REPORT_H
#define TRAIN_3D_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/hoop.h"

#include "train_3d/options.h"
#include "train_3d/trainer.h"

/* Returns whether to show a bar: on rank 0, if stderr ends on a terminal. */
bool
progress_is_wanted(const hoop_comm_t *world);

struct progress {
    size_t n_steps; /* steps taken so far */
    size_t n_all;
    double loss; /* loss of the last step */
};

/* Prints to stderr. */
void
progress_show(const struct progress *progress);

/* Creates the directory for pictures if it does not exist. Prints to stderr if
 * that fails, or if the directory is not writable. Handle:
 * HOOP_E_UNAVAILABLE. */
HOOP_NODISCARD enum hoop_status
out_prepare(const char *directory);

/* All ranks call it; rank 0 prints. seconds is the time of all steps. */
HOOP_NODISCARD enum hoop_status
summary_print(const struct trainer *trainer,
              const struct options *options,
              double seconds);

/*
 * All ranks call it. Rank 0 writes loss.csv, loss.svg and, for its own
 * pipeline, timeline.svg. Prints errors to stderr.
 */
HOOP_NODISCARD enum hoop_status
pictures_write(const struct trainer *trainer,
               const struct options *options,
               const double *losses);

#endif
