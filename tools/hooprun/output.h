/*
 * hooprun/output.h - prints the workers' lines on hooprun's stdout and stderr
 *
 * Lines are printed whole, as "[rank] text". On a terminal one progress line is
 * kept below everything else; elsewhere progress lines are left out. Where no
 * progress line is, there may be a status line instead, which is erased for each
 * line and comes again with the next status.
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
    OUTPUT_LAST_MAX = 512, /* bytes kept of a line */
};

/* The last lines of a rank, on either stream. */
struct output_last {
    uint32_t n_lines;                               /* so far */
    char lines[OUTPUT_LAST_LINES][OUTPUT_LAST_MAX]; /* line n is at n %
                                                       OUTPUT_LAST_LINES */
};

/* A worker's pipe to stdout or stderr. */
struct output_pipe {
    struct output *output;
    uint32_t rank;
    const char *host; /* NULL: this host */
    int file_fd;      /* output file of the rank; -1: none */
    int fd;           /* to read; -1: it has ended or was never open */
    int target_fd;    /* to write */
    struct stream stream;
};

struct output {
    bool is_terminal[3];            /* by target_fd */
    bool has_failed[3];             /* a write to target_fd failed, which was
                                       reported */
    bool has_failed_file;           /* the same for a rank's own file */
    struct output_pipe *progress;   /* the pipe whose line is shown; NULL:
                                       none */
    char text[OUTPUT_PROGRESS_MAX]; /* as shown */
    bool has_status;                /* a status line is shown */
    bool is_verbatim;               /* output_feed() writes bytes unchanged */
    uint64_t n_lines;               /* printed so far */
    bool is_failing;    /* set by the process_group: a rank has failed */
    struct alike alike; /* lines that are counted in place of being written */
    int64_t told_s;     /* when they were last reported */
    uint32_t n_pipes;
    struct output_pipe *pipes; /* two per worker */
    struct output_last *last;  /* one per worker */
};

/*
 * Make the folder, if it does not exist, and in it an empty file for each rank.
 * Prints errors to stderr. Handle: HOOP_E_UNAVAILABLE.
 */
HOOP_NODISCARD enum hoop_status
output_prepare(const char *folder, uint32_t n_workers);

/* Takes over the workers' descriptors. folder is that of output_prepare(), or
 * NULL. Handle: HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE (a file is gone; printed
 * to stderr). */
HOOP_NODISCARD enum hoop_status
output_init(struct output *output,
            struct worker *workers,
            uint32_t n_workers,
            const char *folder);

/* Read once and print the complete lines; closes the pipe at its end. */
void
output_read(struct output_pipe *pipe);

/* Print what a worker on another host has written to stdout or stderr. */
void
output_feed(struct output *output,
            uint32_t rank,
            int target_fd,
            const char *bytes,
            size_t n_bytes);

/* Read all that is available without waiting; prints incomplete lines too. */
void
output_drain(struct output *output);

/* Call it before hooprun itself prints. Erases the status line, too. */
void
output_clear_progress(struct output *output);

/* Show text, which is safe to print, as the status line, cut to the width of the
 * terminal; "": show none. stderr is a terminal. */
void
output_show_status(struct output *output, const char *text);

/* Print the rank's last lines once more, to stderr. */
void
output_repeat_last(struct output *output, uint32_t rank);

/* Return whether all lines could be written. If not, the reason was printed to
 * stderr. */
bool
output_is_whole(const struct output *output);

/* Close what is open. Zeroed: nothing to close. */
void
output_deinit(struct output *output);

#endif
