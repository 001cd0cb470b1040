/*
 * net/descriptor.h - track open descriptors, so that a forked child can close
 * them
 *
 * A forked child inherits every socket, and while it lives no peer sees its
 * parent die. Code that opens a descriptor that must not survive a fork tracks
 * it here. descriptor_close_all() in the child closes them without touching the
 * structures that own them, which other threads may have been changing.
 *
 * Thread: any, except descriptor_close_all().
 */

#ifndef NET_DESCRIPTOR_H
#define NET_DESCRIPTOR_H

/* -1 is allowed for both. Without memory a descriptor is not tracked. */
void
descriptor_track(int fd);
void
descriptor_close(int fd);

/* Hold the lock around a fork, so that no other thread changes the set
 * meanwhile. */
void
descriptor_lock(void);
void
descriptor_unlock(void);
/* Call with the lock, in the child, which has only one thread. */
void
descriptor_close_all(void);

#endif
