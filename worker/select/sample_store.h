/*
 * select/sample_store.h - keeps samples of this machine for later jobs
 *
 * For HOOP_TUNING=auto. The file hoop/tuning-<signature>.txt in the user's
 * cache folder holds the samples. The signature covers the kind and the number
 * of processors, the transport, and the names of hoop's algorithms. The file is
 * replaced as a whole, so that no reader sees half of one. If two jobs add
 * samples at the same moment, those of one are lost.
 */

#ifndef SELECT_SAMPLE_STORE_H
#define SELECT_SAMPLE_STORE_H

#include <stddef.h>

#include "hoop/status.h"

#include "select/samples.h"

/*
 * The path of the file for this machine and transport ("tcp"). The caller frees
 * *out_path.
 * Handle: HOOP_E_NOT_FOUND (neither XDG_CACHE_HOME nor HOME is an absolute
 * path).
 */
enum hoop_status
sample_store_path(const char *transport, char **out_path);

/* Returns NULL if there are no samples, or none that this build understands. */
struct samples *
sample_store_read(const char *path);

/* Handle: HOOP_E_UNAVAILABLE (the file cannot be written; the previous one
 * stays). */
enum hoop_status
sample_store_write(const char *path, const char *text, size_t n_bytes);

#endif
