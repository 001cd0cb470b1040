/*
 * session/fork.h - what a forked child does with its parent's sessions
 *
 * The child closes their descriptors, so that peers notice when the parent
 * dies, and marks the sessions as dead. It frees nothing: a thread of the
 * parent, which the child does not have, may have been changing them at the
 * fork.
 */

#ifndef SESSION_FORK_H
#define SESSION_FORK_H

#include <sys/queue.h>

/* Embedded in a session. The session sets on_fork_child and owner; fork.c
 * uses the rest. */
struct fork_watch {
    LIST_ENTRY(fork_watch) link;
    /* runs in the child, which has a single thread */
    void (*on_fork_child)(void *owner);
    void *owner;
};

/* Start and stop calling watch->on_fork_child in forked children. Thread:
 * any. */
void
fork_watch_start(struct fork_watch *watch);
void
fork_watch_stop(struct fork_watch *watch);

#endif
