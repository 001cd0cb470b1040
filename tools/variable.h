/* variable.h - reads environment variables; an empty one counts as unset */

#ifndef VARIABLE_H
#define VARIABLE_H

#include <stdlib.h>

/* Returns NULL if the variable is not set. */
static inline const char *
variable(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

#endif
