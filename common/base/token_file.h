/* base/token_file.h - a job's secret kept in a file */

#ifndef BASE_TOKEN_FILE_H
#define BASE_TOKEN_FILE_H

#include <stddef.h>

#include "hoop/status.h"

/*
 * The only line of the file, without blanks around it, into out_token as a
 * string; n_bytes is best LIMIT_TOKEN. That others than the owner may read
 * the file is said at debug level.
 *
 * Handle: HOOP_E_NOT_FOUND (cannot be read), HOOP_E_INVALID (empty, more than
 * one line, does not fit).
 */
enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token);

#endif
