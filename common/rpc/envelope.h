/*
 * rpc/envelope.h - the common part of requests and replies
 *
 * Request, a msgpack array:
 *     [version, method, client, id, deadline_ms, [key, value, ...], body]
 * Reply:
 *     [version, id, status, message, body]
 * docs/rpc.md is normative. Additional fields at the end are skipped, so that a
 * newer side can talk to an older one.
 */

#ifndef RPC_ENVELOPE_H
#define RPC_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "base/role.h"
#include "rpc/messages/message.h"

enum {
    ENVELOPE_VERSION = 2,
    /* Requests of earlier versions carried the token. */
    ENVELOPE_VERSION_TOKEN_PROVED = 2,
    ENVELOPE_CLIENT_BYTES = 16,
};

/* Identifies a client: 128 random bits. */
struct envelope_client {
    uint8_t bytes[ENVELOPE_CLIENT_BYTES];
};

struct envelope_request {
    char method[LIMIT_NAME]; /* "hoop.v1.Store/Get" */
    struct envelope_client client;
    uint64_t id;              /* 1, 2, ... per client; the same in a retry */
    uint64_t deadline_ms;     /* time left when the request was sent */
    char job[LIMIT_NAME];     /* metadata "job", or empty */
    struct message_span body; /* borrowed */
    uint64_t version;         /* if refused for its version: that version;
                                 else 0 */
};

struct envelope_reply {
    uint64_t version;        /* 0: the current one */
    uint64_t id;             /* of the request; 0: it could not be read */
    enum hoop_status status; /* 0 to 16 */
    char message[LIMIT_ERROR_TEXT]; /* empty if HOOP_OK */
    struct message_span body;       /* borrowed */
};

/* Encode a request. The caller frees *out_bytes. Handle: HOOP_E_EXHAUSTED
 * (larger than LIMIT_RPC_MESSAGE, or no memory). */
enum hoop_status
envelope_request_encode(const struct envelope_request *request,
                        uint8_t **out_bytes,
                        size_t *out_n_bytes);

/*
 * Decode a request.
 * Handle: HOOP_E_UNIMPLEMENTED (another version; *out_request holds the
 * version, and the id if it could be found), HOOP_E_DATA_LOSS (not a request,
 * or one that carries a token).
 */
enum hoop_status
envelope_request_decode(struct message_span in,
                        struct envelope_request *out_request);

/* Encode a reply. A status above 16 is sent as UNKNOWN. Handle: as for
 * requests. */
enum hoop_status
envelope_reply_encode(const struct envelope_reply *reply,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes);

/* Decode a reply. Handle: HOOP_E_DATA_LOSS (not a reply), HOOP_E_UNIMPLEMENTED
 * (another version; the text says what to do). */
enum hoop_status
envelope_reply_decode(struct message_span in, struct envelope_reply *out_reply);

#endif
