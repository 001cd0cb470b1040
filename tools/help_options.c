/* help_options.c - the options -h and -v of every program */

#include "help_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

static const struct argp_option table[] = {
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 'v', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    (void)value;
    if (key == 'h')
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    if (key != 'v')
        return ARGP_ERR_UNKNOWN;
    printf("%s\n", argp_program_version);
    exit(EXIT_SUCCESS);
}

const struct argp_child *
help_options(void)
{
    static const struct argp parser = {
        .options = table,
        .parser = option_take,
    };
    static const struct argp_child children[] = {{.argp = &parser}, {0}};

    return children;
}
