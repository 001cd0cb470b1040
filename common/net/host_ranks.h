/*
 * net/host_ranks.h - count the ranks of all jobs on this host
 *
 * Each rank holds a socket in the abstract namespace whose name marks it as a
 * rank, and the kernel lists these sockets. The kernel removes them when the
 * process ends, however it ends. Ranks in other network namespaces are not
 * seen.
 */

#ifndef NET_HOST_RANKS_H
#define NET_HOST_RANKS_H

#include <stdint.h>

/* Count the caller as a rank until it calls socket_close() on the result. -1:
 * it is not counted. */
int
host_ranks_register(void);

/* Return the number of visible ranks. 0: not known. */
uint32_t
host_ranks_count(void);

#endif
