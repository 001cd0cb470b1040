/*
 * hooprun/output.h - the workers' lines on hooprun's own stdout and stderr
 *
 * "[rank] text", whole lines only. On a terminal one progress line is kept
 * below everything else; elsewhere progress lines are left out.
 */

#ifndef HOOPRUN_OUTPUT_H
#define HOOPRUN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "hooprun/alike.h"
#include "hooprun/stream.h"
#include "hooprun/worker.h"

enum {
    OUTPUT_PROGRESS_MAX = 512,
    OUTPUT_LAST_LINES = 3,
    OUTPUT_LAST_MAX = 512, /* bytes of one of them; the rest is left out */
};

/* What a rank has written last, on either stream. */
struct output_last {
    uint32_t n_lines;                               /* so far */
    char lines[OUTPUT_LAST_LINES][OUTPUT_LAST_MAX]; /* n % OUTPUT_LAST_LINES */
};

/* One worker's pipe on its way to stdout or stderr. */
struct output_pipe {
    struct output *output;
    uint32_t rank;
    const char *host; /* NULL: this one */
    int file_fd;      /* of this rank; -1: none */
    int fd;           /* to read; -1: ended or never open */
    int target_fd;    /* to write */
    struct stream stream;
};

struct output {
    bool is_terminal[3];            /* by target_fd */
    bool has_failed[3];             /* a write to target_fd; it was said */
    bool has_failed_file;           /* the same of a rank's own file */
    struct output_pipe *progress;   /* whose line is shown; NULL: nobody's */
    char text[OUTPUT_PROGRESS_MAX]; /* as shown */
    bool is_verbatim;               /* output_feed() writes what it gets */
    uint64_t n_lines;               /* printed so far */
    bool is_failing;    /* set by the process_group: a rank has failed */
    struct alike alike; /* lines that are counted, not written */
    int64_t told_s;     /* when that was said last */
    uint32_t n_pipes;
    struct output_pipe *pipes; /* two for each worker */
    struct output_last *last;  /* one for each worker */
};

/*
 * Make the folder, unless it is there, and in it an empty file for each rank.
 * Says on stderr what failed. Handle: HOOP_E_UNAVAILABLE.
 */
HOOP_NODISCARD enum hoop_status
output_prepare(const char *folder, uint32_t n_workers);

/* Takes the workers' descriptors. folder: of output_prepare(), or NULL. Handle:
 * HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE (a file is gone; says so on stderr). */
HOOP_NODISCARD enum hoop_status
output_init(struct output *output,
            struct worker *workers,
            uint32_t n_workers,
            const char *folder);

/* Read once what has come and print its whole lines; closes at the end. */
void
output_read(struct output_pipe *pipe);

/* What a worker on another host has written to stdout or stderr. */
void
output_feed(struct output *output,
            uint32_t rank,
            int target_fd,
            const char *bytes,
            size_t n_bytes);

/* Read all that is there without waiting, print also half lines. */
void
output_drain(struct output *output);

/* Call before hooprun itself prints. */
void
output_clear_progress(struct output *output);

/* Print once more, to stderr, what the rank has written last. */
void
output_repeat_last(struct output *output, uint32_t rank);

/* Whether all lines could be written. If not, stderr was told why. */
bool
output_is_whole(const struct output *output);

/* Closes what is open. Zeroed memory is fine. */
void
output_deinit(struct output *output);

#endif
