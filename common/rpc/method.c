/* rpc/method.c - find the row of a method */

#include "rpc/method.h"

#include <assert.h>
#include <string.h>

#define METHOD_ROW(number, name, effect, need, answer, role, request, reply,   \
                   text, event)                                                \
    [number] = {number,                                                        \
                name,                                                          \
                effect,                                                        \
                need,                                                          \
                answer,                                                        \
                role,                                                          \
                request##_descriptor,                                          \
                reply##_descriptor,                                            \
                text},
static const struct method methods[METHOD_COUNT] = {
    METHODS(METHOD_ROW, METHOD_ROW)};

const struct method *
method_find(const char *name, size_t n_name)
{
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        if (strlen(methods[i].name) == n_name &&
            memcmp(methods[i].name, name, n_name) == 0)
            return &methods[i];
    }
    return NULL;
}

const struct method *
method_by_id(enum method_id id)
{
    assert((size_t)id < METHOD_COUNT);
    return &methods[id];
}
