/* hoop-checkpoint/options.c - the command line of hoop-checkpoint */

#include "hoop-checkpoint/options.h"

#include <argp.h>

#include "help_options.h"

const char *argp_program_version = "hoop-checkpoint " VERSION_TEXT;

static const char description[] =
    "Print the tensors of the checkpoint in a folder.\v"
    "Exit code 0, 1 if there is none or it is damaged, 64 for a wrong command "
    "line.";

static const struct argp_option table[] = {
    {"verify", 'v', NULL, 0,
     "read all files and compare them with their "
     "digests",
     0},
    {"files", 'f', NULL, 0, "print the files, too", 0},
    {0},
};

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'v':
        options->check = OPTIONS_VERIFY;
        return 0;
    case 'f':
        options->detail = INVENTORY_FILES;
        return 0;
    case ARGP_KEY_ARG:
        if (options->folder)
            argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                         "one folder, not also '%s'", value);
        options->folder = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, OPTIONS_EXIT_USAGE, 0, "which folder?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void
options_parse(int argc, char **argv, struct options *out_options)
{
    const struct argp parser = {
        .options = table,
        .parser = option_take,
        .args_doc = "FOLDER",
        .doc = description,
        .children = help_options(),
    };

    argp_err_exit_status = OPTIONS_EXIT_USAGE;
    *out_options = (struct options){.detail = INVENTORY_TENSORS};
    argp_parse(&parser, argc, argv, 0, NULL, out_options);
}
