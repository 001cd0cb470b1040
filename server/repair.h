/* repair.h - save what can be read of a coordinator's damaged data */

#ifndef SERVER_REPAIR_H
#define SERVER_REPAIR_H

#include <stdio.h>

#include "hoop/status.h"

/*
 * Replace the folder's data file by one with the records that can be read; the
 * old file stays beside it. A job that cannot be recovered from its records is
 * left out. Writes to out, line by line, what is kept and what is lost. Intact
 * data are not changed.
 *
 * Handle: HOOP_E_EXISTS (a coordinator uses the folder), HOOP_E_NOT_FOUND
 * (there are no data), HOOP_E_DATA_LOSS (nothing can be read), HOOP_E_DENIED,
 * HOOP_E_UNAVAILABLE.
 */
enum hoop_status
repair_run(const char *folder, FILE *out);

#endif
