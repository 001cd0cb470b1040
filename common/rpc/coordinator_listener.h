/* rpc/coordinator_listener.h - connections under TLS as a source of exchanges */

#ifndef RPC_COORDINATOR_LISTENER_H
#define RPC_COORDINATOR_LISTENER_H

#include "rpc/rpc_listener.h"

/* As rpc_listener_create(), which calls it; options->seal is not NULL. */
enum hoop_status
coordinator_listener_create(const struct rpc_listener_options *options,
                            struct rpc_listener **out_listener);

#endif
