/* net/port_owner.h - find the process that uses a TCP port of this host */

#ifndef NET_PORT_OWNER_H
#define NET_PORT_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "net/address.h"

/*
 * Name the process that keeps others from listening on the address, according
 * to /proc: "process 12 (train)", "this process", or "a process of user 1001"
 * if only the socket's owner is known. Returns false if /proc shows none. Scans
 * the descriptors of every process, which may take milliseconds. Thread: any.
 */
bool
port_owner(const struct address *address, char out_text[LIMIT_NAME]);

/* Get this process's number in the /proc that it sees, which is valid for all
 * processes that share it. Handle: HOOP_E_UNAVAILABLE. Thread: any. */
enum hoop_status
proc_own_pid(uint32_t *out_pid);

#endif
