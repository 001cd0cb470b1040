/*
 * rpc/rpc_inbox.h - calls that other threads leave for a client, and wait for
 *
 * A part of rpc_client.c: use rpc_client_call_wait().
 */

#ifndef RPC_RPC_INBOX_H
#define RPC_RPC_INBOX_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct loop;
struct rpc_call;
struct rpc_client;
struct rpc_inbox;

struct rpc_inbox_answer {
    uint8_t *body; /* the caller frees it */
    size_t n_body;
};

/* client is borrowed until rpc_inbox_close(). */
enum hoop_status
rpc_inbox_create(struct loop *loop,
                 struct rpc_client *client,
                 struct rpc_inbox **out_inbox);

/* Answers CANCELLED what has not been called yet. NULL is fine. */
void
rpc_inbox_close(struct rpc_inbox *inbox);
void
rpc_inbox_destroy(struct rpc_inbox *inbox);

/*
 * Have the loop's thread call, and wait for the answer. A status that is not
 * HOOP_OK is the answer's, its message the error text. Thread: any but the
 * loop's.
 */
enum hoop_status
rpc_inbox_call(struct rpc_inbox *inbox,
               const struct rpc_call *call,
               struct rpc_inbox_answer *out_answer);

#endif
