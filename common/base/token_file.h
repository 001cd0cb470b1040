/* base/token_file.h - read a job's secret from a file */

#ifndef BASE_TOKEN_FILE_H
#define BASE_TOKEN_FILE_H

#include <stddef.h>

#include "hoop/status.h"

/*
 * Read the only line of the file, without surrounding blanks, into the string
 * out_token of n_bytes, usually LIMIT_TOKEN. The file must be private, see
 * base/private_file.h.
 * Handle: HOOP_E_NOT_FOUND (cannot be read), HOOP_E_DENIED (others can use it),
 * HOOP_E_INVALID (empty, more than one line, or too long).
 */
enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token);

#endif
