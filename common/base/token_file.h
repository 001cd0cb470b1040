/* base/token_file.h - a job's secret kept in a file */

#ifndef BASE_TOKEN_FILE_H
#define BASE_TOKEN_FILE_H

#include <stddef.h>

#include "hoop/status.h"

/*
 * The only line of the file, without blanks around it, into out_token as a
 * string; n_bytes is best LIMIT_TOKEN. The file is one that others cannot use,
 * as base/private_file.h has it.
 *
 * Handle: HOOP_E_NOT_FOUND (cannot be read), HOOP_E_DENIED (others can use it),
 * HOOP_E_INVALID (empty, more than one line, does not fit).
 */
enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token);

#endif
