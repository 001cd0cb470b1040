/* base/stack.c - how much stack the calling thread has left */

#include "base/stack.h"

#include <pthread.h>
#include <stdint.h>

#include "base/cancel.h"

/* For the main thread this reads files of the kernel, so call it rarely. */
size_t
stack_bytes_left(void)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t n_bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return SIZE_MAX;
    pthread_attr_getstack(&attributes, &begin, &n_bytes);
    pthread_attr_destroy(&attributes);
    const size_t left = here - (uintptr_t)begin;
    return here < (uintptr_t)begin || left > n_bytes ? SIZE_MAX : left;
}
