/*
 * record_place.h - where hooprun keeps the records of its jobs, and hoopctl
 * finds them
 *
 * This host has few such places, one for each user: /dev/shm/hoop-UID or, where
 * that cannot be, /tmp/hoop-UID. Each run has a folder of its own there, whose
 * hooprun holds a lock on it while it lives.
 */

#ifndef RECORD_PLACE_H
#define RECORD_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

enum {
    RECORD_PLACES = 2,
    RECORD_PLACE_BYTES = 64,
    RECORD_FOLDER_BYTES = RECORD_PLACE_BYTES + 32,
};

/* The folder of one run. */
struct record_folder {
    char path[RECORD_FOLDER_BYTES];
    bool is_live; /* its hooprun runs */
    struct timespec changed;
};

/* Write the path of a place, counted from 0, and return out_path. It need not
 * exist. */
const char *
record_place_path(unsigned place, char out_path[RECORD_PLACE_BYTES]);

/* Return whether the place exists and is a folder that this user owns and
 * nobody else can enter; errno says why it is not. */
bool
record_place_is_own(unsigned place);

/* Open a folder and try to lock it: LOCK_EX to remove it, LOCK_SH to look whether
 * its hooprun runs. Returns its descriptor, or -1: it cannot be opened, or, with
 * errno EWOULDBLOCK, its hooprun runs. */
int
record_folder_lock(const char *path, int operation);

/* Return the number of folders of a place, and the folders, the last one that
 * was changed first. The caller frees them. */
size_t
record_folders_list(unsigned place, struct record_folder **out_folders);

#endif
