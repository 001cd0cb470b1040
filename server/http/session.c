/* http/session.c - browsers that have shown a token */

#include "http/session.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

static struct session *
session_to_replace(struct sessions *sessions)
{
    struct session *oldest = &sessions->items[0];

    for (size_t i = 1; i < COUNT_OF(sessions->items); i++) {
        if (sessions->items[i].expires_ns < oldest->expires_ns)
            oldest = &sessions->items[i];
    }
    return oldest;
}

enum hoop_status
sessions_create(struct sessions *sessions,
                uint64_t now_ns,
                char out_id[SESSION_ID_TEXT])
{
    uint8_t bytes[SESSION_ID_BYTES];
    struct session *session = session_to_replace(sessions);

    const enum hoop_status status = random_fill(bytes, sizeof(bytes));
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(session->id + 2 * i, 3, "%02x", bytes[i]);
    session->expires_ns = now_ns + LIMIT_HTTP_SESSION_MS * CLOCK_NS_PER_MS;
    memcpy(out_id, session->id, SESSION_ID_TEXT);
    return HOOP_OK;
}

/* Compare with every session, and every byte of it. */
static bool
session_id_is_known(const struct sessions *sessions,
                    struct http_text_slice id,
                    uint64_t now_ns)
{
    unsigned n_found = 0;

    if (id.n_bytes != SESSION_ID_TEXT - 1)
        return false;
    for (size_t i = 0; i < COUNT_OF(sessions->items); i++) {
        const struct session *session = &sessions->items[i];
        unsigned difference = 0;

        for (size_t j = 0; j < id.n_bytes; j++)
            difference |=
                (unsigned char)id.at[j] ^ (unsigned char)session->id[j];
        n_found += difference == 0 && now_ns < session->expires_ns;
    }
    return n_found > 0;
}

bool
sessions_have(const struct sessions *sessions,
              struct http_text_slice cookies,
              const char *name,
              uint64_t now_ns)
{
    const size_t n_name = strlen(name);

    while (cookies.n_bytes > 0) {
        const char *end = memchr(cookies.at, ';', cookies.n_bytes);
        const size_t n_pair =
            end ? (size_t)(end - cookies.at) : cookies.n_bytes;

        if (n_pair > n_name && memcmp(cookies.at, name, n_name) == 0 &&
            cookies.at[n_name] == '=' &&
            session_id_is_known(
                sessions,
                (struct http_text_slice){cookies.at + n_name + 1,
                                         n_pair - n_name - 1},
                now_ns))
            return true;
        cookies.at += n_pair;
        cookies.n_bytes -= n_pair;
        while (cookies.n_bytes > 0 &&
               (cookies.at[0] == ';' || cookies.at[0] == ' ')) {
            cookies.at++;
            cookies.n_bytes--;
        }
    }
    return false;
}
