/* base/stack.h - how much stack the calling thread has left */

#ifndef BASE_STACK_H
#define BASE_STACK_H

#include <stddef.h>

/* Return the bytes between here and the end of this thread's stack. SIZE_MAX:
 * unknown, for example on a stack that the program has made itself. */
size_t
stack_bytes_left(void);

#endif
