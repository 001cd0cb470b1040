/*
 * hooprun/records.h - the folder in which the workers of this host record their
 * calls
 *
 * It is memory (tmpfs) where there is /dev/shm, so that it costs no disk, and
 * outlives any of the workers. It is removed when the run has ended well, else
 * kept for hoopctl record: of each user the last RECORDS_KEPT such folders.
 */

#ifndef HOOPRUN_RECORDS_H
#define HOOPRUN_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "record_place.h"

enum {
    RECORDS_KEPT = 4, /* with that of a run that begins */
};

struct records {
    char path[RECORD_FOLDER_BYTES]; /* "": there is no folder */
    int fd;                         /* locked while this process lives */
};

/* Make the folder for n_workers of this host, and remove folders of earlier runs
 * that are too many. There is none if the user names one (HOOP_RECORDER_DIR) or,
 * which is told on standard error, if there is no room: the workers then record
 * nothing. */
void
records_open(struct records *records, uint32_t n_workers);

/* Remove the folder, if the run ended well or nothing was recorded. Return
 * whether it is kept. */
bool
records_close(struct records *records, int exit_code);

#endif
