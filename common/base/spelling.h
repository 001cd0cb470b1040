/*
 * base/spelling.h - variables that are meant to be settings, and are none
 *
 * A misspelt variable is ignored in silence by everybody who reads the
 * environment by name. So somebody reads all names that begin like ours, and
 * says which of them nobody knows.
 */

#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

#include <stddef.h>

/*
 * The one of n_names names that is most like word, where no more than a third of
 * the word's letters are wrong; NULL: none is. Names may be NULL.
 */
const char *
spelling_nearest(const char *word, const char *const *names, size_t n_names);

/* "HOOP_TIMEOT is not a setting of hoop; do you mean HOOP_TIMEOUT?" */
typedef void
spelling_fn(void *owner, const char *text);

/*
 * Looks at variables ("NAME=value", ended by NULL; NULL: none), as environ, and
 * tells fn about each that begins with HOOP_ and means nothing to any program
 * of hoop. Those of its tests, and those that Kubernetes sets for a service
 * whose name begins with hoop, are let be. How many there were.
 */
size_t
spelling_check(const char *const *variables, spelling_fn *fn, void *owner);

/*
 * The same for this process's environment, once in its life; in the log, also
 * of a library that logs nothing by itself, unless HOOP_LOG says off or error.
 */
void
spelling_warn(void);

#endif
