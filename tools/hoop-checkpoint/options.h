/* hoop-checkpoint/options.h - the command line of hoop-checkpoint */

#ifndef HOOP_CHECKPOINT_OPTIONS_H
#define HOOP_CHECKPOINT_OPTIONS_H

#include "hoop-checkpoint/inventory.h"

enum {
    OPTIONS_EXIT_USAGE = 64,
};

enum options_check {
    OPTIONS_LOOK,
    OPTIONS_VERIFY,
};

struct options {
    const char *folder; /* borrowed from argv */
    enum inventory_detail detail;
    enum options_check check;
};

/* Exits for --help, --version and a wrong command line. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
