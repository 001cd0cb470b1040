/* standard_output.h - makes a program fail if its output was not written */

#ifndef STANDARD_OUTPUT_H
#define STANDARD_OUTPUT_H

/*
 * At exit, write what stdout still holds. If that or an earlier write failed,
 * say so on stderr and exit with EXIT_FAILURE. Call it once, first in main().
 * If stdout was closed from the start, that is a failure only if something is
 * written.
 */
void
standard_output_check_at_exit(void);

#endif
