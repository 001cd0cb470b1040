/*
 * base/private_file.h - files that hold secrets, and who else can use them
 *
 * A secret that other users can read is none, and one that they can write is
 * theirs. So a file with a secret is opened only if
 *
 * - it belongs to this user, and nobody else may read or write it (mode 0600), or
 *   to root, and at most its group may read it (0640);
 * - it is a file, or a pipe such as a shell's <(command);
 * - where its path is a symbolic link, that belongs to this user or to root.
 *
 * On a mount that is read-only the owner is not looked at, nor who may read:
 * containers' secrets are mounted that way, with owners and modes that nobody
 * chose. That is logged.
 *
 * Thread: any.
 */

#ifndef BASE_PRIVATE_FILE_H
#define BASE_PRIVATE_FILE_H

#include "hoop/status.h"

/*
 * Open it to be read; *out_fd is the caller's. what names the kind of file in
 * errors, as "token file".
 * Handle: HOOP_E_NOT_FOUND (cannot be opened), HOOP_E_DENIED (others can use it;
 * the text says what to run).
 */
enum hoop_status
private_file_open(const char *what, const char *path, int *out_fd);

/*
 * Whether a folder is one that nobody but this user, and root, may write. It
 * belongs to one of them, as does the symbolic link that the path may be.
 * Handle: as private_file_open(), HOOP_E_UNAVAILABLE (it is no folder).
 */
enum hoop_status
private_folder_check(const char *what, const char *path);

/*
 * Whether a file that this program made is still its own: no link, of this user,
 * and nobody else may read or write it. One that is not there is fine.
 * Handle: as private_file_open().
 */
enum hoop_status
private_file_check_own(const char *what, const char *path);

#endif
