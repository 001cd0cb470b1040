/* base/process.h - other processes of this host, as the kernel shows them */

#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum process_state {
    PROCESS_RUNS,    /* as far as can be seen */
    PROCESS_STOPPED, /* by a signal or a debugger */
    PROCESS_ENDED,   /* ... or is ending: it does nothing any more */
};

/* Thread: any. */
enum process_state
process_look(uint32_t pid);

/* process_look() says PROCESS_STOPPED. */
bool
process_is_stopped(uint32_t pid);

#endif
