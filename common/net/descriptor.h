/*
 * net/descriptor.h - which descriptors are ours, so that a fork can drop them
 *
 * A forked child inherits every socket, and as long as it lives no peer sees
 * its parent die. Whoever opens a descriptor that must not outlive a fork says
 * so here; descriptor_close_all() in the child closes them without touching
 * the structures that own them, which other threads may have been changing.
 *
 * Thread: any, except descriptor_close_all().
 */

#ifndef NET_DESCRIPTOR_H
#define NET_DESCRIPTOR_H

/* -1 is fine for both. Without memory a descriptor is not tracked. */
void
descriptor_track(int fd);
void
descriptor_close(int fd);

/* Around a fork: nobody else changes the set meanwhile. */
void
descriptor_lock(void);
void
descriptor_unlock(void);
/* Under the lock, in the child, where no other thread is left. */
void
descriptor_close_all(void);

#endif
