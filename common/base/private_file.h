/*
 * base/private_file.h - check that files with secrets are private, and read a
 * token file
 *
 * A secret that other users can read is not secret, and one they can write is
 * under their control. So a file with a secret is opened only if
 *
 * - it belongs to this user and nobody else may read or write it (mode 0600),
 *   or it belongs to root and at most its group may read it (0640);
 * - it is a regular file, or a pipe such as a shell's <(command);
 * - any symbolic link on its path belongs to this user or to root.
 *
 * On a read-only mount, the owner and the read permissions are ignored, because
 * containers' secrets are mounted that way with arbitrary owners and modes.
 * This is logged.
 *
 * Thread: any.
 */

#ifndef BASE_PRIVATE_FILE_H
#define BASE_PRIVATE_FILE_H

#include <stddef.h>

#include "hoop/status.h"

/*
 * Open the file for reading; the caller closes *out_fd. what names the kind of
 * file in errors, such as "token file".
 * Handle: HOOP_E_NOT_FOUND (cannot be opened), HOOP_E_DENIED (others can use
 * it; the text says what to run).
 */
enum hoop_status
private_file_open(const char *what, const char *path, int *out_fd);

/*
 * Check that only this user and root can write the folder. It must belong to
 * one of them, as must a symbolic link to it.
 * Handle: as private_file_open(), HOOP_E_UNAVAILABLE (it is not a folder).
 */
enum hoop_status
private_folder_check(const char *what, const char *path);

/*
 * Check that a file that this program created is still its own: not a link,
 * owned by this user, and not readable or writable by others. A missing file is
 * accepted.
 * Handle: as private_file_open().
 */
enum hoop_status
private_file_check_own(const char *what, const char *path);

/*
 * Read the only line of the file, without surrounding blanks, into the string
 * out_token of n_bytes, usually LIMIT_TOKEN. The file must be private, see
 * above.
 * Handle: HOOP_E_NOT_FOUND (cannot be read), HOOP_E_DENIED (others can use it),
 * HOOP_E_INVALID (empty, more than one line, or too long).
 */
enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token);

#endif
