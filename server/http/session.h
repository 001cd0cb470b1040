/*
 * http/session.h - browsers that have shown a token
 *
 * A session is a random id, which the browser keeps in a cookie instead of the
 * token. It counts for LIMIT_HTTP_SESSION_MS. If there are too many, the oldest
 * one ends.
 *
 * Thread: calls must not overlap.
 */

#ifndef HTTP_SESSION_H
#define HTTP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "http/request.h"

enum {
    SESSION_ID_BYTES = 32,
    SESSION_ID_TEXT = 2 * SESSION_ID_BYTES + 1, /* in hex, with the final 0 */
};

struct session {
    char id[SESSION_ID_TEXT];
    uint64_t expires_ns; /* 0: there is none */
};

/* Zeroed: there are none. */
struct sessions {
    struct session items[LIMIT_HTTP_SESSIONS];
};

/* Handle: HOOP_E_UNAVAILABLE (no random bytes). */
enum hoop_status
sessions_create(struct sessions *sessions,
                uint64_t now_ns,
                char out_id[SESSION_ID_TEXT]);

/* Return whether the value of a Cookie field names a session in this cookie, of
 * which a browser may have several: another host of the domain can set one for
 * all of them. The time taken tells nothing of ids. */
bool
sessions_have(const struct sessions *sessions,
              struct http_text_slice cookies,
              const char *name,
              uint64_t now_ns);

#endif
