/*
 * hoopctl/command.h - one subcommand: its name and its function
 *
 * main.c has the table. The file with a command's name implements it.
 */

#ifndef HOOPCTL_COMMAND_H
#define HOOPCTL_COMMAND_H

#include <hoop/control.h>
#include <stdbool.h>
#include <stddef.h>

enum command_format {
    COMMAND_TABLE, /* for people */
    COMMAND_JSON,  /* one object, for programs; watch prints one for each
                      event */
};

/* What hoopctl record writes. */
enum record_format {
    RECORD_TEXT, /* for people */
    RECORD_JSON, /* docs/recorder.md; also with --json */
    RECORD_CHROME,
    RECORD_TORCH,
};

struct command_call {
    const struct hoop_control_options *options;
    hoop_control_t *control; /* NULL: the command does not ask a coordinator */
    enum command_format format;
    const char *peer;        /* for doctor: the peer to try; NULL: none */
    const char *listen_port; /* NULL: HOOP_PORT, or any */
    bool is_listening;       /* for doctor: wait for a peer that tries this
                                host */
    bool has_all;            /* for why: list all ranks */
    bool *out_is_held_up;    /* for why: the exit code says so */
    enum record_format record_format;
    size_t n_last_calls; /* of record, listed of each rank in the text */
    const char *output;  /* of record: a path; NULL: standard output */
    int n_arguments;
    char **arguments; /* after the name of the subcommand */
};

/* main() turns the status into an exit code and, if it is not OK, prints an
 * error. */
typedef enum hoop_status
command_fn(const struct command_call *call);

command_fn status_run;
command_fn ranks_run;
command_fn groups_run;
command_fn health_run;
command_fn store_get_run;
command_fn store_wait_run;
command_fn store_set_run;
command_fn store_add_run;
command_fn store_list_run;
command_fn store_watch_run;
command_fn store_delete_run;
command_fn token_run;
command_fn why_run;
/* Prints itself what is wrong. */
command_fn record_run;
/* Prints itself what is wrong; HOOP_E_INTERNAL means that something is. */
command_fn doctor_run;

#endif
