/* hoopctl/options.h - the command line of hoopctl */

#ifndef HOOPCTL_OPTIONS_H
#define HOOPCTL_OPTIONS_H

#include <hoop/control.h>

#include "hoopctl/command.h"

enum {
    OPTIONS_EXIT_HELD_UP = 1, /* of why: something holds the job up */
    OPTIONS_EXIT_USAGE = 64,  /* EX_USAGE, and so on */
    OPTIONS_EXIT_NO_JOB = 66, /* of why */
    OPTIONS_EXIT_UNAVAILABLE = 69,
    OPTIONS_EXIT_DENIED = 77,
};

struct options {
    struct hoop_control_options control; /* NULL: from the environment */
    enum command_format format;
    const char *peer; /* for doctor, like the next two */
    const char *listen_port;
    bool is_listening;
    bool has_all;                     /* for why */
    enum record_format record_format; /* for record, like the next two */
    size_t n_last_calls;
    const char *output;
    int n_words;
    char **words; /* the subcommand and its arguments */
};

/* Exits for --help, --version and a wrong command line. The texts are borrowed
 * from argv. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
