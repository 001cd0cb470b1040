/* help_options.h - the options -h and -v of every program */

#ifndef HELP_OPTIONS_H
#define HELP_OPTIONS_H

struct argp_child;

/* For struct argp.children. The program's own options take precedence. The
 * result is static. */
const struct argp_child *
help_options(void);

#endif
