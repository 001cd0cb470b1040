/* session/host.h - the name of this host, and an id to compare hosts by */

#ifndef SESSION_HOST_H
#define SESSION_HOST_H

#include "base/limits.h"

/* The host's name, for messages. Never empty. */
void
host_name(char out_name[LIMIT_NAME]);

/*
 * Write an id that is equal for two processes if they may share memory and
 * reach each other without a network. It consists of the kernel's boot id and
 * the network namespace: workers in separate containers count as being on
 * separate hosts, except for their processors (transport/roster.h). A node that
 * is not empty (HOOP_NODE) replaces the id.
 */
void
host_id(const char *node, char out_id[LIMIT_NAME]);

#endif
