/* net/port_owner.h - who has a TCP port of this host */

#ifndef NET_PORT_OWNER_H
#define NET_PORT_OWNER_H

#include <stdbool.h>

#include "base/limits.h"
#include "net/address.h"

/*
 * Tell which process keeps others from listening on the address, as /proc shows
 * it: "process 12 (train)", "this process", or "a process of user 1001" where
 * only the socket's owner is known. False: /proc shows none. Looks at every
 * process's descriptors, which may take milliseconds. Thread: any.
 */
bool
port_owner(const struct address *address, char out_text[LIMIT_NAME]);

#endif
