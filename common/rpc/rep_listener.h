/* rpc/rep_listener.h - NNG's REP socket as a source of exchanges on a loop */

#ifndef RPC_REP_LISTENER_H
#define RPC_REP_LISTENER_H

#include "rpc/rpc_listener.h"

/* As rpc_listener_create(), which calls it. */
enum hoop_status
rep_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener);

#endif
