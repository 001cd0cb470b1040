/* recorder/recorder_file.h - the memory of a recorder, with a name or without */

#ifndef RECORDER_RECORDER_FILE_H
#define RECORDER_RECORDER_FILE_H

#include "recorder/recorder.h"

enum {
    RECORDER_FILE_MODE = 0600,
    RECORDER_FILE_NAME = LIMIT_NAME + 64, /* bytes of a name */
};

struct recorder_file {
    struct recorder_memory *memory; /* zeroed, for the caller to unmap */
    int folder_fd;                  /* -1: it gets no name */
    char unfinished[LIMIT_NAME];    /* its name until it is published */
};

/* Write "JOB.RANK.hoopr", with a word such as ".previous" before the last dot. */
void
recorder_file_name(const struct recorder_options *options,
                   const char *word,
                   char out_name[RECORDER_FILE_NAME]);
/* Write a name that nobody else has, for a file that is not whole yet. Handle:
 * HOOP_E_UNAVAILABLE. */
enum hoop_status
recorder_file_name_draw(char out_name[LIMIT_NAME]);

/* Map memory that is in a file, if options name a folder. The blocks of the
 * file exist, so that a full disk is found here and not by a signal later.
 * Handle: HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE. */
enum hoop_status
recorder_file_create(const struct recorder_options *options,
                     struct recorder_file *out_file);
/* Give the file, which begins with a whole header now, its name; its descriptors
 * are closed even on failure. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
recorder_file_publish(struct recorder_file *file,
                      const struct recorder_options *options);

#endif
