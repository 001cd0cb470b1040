/* base/process.h - other processes of this host, as the kernel shows them */

#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* It is there, and stopped by a signal or a debugger. Thread: any. */
bool
process_is_stopped(uint32_t pid);

#endif
