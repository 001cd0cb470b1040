/*
 * rpc/envelope.h - the common part of requests and replies, and the methods
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

/* All RPC methods, in the order of the table and of docs/rpc.md; a test
 * compares the two. */
enum method_id {
    METHOD_RENDEZVOUS_JOIN,
    METHOD_RENDEZVOUS_LEAVE,
    METHOD_RENDEZVOUS_RENEW,
    METHOD_RENDEZVOUS_REPORT,
    METHOD_RENDEZVOUS_WATCH,
    METHOD_RENDEZVOUS_MEMBERS,
    METHOD_STORE_SET,
    METHOD_STORE_GET,
    METHOD_STORE_WAIT,
    METHOD_STORE_ADD,
    METHOD_STORE_COMPARE_SET,
    METHOD_STORE_DELETE,
    METHOD_STORE_MULTI_GET,
    METHOD_STORE_LIST,
    METHOD_STORE_WATCH,
    METHOD_GROUPS_CREATE,
    METHOD_GROUPS_GET,
    METHOD_GROUPS_LIST,
    METHOD_GROUPS_JOIN,
    METHOD_GROUPS_LEAVE,
    METHOD_GROUPS_AGREE,
    METHOD_GROUPS_AWAITED,
    METHOD_HEALTH_CHECK,
    METHOD_STATUS_JOBS,
    METHOD_STATUS_JOB,
    METHOD_AUTH_CHALLENGE,
    METHOD_AUTH_PROVE,
};

/* What happens if a request arrives twice because the client has sent it
 * again. */
enum method_effect {
    METHOD_READS,   /* it changes nothing and is answered again */
    METHOD_REPEATS, /* it changes something, but applying it twice does no
                       harm */
    METHOD_CHANGES, /* it is applied once; the first reply is kept and sent
                       again */
};

enum method_answer {
    METHOD_AT_ONCE,
    METHOD_LONG_POLL, /* may be parked until the request's deadline */
};

struct method {
    enum method_id id;
    const char *name; /* "hoop.v1.<Service>/<Method>" */
    enum method_effect effect;
    enum method_answer answer;
    enum role role;          /* the least privileged role that may call it */
    const char *description; /* one line */
};

/* Find a method by its name of n_name bytes, which need no final 0. NULL: there
 * is no such method. */
const struct method *
method_find(const char *name, size_t n_name);

/* Return the method's row; never NULL. */
const struct method *
method_by_id(enum method_id id);

/* The table in its order; method_by_index() returns NULL from method_count()
 * on. */
size_t
method_count(void);
const struct method *
method_by_index(size_t index);

#endif
