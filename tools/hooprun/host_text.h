/*
 * hooprun/host_text.h - what hooprun and its agents on other hosts tell each
 * other, and the user, in words
 *
 * The description of a run is a row of "name=value", each with a final 0: any
 * bytes but 0 arrive as they are, and no shell sees them.
 */

#ifndef HOOPRUN_HOST_TEXT_H
#define HOOPRUN_HOST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooprun/worker.h"

enum {
    HOST_RSH_MAX = 32,                    /* words of --rsh */
    HOST_COMMAND_MAX = HOST_RSH_MAX + 16, /* ... and all that runs an agent */
    HOST_FAILURE_BYTES = 2048,
};

/* The ranks of one host, which are consecutive. */
struct host_place {
    uint32_t number;
    uint32_t n_hosts;
    uint32_t first_rank;
    uint32_t n_ranks;
};

/* All text is borrowed from what was decoded. */
struct host_run {
    struct host_place place;
    uint32_t n_workers; /* of all hosts */
    uint32_t n_restarts;
    bool has_terminal;
    bool has_coordinator; /* it was there before, and may yet have to come */
    const char *job;
    const char *folder;      /* to run in */
    const char *coordinator; /* addresses of it, to be tried */
    uint32_t n_variables;
    char **variables; /* "NAME=VALUE" */
    uint32_t n_words;
    char **command; /* ends with NULL */
};

/* The description for the agent of a host; for the caller to free. Ends the
 * process when there is no memory. */
char *
host_text_encode(const struct worker_setup *setup,
                 const struct host_place *place,
                 size_t *out_n_bytes);

/* False if it is not complete. text is changed. host_run_deinit() frees. */
bool
host_text_decode(char *text, size_t n_bytes, struct host_run *out_run);
void
host_run_deinit(struct host_run *run);

/* Some texts, each with its final 0: how many bytes there are. */
uint16_t
host_fields_encode(const char *const *fields,
                   uint32_t n_fields,
                   char *out_bytes);

/* Those that are there; fields that are not keep what they were. */
void
host_fields_decode(const char *bytes,
                   size_t n_bytes,
                   const char **out_fields,
                   uint32_t n_fields);

/* The hooprun that is run on other hosts. */
const char *
host_program(const struct options *options);

/* The command that runs an agent there, up to NULL. Its words live until the next
 * call. */
void
host_command(const struct options *options,
             const char *host,
             char *out_words[static HOST_COMMAND_MAX]);

enum host_failure_kind {
    HOST_NOT_REACHED,   /* ssh has ended before an agent was there */
    HOST_LATE,          /* no agent was ready in time */
    HOST_OTHER_VERSION, /* said is that version */
    HOST_REFUSED,       /* the agent has said why */
    HOST_LOST,          /* ssh has ended while workers ran */
    HOST_SILENT,        /* nothing was heard while workers ran */
};

/* All text is borrowed. */
struct host_failure {
    enum host_failure_kind kind;
    int wait_status;     /* of ssh */
    int silent_s;        /* of HOST_SILENT */
    const char *host;    /* as ssh takes it */
    const char *rsh;     /* runs commands there; NULL: it is this host */
    const char *program; /* host_program() */
    const char *said; /* lines that ssh and the agent wrote on standard error */
};

/* "host b: Connection refused; ...": the cause, and what to do. */
void
host_failure_describe(const struct host_failure *failure,
                      char out_text[static HOST_FAILURE_BYTES]);

#endif
