/* reshard/options.h - the command line of reshard */

#ifndef RESHARD_OPTIONS_H
#define RESHARD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TARGETS_MAX = 16,
};

/* The texts are borrowed from argv, and NULL if not given. task.h interprets
 * them. */
struct options {
    const char *from;
    const char *to[TARGETS_MAX];
    size_t n_to;
    const char *size;
    const char *shape;
    const char *dtype;
    const char *folder;
    bool is_kept;    /* keep the folder, even if it is temporary */
    bool is_damaged; /* damage what is loaded, to see that this is noticed */
};

/* Fills *out_options, or prints what is wrong and exits with 64. If a launcher
 * has started several ranks (HOOP_RANK), only the first one prints errors and
 * help. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
