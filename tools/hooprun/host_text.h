/*
 * hooprun/host_text.h - texts between hooprun and agents on other hosts
 *
 * A run is described by a sequence of "name=value", each with a final 0. Any
 * bytes except 0 arrive unchanged, and no shell reads them. The errors about
 * hosts are here too.
 */

#ifndef HOOPRUN_HOST_TEXT_H
#define HOOPRUN_HOST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooprun/worker.h"

enum {
    HOST_RSH_MAX = 32,                    /* words of --rsh */
    HOST_COMMAND_MAX = HOST_RSH_MAX + 16, /* words of the whole command that
                                             runs an agent */
    HOST_FAILURE_BYTES = 2048,
};

/* The ranks of one host, which are consecutive. */
struct host_place {
    uint32_t number;
    uint32_t n_hosts;
    uint32_t first_rank;
    uint32_t n_ranks;
};

/* All texts are borrowed from the decoded bytes. */
struct host_run {
    struct host_place place;
    uint32_t n_workers; /* of all hosts */
    uint32_t n_restarts;
    bool has_terminal;
    bool is_recorded;     /* each host keeps the records of its workers */
    bool has_coordinator; /* given by the user; it may still be starting */
    const char *job;
    const char *folder;      /* working folder */
    const char *coordinator; /* its addresses, to be tried */
    uint32_t n_variables;
    char **variables; /* "NAME=VALUE" */
    uint32_t n_words;
    char **command; /* ends with NULL */
};

/* Encode the description for the agent of a host. The caller frees it. Without
 * memory the process ends. */
char *
host_text_encode(const struct worker_setup *setup,
                 const struct host_place *place,
                 size_t *out_n_bytes);

/* Return false if it is incomplete. text is changed. Call host_run_deinit()
 * afterwards. */
bool
host_text_decode(char *text, size_t n_bytes, struct host_run *out_run);
void
host_run_deinit(struct host_run *run);

/* Write some texts, each with its final 0. Returns the number of bytes. */
uint16_t
host_fields_encode(const char *const *fields,
                   uint32_t n_fields,
                   char *out_bytes);

/* Read the texts that are present; other fields keep their value. */
void
host_fields_decode(const char *bytes,
                   size_t n_bytes,
                   const char **out_fields,
                   uint32_t n_fields);

/* Return the hooprun that is run on other hosts. */
const char *
host_program(const struct options *options);

/* Build the command that runs an agent there, ending with NULL. Its words are
 * valid until the next call. */
void
host_command(const struct options *options,
             const char *host,
             char *out_words[static HOST_COMMAND_MAX]);

enum host_failure_kind {
    HOST_NOT_REACHED,   /* ssh ended before the agent started */
    HOST_LATE,          /* no agent was ready in time */
    HOST_OTHER_VERSION, /* said holds that version */
    HOST_REFUSED,       /* the agent has printed the reason */
    HOST_LOST,          /* ssh ended while workers ran */
    HOST_SILENT,        /* nothing was heard while workers ran */
};

/* All texts are borrowed. */
struct host_failure {
    enum host_failure_kind kind;
    int wait_status;     /* of ssh */
    int silent_s;        /* of HOST_SILENT */
    const char *host;    /* as passed to ssh */
    const char *rsh;     /* what runs commands there; NULL: the host is this
                            one */
    const char *program; /* host_program() */
    const char *said;    /* lines of ssh and the agent on standard error */
};

/* Write "host b: Connection refused; ...": the cause, and what to do. */
void
host_failure_describe(const struct host_failure *failure,
                      char out_text[static HOST_FAILURE_BYTES]);

#endif
