/*
 * rpc/envelope.h - what every request and reply carries around its body
 *
 * Request, a msgpack array:
 *     [version, method, client, id, deadline_ms, [key, value, ...], body]
 * Reply:
 *     [version, id, status, message, body]
 * docs/rpc.md is normative. Later fields are skipped, so that a newer side
 * may talk to an older one.
 */

#ifndef RPC_ENVELOPE_H
#define RPC_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"

enum {
    ENVELOPE_VERSION = 2,
    /* Before it, requests carried the token. */
    ENVELOPE_VERSION_TOKEN_PROVED = 2,
    ENVELOPE_CLIENT_BYTES = 16,
};

/* Who asks: 128 random bits for the life of a client. */
struct envelope_client {
    uint8_t bytes[ENVELOPE_CLIENT_BYTES];
};

struct envelope_request {
    char method[LIMIT_NAME]; /* "hoop.v1.Store/Get" */
    struct envelope_client client;
    uint64_t id;          /* 1, 2, ... of this client; the same in a retry */
    uint64_t deadline_ms; /* left when it was sent */
    char job[LIMIT_NAME]; /* metadata "job", or empty */
    struct message_span body; /* borrowed */
    uint64_t version;         /* of one that is refused for it; else 0 */
};

struct envelope_reply {
    uint64_t version;        /* 0: the present one */
    uint64_t id;             /* of the request; 0: it could not be read */
    enum hoop_status status; /* 0 to 16 */
    char message[LIMIT_ERROR_TEXT]; /* empty if OK */
    struct message_span body;       /* borrowed */
};

/* The caller frees *out_bytes. Handle: HOOP_E_EXHAUSTED (LIMIT_RPC_MESSAGE,
 * or no memory). */
enum hoop_status
envelope_request_encode(const struct envelope_request *request,
                        uint8_t **out_bytes,
                        size_t *out_n_bytes);

/*
 * Handle: HOOP_E_UNIMPLEMENTED (another version; *out_request then holds the
 * version, and the id, if it could be found), HOOP_E_DATA_LOSS (not a request,
 * or one that carries a token).
 */
enum hoop_status
envelope_request_decode(struct message_span in,
                        struct envelope_request *out_request);

/* A status above 16 travels as UNKNOWN. Handle: as for requests. */
enum hoop_status
envelope_reply_encode(const struct envelope_reply *reply,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes);

/* Handle: HOOP_E_DATA_LOSS (not a reply), HOOP_E_UNIMPLEMENTED (of another
 * version; the text says what to do). */
enum hoop_status
envelope_reply_decode(struct message_span in, struct envelope_reply *out_reply);

#endif
