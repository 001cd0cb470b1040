/* hooprun/options.h - the command line of hooprun */

#ifndef HOOPRUN_OPTIONS_H
#define HOOPRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "hooprun/host_list.h"

enum {
    OPTIONS_WORKERS_MAX = 4096, /* two pipes each: bounded by descriptors */
    OPTIONS_EXIT_USAGE = 64,    /* EX_USAGE, also argp's own */
};

enum output_style {
    OUTPUT_PREFIXED,
    OUTPUT_VERBATIM, /* the workers inherit stdout and stderr */
};

/* What is done when a worker fails. */
enum on_exit {
    ON_EXIT_UNSET,
    ON_EXIT_END,      /* the others are ended */
    ON_EXIT_CONTINUE, /* the others go on */
    ON_EXIT_RESTART,  /* the others are ended, and all are started again */
};

/* All text is borrowed from argv. */
struct options {
    uint32_t n_workers;
    uint32_t n_nodes;        /* to be played by this machine; 0: as it is */
    const char *coordinator; /* NULL: embedded */
    const char *job;
    struct host_list hosts; /* empty: this one */
    const char *rsh;        /* runs a command on another host */
    const char *prefix;  /* where hoop is on other hosts; NULL: in their PATH */
    const char *folder;  /* to run in; NULL: as it is */
    bool is_agent;       /* of a hooprun on another host; all else is empty */
    uint32_t n_exported; /* variables for other hosts, too */
    const char **exported; /* "NAME", as the environment has it, "NAME=VALUE" */
    const char *output;    /* folder of a file for each rank; NULL: none */
    uint32_t timeout_s;    /* 0: none */
    uint32_t grace_s;      /* between SIGTERM and SIGKILL */
    bool is_encrypted;     /* HOOP_TLS=on, whatever it was */
    enum output_style style;
    enum on_exit on_exit;
    uint32_t n_restarts; /* at most; with ON_EXIT_RESTART */
    char **command;      /* ends with NULL, as execvp() wants it */
};

/* Prints what is wrong and exits OPTIONS_EXIT_USAGE, or fills *out_options. What is
 * not said comes from HOOP_JOB, HOOP_ON_FAILURE and HOOP_RSH, which -x may set. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
