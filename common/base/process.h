/* base/process.h - other processes of this host, as the kernel shows them */

#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* The liveliest first. */
enum process_state {
    PROCESS_RUNS,    /* one of its threads does, or waits */
    PROCESS_STOPPED, /* by a signal or a debugger */
    PROCESS_HIDDEN,  /* /proc cannot be read here: nothing is known */
    PROCESS_ENDED,   /* ... or is ending, or is not shown to this user */
};

/* Thread: any. */
enum process_state
process_look(uint32_t pid);

/* /proc, as it is mounted here, hides no process of this namespace from anybody:
 * who is not shown has ended. False where it may, or that is not known. Thread:
 * any. */
bool
process_shows_all(void);

/*
 * Whether the kernel proves that there is no process of this number any more, or
 * that it only waits to be reaped. Unlike process_look() it does not take one for
 * ended that /proc hides from this user. False: it runs, or nothing is known.
 * Thread: any.
 */
bool
process_has_ended(uint32_t pid);

/*
 * Equal in two processes, and not 0, where both give a process the same number:
 * they are in one PID namespace of one running kernel. 0 where that is not known,
 * as under a /proc of another namespace. Thread: any.
 */
uint64_t
process_space(void);

/* What its threads have had of processors, all together and ever; 0 where the
 * kernel does not tell. */
struct process_share {
    uint64_t ran_ns;
    uint64_t waited_ns; /* for one, before they ran */
    bool is_waiting;    /* one of them could run now, or does */
};

/* Thread: any. */
struct process_share
process_share_of(uint32_t pid);

/* process_look() says PROCESS_STOPPED. */
bool
process_is_stopped(uint32_t pid);

#endif
