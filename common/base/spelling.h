/*
 * base/spelling.h - warn about misspelt environment variables
 *
 * A misspelt variable is silently ignored by code that reads the environment by
 * name. So this looks at all names that begin with HOOP_ and reports the
 * unknown ones.
 */

#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

#include <stddef.h>

/*
 * Return the name that is most similar to word, if at most a third of the
 * word's letters differ; NULL: there is none. names may contain NULL.
 */
const char *
spelling_nearest(const char *word, const char *const *names, size_t n_names);

/* Called with "HOOP_TIMEOT is not a setting of hoop; do you mean
 * HOOP_TIMEOUT?". */
typedef void
spelling_fn(void *owner, const char *text);

/*
 * Check variables in the form of environ ("NAME=value", ended by NULL; or
 * NULL), and call fn for each that begins with HOOP_ but is unknown to hoop's
 * programs. Variables of hoop's tests, and those that Kubernetes sets for a
 * service whose name begins with hoop, are ignored. Returns how many were
 * reported.
 */
size_t
spelling_check(const char *const *variables, spelling_fn *fn, void *owner);

/*
 * Check this process's environment once and log the result, even though the
 * library otherwise logs nothing by default, unless HOOP_LOG is off or error.
 */
void
spelling_warn(void);

#endif
