/*
 * tune/sample_store.h - samples of this machine, kept for the next job
 *
 * HOOP_TUNING=auto: a file in the user's cache folder,
 * hoop/tuning-<signature>.txt, of which the signature says which processors
 * these are, how many, over what messages may go, and which algorithms hoop
 * has. It is replaced as a whole, so that nobody reads half of one; of two jobs
 * that add to it at the same moment one is forgotten.
 */

#ifndef TUNE_SAMPLE_STORE_H
#define TUNE_SAMPLE_STORE_H

#include <stddef.h>

#include "hoop/status.h"

#include "tune/samples.h"

/*
 * Where samples of this machine are kept, ranks exchanging messages over
 * transport ("tcp"); *out_path is the caller's.
 * Handle: HOOP_E_NOT_FOUND (neither XDG_CACHE_HOME nor HOME is a folder's path).
 */
enum hoop_status
sample_store_path(const char *transport, char **out_path);

/* NULL: there are none, or none that this build understands. */
struct samples *
sample_store_read(const char *path);

/* Handle: HOOP_E_UNAVAILABLE (cannot be written; there is what there was). */
enum hoop_status
sample_store_write(const char *path, const char *text, size_t n_bytes);

#endif
