/* standard_output.h - a program whose output was not written has failed */

#ifndef STANDARD_OUTPUT_H
#define STANDARD_OUTPUT_H

/*
 * When the process exits, write what stdout still holds. If that or an earlier
 * write has failed, say so on stderr and exit with EXIT_FAILURE. Call it once,
 * first in main(). A standard output that was closed from the start is no
 * failure as long as nothing is written.
 */
void
standard_output_check_at_exit(void);

#endif
