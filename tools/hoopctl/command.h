/*
 * hoopctl/command.h - one subcommand: what it is called and what it does
 *
 * main.c has the table; the file with a command's name implements it.
 */

#ifndef HOOPCTL_COMMAND_H
#define HOOPCTL_COMMAND_H

#include <hoop/control.h>
#include <stdbool.h>

enum command_format {
    COMMAND_TABLE, /* for people */
    COMMAND_JSON,  /* one object, for programs; of a watch one for each event */
};

struct command_call {
    const struct hoop_control_options *options;
    hoop_control_t *control; /* NULL: the command asks no coordinator */
    enum command_format format;
    const char *peer;        /* of doctor: whom to try; NULL: nobody */
    const char *listen_port; /* NULL: HOOP_PORT, or any */
    bool is_listening;       /* of doctor: for a peer to try */
    int n_arguments;
    char **arguments; /* behind the name of the subcommand */
};

/* What main() turns into an exit code and, if not OK, a line of error. */
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
/* Says itself what is wrong; HOOP_E_INTERNAL is that something is. */
command_fn doctor_run;

#endif
