/*
 * net/host_ranks.h - how many ranks of any job are on this host
 *
 * Each holds a socket in the abstract namespace whose name says that it is
 * one, and the kernel lists them. It takes them away with the process, however
 * that ends. Ranks in other network namespaces are not seen.
 */

#ifndef NET_HOST_RANKS_H
#define NET_HOST_RANKS_H

#include <stdint.h>

/* From now on the caller is counted, until socket_close(). -1: it is not. */
int
host_ranks_register(void);

/* Those that can be seen. 0: it is not known. */
uint32_t
host_ranks_count(void);

#endif
