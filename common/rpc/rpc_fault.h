/*
 * rpc/rpc_fault.h - faults injected at three points of a coordinator's call
 *
 * The points are: the call has arrived and nothing is done; its changes are
 * stored and its answer is about to leave; the client has the answer.
 * HOOP_DEBUG_FAULT says at which call, as in
 * "rank=coordinator,op=store_add,seq=3,at=send,do=kill" (fault/fault.h). A part
 * of the listeners.
 */

#ifndef RPC_RPC_FAULT_H
#define RPC_RPC_FAULT_H

#include <stdbool.h>

#include "hoop/status.h"

#include "fault/fault_rule.h"

struct faults;
struct rpc_exchange;

/* Read the faults from the environment; usually there are none, and the result
 * is NULL. Handle: as faults_create(). */
enum hoop_status
rpc_faults_create(struct faults **out_faults);

/* Inject the faults that are due at this point, to the process or to the
 * connection. Returns whether the exchange is lost: the caller must drop it. */
bool
rpc_fault_inject(struct rpc_exchange *exchange, enum fault_point point);

#endif
