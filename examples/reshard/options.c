/*
 * reshard/options.c - the command line of reshard
 *
 * All ranks interpret the options alike after they have joined
 * (reshard/task.h); then one of them prints what is wrong.
 */

#include "reshard/options.h"

#include <argp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 64,
};

static const char description[] =
    "Save a distributed tensor, load it laid out in other ways, redistribute "
    "it live, and compare hashes: hooprun -n 8 reshard\v"
    "A LAYOUT is a mesh and, for each dimension of the tensor, R (whole) or S "
    "and the axes of the mesh that cut it: 2x4:S0,S1, or 4x2:S01,R. With "
    "+uneven behind it, sizes need not be divisible: 3:S0,R+uneven. A mesh "
    "begins with rank 0, or where it says: 2x2@4:S0,S1 is ranks 4 to 7.\n"
    "With 8 ranks, where nothing is said, the tensor of 256 MiB goes from "
    "2x4:S0,S1 to 4x2:S01,R and to 3:S0,R+uneven; with others, between meshes "
    "of as many ranks, and to fewer.";

enum option_key {
    KEY_FROM = 'f',
    KEY_TO = 't',
    KEY_SIZE = 's',
    KEY_DTYPE = 'd',
    KEY_FOLDER = 'o',
    KEY_KEEP = 'k',
    KEY_SHAPE = 256, /* has no letter */
    KEY_DAMAGE,
};

static const struct argp_option table[] = {
    {"from", KEY_FROM, "LAYOUT", 0, "how the tensor lies at first", 1},
    {"to", KEY_TO, "LAYOUT", 0,
     "how it is loaded, and redistributed; may be said several times", 1},
    {"size", KEY_SIZE, "BYTES", 0,
     "of the whole tensor, with K, M or G (256M); rounded down to what makes "
     "whole rows",
     2},
    {"shape", KEY_SHAPE, "NxN", 0, "of the whole tensor, instead of --size", 2},
    {"dtype", KEY_DTYPE, "NAME", 0, "of its elements (float32)", 2},
    {"folder", KEY_FOLDER, "DIR", 0,
     "where the checkpoint goes, and stays; all ranks see it (a temporary "
     "one, removed at the end)",
     3},
    {"keep", KEY_KEEP, NULL, 0, "leave the temporary folder, and say where", 3},
    {"damage", KEY_DAMAGE, NULL, 0,
     "change a byte of what is loaded, to see that it is found out", 4},
    {0},
};

static void
target_take(struct argp_state *state, const char *text)
{
    struct options *options = state->input;

    if (options->n_to == TARGETS_MAX)
        argp_failure(state, EXIT_USAGE, 0, "--to %s: there are %d already",
                     text, TARGETS_MAX);
    options->to[options->n_to++] = text;
}

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_FROM:
        options->from = value;
        return 0;
    case KEY_TO:
        target_take(state, value);
        return 0;
    case KEY_SIZE:
        options->size = value;
        return 0;
    case KEY_SHAPE:
        options->shape = value;
        return 0;
    case KEY_DTYPE:
        options->dtype = value;
        return 0;
    case KEY_FOLDER:
        options->folder = value;
        return 0;
    case KEY_KEEP:
        options->is_kept = true;
        return 0;
    case KEY_DAMAGE:
        options->is_damaged = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Return whether this is not the first of several ranks that a launcher has
 * started with the same command line. */
static bool
another_tells(void)
{
    const char *rank = getenv("HOOP_RANK");

    return rank && *rank && strcmp(rank, "0") != 0;
}

/* Parses without printing what argp would print. */
static void
parse_in_silence(const struct argp *parser,
                 int argc,
                 char **argv,
                 struct options *options)
{
    const int out = dup(STDOUT_FILENO);
    const int err = dup(STDERR_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    argp_parse(parser, argc, argv, 0, NULL, options);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(nowhere);
}

void
options_parse(int argc, char **argv, struct options *out_options)
{
    static const struct argp parser = {
        .options = table,
        .parser = option_take,
        .doc = description,
    };
    struct options options = {0};

    if (another_tells())
        parse_in_silence(&parser, argc, argv, &options);
    else
        argp_parse(&parser, argc, argv, 0, NULL, &options);
    *out_options = options;
}
