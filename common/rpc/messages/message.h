/*
 * rpc/messages/message.h - what the typed request and reply bodies share
 *
 * A body is one msgpack array whose fields stand in the order in which the
 * struct lists them (docs/rpc.md). Fields are only ever added at the end: a
 * reader passes over those it does not know, so that a newer side may talk to
 * an older one.
 *
 * For every message there is
 *     void x_encode(const struct x *, struct pack *)      latches in the pack
 *     enum hoop_status x_decode(struct message_span, struct x *out)
 * Decoding reads bytes from outside: every count is checked against the bytes
 * that are left before anything is allocated. Spans in a decoded message
 * point into those bytes and live as long as they do; texts are copied. A
 * message with a list has an x_deinit().
 *
 * Handle (all decoders): HOOP_E_DATA_LOSS (not such a message). *out is
 * written only on HOOP_OK. Thread: any.
 */

#ifndef RPC_MESSAGES_MESSAGE_H
#define RPC_MESSAGES_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct pack;

/* Borrowed bytes: a key, a value, a whole body. */
struct message_span {
    const uint8_t *bytes;
    size_t n_bytes;
};

#endif
