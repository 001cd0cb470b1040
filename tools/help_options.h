/* help_options.h - -h and -v of every program, beside --help and --version */

#ifndef HELP_OPTIONS_H
#define HELP_OPTIONS_H

struct argp_child;

/* For struct argp.children. An option of the program's own wins over it. Static. */
const struct argp_child *
help_options(void);

#endif
