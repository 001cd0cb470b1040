/*
 * rpc/rpc_fault.h - the coordinator fails on demand, at three moments of a call
 *
 * A call has come, and nothing was done; what it has changed is kept, and its
 * answer is about to leave; who asked has the answer. HOOP_DEBUG_FAULT says at which
 * call, "rank=coordinator,op=store_add,seq=3,at=send,do=kill" (fault/fault.h). A
 * part of the listeners.
 */

#ifndef RPC_RPC_FAULT_H
#define RPC_RPC_FAULT_H

#include <stdbool.h>

#include "hoop/status.h"

#include "fault/fault_rule.h"

struct faults;
struct rpc_exchange;

/* The environment's; NULL, mostly: none. Handle: as faults_create(). */
enum hoop_status
rpc_faults_create(struct faults **out_faults);

/* What is to happen to the process, does; what is to happen to the connection,
 * too. Whether the exchange is lost with it: drop it. */
bool
rpc_fault_takes(struct rpc_exchange *exchange, enum fault_point point);

#endif
