/*
 * rpc/rpc_call_queue.h - blocking calls that other threads make through a
 * client's loop
 *
 * A part of rpc_client.c: use rpc_client_call_wait().
 */

#ifndef RPC_RPC_CALL_QUEUE_H
#define RPC_RPC_CALL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct loop;
struct rpc_call;
struct rpc_client;
struct rpc_call_queue;

struct rpc_call_queue_answer {
    uint8_t *body; /* the caller frees it */
    size_t n_body;
};

/* client is borrowed until rpc_call_queue_close(). */
enum hoop_status
rpc_call_queue_create(struct loop *loop,
                      struct rpc_client *client,
                      struct rpc_call_queue **out_call_queue);

/* Answer HOOP_E_CANCELLED to calls that have not been started. NULL is
 * allowed. */
void
rpc_call_queue_close(struct rpc_call_queue *call_queue);
void
rpc_call_queue_destroy(struct rpc_call_queue *call_queue);

/*
 * Have the loop's thread make the call, and wait for the answer. Returns the
 * answer's status, with its message as the error text. Thread: any but the
 * loop's.
 */
enum hoop_status
rpc_call_queue_call(struct rpc_call_queue *call_queue,
                    const struct rpc_call *call,
                    struct rpc_call_queue_answer *out_answer);

#endif
