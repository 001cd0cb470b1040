/* hooprun/options.h - the command line of hooprun */

#ifndef HOOPRUN_OPTIONS_H
#define HOOPRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "hooprun/host_list.h"

enum {
    OPTIONS_WORKERS_MAX = 4096, /* two pipes each, so limited by descriptors */
    OPTIONS_EXIT_USAGE = 64,    /* EX_USAGE, which argp uses too */
};

enum output_style {
    OUTPUT_PREFIXED,
    OUTPUT_VERBATIM, /* the workers inherit stdout and stderr */
};

/* What happens when a worker fails. */
enum on_exit {
    ON_EXIT_UNSET,
    ON_EXIT_END,      /* the others are ended */
    ON_EXIT_CONTINUE, /* the others continue */
    ON_EXIT_RESTART,  /* the others are ended, and all are started again */
};

/* All texts are borrowed from argv. */
struct options {
    uint32_t n_workers;
    uint32_t n_nodes;        /* nodes to simulate on this machine; 0: do not */
    const char *coordinator; /* NULL: embedded */
    const char *job;
    struct host_list hosts; /* empty: this host */
    const char *rsh;        /* program that runs a command on another host */
    const char *prefix;     /* where hoop is installed on other hosts; NULL: in
                            their PATH */
    const char *folder;     /* working folder; NULL: the current one */
    bool is_agent;          /* run as agent of a hooprun on another host; all
                            else is empty */
    uint32_t n_exported;    /* number of variables to pass to other hosts too */
    const char **exported;  /* "NAME", with the value of the environment, or
                              "NAME=VALUE" */
    const char *output;     /* folder for an output file per rank; NULL: none */
    uint32_t timeout_s;     /* 0: none */
    uint32_t grace_s;       /* time between SIGTERM and SIGKILL */
    bool is_encrypted;      /* sets HOOP_TLS=on */
    bool is_status_off;     /* no status line, even on a terminal */
    bool is_recorded;       /* workers record their calls */
    enum output_style style;
    enum on_exit on_exit;
    uint32_t n_restarts; /* largest number of restarts; for ON_EXIT_RESTART */
    char **command;      /* ends with NULL, as execvp() wants it */
};

/* Fills *out_options, or prints what is wrong and exits with
 * OPTIONS_EXIT_USAGE. Defaults come from HOOP_JOB, HOOP_ON_FAILURE and
 * HOOP_RSH, which -x may set. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
