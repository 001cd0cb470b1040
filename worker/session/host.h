/* session/host.h - which host this is: for people, and to compare */

#ifndef SESSION_HOST_H
#define SESSION_HOST_H

#include "base/limits.h"

/* Its name, for people; never empty. */
void
host_name(char out_name[LIMIT_NAME]);

/*
 * Equal for two processes that may share memory and reach each other without
 * a network: the kernel's boot id and this network namespace, since workers
 * in separate containers are as good as on separate hosts, but for their
 * processors (transport/roster.h). node, if not empty, takes its place:
 * HOOP_NODE.
 */
void
host_id(const char *node, char out_id[LIMIT_NAME]);

#endif
