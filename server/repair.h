/* repair.h - what can be saved of a coordinator's data that are damaged */

#ifndef SERVER_REPAIR_H
#define SERVER_REPAIR_H

#include <stdio.h>

#include "hoop/status.h"

/*
 * Puts a file of the records that can be read in the place of the folder's; the
 * old one stays beside it. A job whose records make no whole any more is left
 * out. What was kept and lost is written to out, a line each; sound data are left
 * as they are.
 *
 * Handle: HOOP_E_EXISTS (a coordinator uses the folder), HOOP_E_NOT_FOUND (there
 * are no data), HOOP_E_DATA_LOSS (nothing can be read), HOOP_E_DENIED,
 * HOOP_E_UNAVAILABLE.
 */
enum hoop_status
repair_run(const char *folder, FILE *out);

#endif
