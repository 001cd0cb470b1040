/* train_3d/report.h - what training tells: progress, numbers and pictures */

#ifndef TRAIN_3D_REPORT_H
#define TRAIN_3D_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/hoop.h"

#include "train_3d/options.h"
#include "train_3d/trainer.h"

/* Whether a bar is to be shown: on rank 0, where it ends on a terminal. */
bool
progress_is_wanted(const hoop_comm_t *world);

struct progress {
    size_t n_steps; /* done */
    size_t n_all;
    double loss; /* of the last */
};

/* On stderr. */
void
progress_show(const struct progress *progress);

/* Makes the directory for pictures, unless it is there; says on stderr why it
 * cannot, or why nothing can be put there. Handle: HOOP_E_UNAVAILABLE. */
HOOP_NODISCARD enum hoop_status
out_prepare(const char *directory);

/* All ranks call it; rank 0 prints. seconds: of all steps. */
HOOP_NODISCARD enum hoop_status
summary_print(const struct trainer *trainer,
              const struct options *options,
              double seconds);

/*
 * All ranks call it; rank 0 writes loss.csv, loss.svg and timeline.svg, of its
 * pipeline. Says on stderr what is wrong.
 */
HOOP_NODISCARD enum hoop_status
pictures_write(const struct trainer *trainer,
               const struct options *options,
               const double *losses);

#endif
