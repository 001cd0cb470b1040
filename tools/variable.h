/* variable.h - variables of the environment, of which an empty one is none */

#ifndef VARIABLE_H
#define VARIABLE_H

#include <stdlib.h>

/* NULL: it is not set. */
static inline const char *
variable(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

#endif
