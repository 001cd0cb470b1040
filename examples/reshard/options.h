/* reshard/options.h - the command line of reshard */

#ifndef RESHARD_OPTIONS_H
#define RESHARD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TARGETS_MAX = 16,
};

/* All text is borrowed from argv; NULL: not said. What it means is task.h's. */
struct options {
    const char *from;
    const char *to[TARGETS_MAX];
    size_t n_to;
    const char *size;
    const char *shape;
    const char *dtype;
    const char *folder;
    bool is_kept;    /* the folder, where it is temporary */
    bool is_damaged; /* what is loaded, to see that it is found out */
};

/* Prints what is wrong and exits 64, or fills *out_options. Of the ranks of a
 * launcher (HOOP_RANK) the first prints, help as well. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
