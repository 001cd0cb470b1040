/* base/process.h - the state of other processes, and this one's resource
 * limits */

#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

/* The liveliest state first. */
enum process_state {
    PROCESS_RUNS,    /* at least one thread runs or sleeps */
    PROCESS_STOPPED, /* by a signal or a debugger */
    PROCESS_HIDDEN,  /* /proc cannot be read: nothing is known */
    PROCESS_ENDED,   /* ended, ending, or not visible to this user */
};

/* Thread: any. */
enum process_state
process_get_state(uint32_t pid);

/* Return whether /proc as mounted here shows all processes of this namespace to
 * every user, so that a process it does not show has ended. False if it may
 * hide some, or if that is unknown. Thread: any. */
bool
process_all_are_visible(void);

/*
 * Return whether the kernel proves that the process has ended or only waits to
 * be reaped. Unlike process_get_state(), a process that /proc hides from this
 * user does not count as ended. False: it runs, or nothing is known. Thread:
 * any.
 */
bool
process_has_ended(uint32_t pid);

/*
 * Return a number that is equal in two processes if they are in the same PID
 * namespace of the same running kernel, so that a process has the same pid in
 * both. 0: not known, for example under the /proc of another namespace. Thread:
 * any.
 */
uint64_t
pid_namespace_id(void);

/*
 * Return a number that is equal in two processes if they have the same
 * CLOCK_MONOTONIC: that of the same running kernel, in the same time namespace.
 * 0: not known. Thread: any.
 */
uint64_t
monotonic_clock_id(void);

/* Processor time of all threads of a process so far; 0 where the kernel does
 * not tell. */
struct process_cpu_time {
    uint64_t ran_ns;
    uint64_t waited_ns; /* time spent waiting for a processor */
    bool is_waiting;    /* at least one thread is running or runnable now */
};

/* Thread: any. */
struct process_cpu_time
process_get_cpu_time(uint32_t pid);

enum {
    PROCESS_WHERE_MAX = 48,
};

/* What /proc shows of a process at a glance. */
struct process_glance {
    char state; /* R S D T Z, X: it is not there; 0: nothing is known */
    char where[PROCESS_WHERE_MAX]; /* S or D: the system call in which it
                                      sleeps: "futex"; "": not known */
    uint64_t swapped_kib;          /* of its memory */
};

/* Look at a process: its first thread, or R if another thread than the caller
 * runs while that one sleeps. Thread: any. */
void
process_look(uint32_t pid, struct process_glance *out_glance);

/* Return whether process_get_state() is PROCESS_STOPPED. */
bool
process_is_stopped(uint32_t pid);

/*
 * The kernel says "Too many open files", but not what the limit is or who
 * set it. If a call fails for lack of a local resource, the text for the
 * user names the limit and its value.
 */

enum {
    RESOURCE_LIMIT_TEXT = 160,
};

/* The call that failed. */
enum resource_call {
    RESOURCE_DESCRIPTOR, /* socket(), accept(), pipe(), memfd_create(), ... */
    RESOURCE_CONNECT,    /* connect() */
    RESOURCE_MAPPING,    /* mmap(), fallocate() and ftruncate() of memory */
    RESOURCE_THREAD,     /* pthread_create() */
    RESOURCE_WATCH,      /* epoll_ctl() */
};

/*
 * Return HOOP_E_EXHAUSTED if errno value error means that this process or host
 * has run out of something, HOOP_E_DENIED if the call is not permitted,
 * otherwise HOOP_E_UNAVAILABLE: the cause may be elsewhere. Thread: any.
 */
enum hoop_status
resource_error_status(enum resource_call call, int error);

/*
 * Explain error: "its process may open 17 files (RLIMIT_NOFILE, ulimit -n)",
 * where "it" is the caller; or strerror() if no limit is known to be the cause.
 * Returns out_text. Thread: any.
 */
const char *
resource_error_describe(enum resource_call call,
                        int error,
                        char out_text[RESOURCE_LIMIT_TEXT]);

#endif
