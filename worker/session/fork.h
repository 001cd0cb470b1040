/*
 * session/fork.h - what a forked child does with its parent's sessions
 *
 * It closes their descriptors, lest peers wait for a parent that has died, and
 * marks them dead. Nothing of them is freed: other threads, which the child
 * does not have, may have been in the middle of changing them.
 */

#ifndef SESSION_FORK_H
#define SESSION_FORK_H

#include <sys/queue.h>

/* A member of the session; members are fork.c's, but on_child and owner. */
struct fork_watch {
    LIST_ENTRY(fork_watch) link;
    void (*on_child)(void *owner); /* in the child, which has one thread */
    void *owner;
};

/* Thread: any, for both. */
void
fork_watch_start(struct fork_watch *watch);
void
fork_watch_stop(struct fork_watch *watch);

#endif
