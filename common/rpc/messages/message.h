/*
 * rpc/messages/message.h - conventions of the typed request and reply bodies
 *
 * A body is one msgpack array with the fields in the order of the struct
 * (docs/rpc.md). Fields are only ever added at the end, and a reader skips
 * fields it does not know, so that a newer side can talk to an older one.
 *
 * For every message there is
 *     void x_encode(const struct x *, struct pack *)      latches errors in pack
 *     enum hoop_status x_decode(struct message_span, struct x *out)
 * Decoders read untrusted bytes: every count is checked against the remaining
 * bytes before memory is allocated. Spans in a decoded message point into those
 * bytes and live as long as they do; texts are copied. A message with a list
 * has an x_deinit().
 *
 * Handle (all decoders): HOOP_E_DATA_LOSS (not such a message). *out is written
 * only on HOOP_OK. Thread: any.
 */

#ifndef RPC_MESSAGES_MESSAGE_H
#define RPC_MESSAGES_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct pack;

/* Borrowed bytes: a key, a value or a whole body. */
struct message_span {
    const uint8_t *bytes;
    size_t n_bytes;
};

#endif
