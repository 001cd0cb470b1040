/*
 * transport/handshake.h - two peers prove to each other that they belong
 *
 *   dialer                            acceptor
 *   HELLO      who, for whom, nonce ->
 *                                  <- CHALLENGE  nonce
 *   PROOF      MAC ->
 *                                  <- WELCOME    verdict, MAC
 *
 * Each message is HANDSHAKE_BYTES long and begins with its own eight letters;
 * nothing else is read, and nothing is allocated, before the MAC is right. The
 * MACs are HMAC-SHA256 with a key made of the job's token, name and epoch,
 * over role, both nonces, both identities, what the message offers and, under
 * TLS, what only this connection's ends know: one of another job, epoch, rank
 * or connection proves nothing, and nobody in between can pass it on. Who does
 * not know the token learns only that something listens. docs/wire-format.md has the bytes.
 *
 * Pure: no sockets. Thread: any, one at a time for a handshake.
 */

#ifndef TRANSPORT_HANDSHAKE_H
#define TRANSPORT_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "net/tls.h"
#include "transport/roster.h"

enum {
    HANDSHAKE_BYTES = 128,
    HANDSHAKE_NONCE = 32,
    HANDSHAKE_OFFER =
        62, /* of PROOF and WELCOME: transport/shm_negotiation.h */
};

/* What the acceptor answers at the end. */
enum handshake_answer {
    HANDSHAKE_WELCOME = 0,
    HANDSHAKE_DUPLICATE = 1, /* the other side's own dial goes first */
    HANDSHAKE_REFUSED = 2,   /* no such rank, or it is lost here */
    HANDSHAKE_NO_SHM = 3, /* one insists on shared memory: shm_negotiation.h */
    HANDSHAKE_EXHAUSTED = 4, /* no descriptor is left; the offer is a text */
};

struct handshake_key {
    uint8_t bytes[HMAC_BYTES];
};

/* The job's key for its peers, and the one for their TLS. */
enum hoop_status
handshake_key_init(struct handshake_key *key,
                   const char *token,
                   const struct roster *roster);

enum hoop_status
handshake_tls_key(const char *token,
                  const struct roster *roster,
                  uint8_t out_key[TLS_KEY_BYTES]);

/* What a dialer of a rank says who it is, by which its TLS's key is made. */
void
handshake_identity(const struct roster *roster,
                   uint32_t from,
                   uint32_t to,
                   char out_text[LIMIT_NAME]);

struct handshake {
    const struct handshake_key *key; /* borrowed */
    const struct roster *roster;     /* borrowed */
    uint32_t peer;   /* dialer: whom it calls; acceptor: known from HELLO */
    uint32_t stream; /* likewise: 0: the first connection, else one beside it */
    uint8_t binding[TLS_BINDING_BYTES]; /* of the connection's TLS ... */
    size_t n_binding;                   /* ... or 0 */
    uint8_t hello[HANDSHAKE_BYTES];
    uint8_t challenge[HANDSHAKE_BYTES];
    uint8_t offer[HANDSHAKE_OFFER]; /* what is told next, or was told last */
};

/* The dialer's side: what to send, what to make of the answers. */
enum hoop_status
handshake_hello(struct handshake *handshake, uint8_t out[HANDSHAKE_BYTES]);
/* Handle: HOOP_E_DATA_LOSS (no peer of hoop), HOOP_E_PRECONDITION (another
 * version, epoch, rank or incarnation; the text names it). */
enum hoop_status
handshake_prove(struct handshake *handshake,
                const uint8_t in[HANDSHAKE_BYTES],
                uint8_t out[HANDSHAKE_BYTES]);
/* Handle: HOOP_E_UNAUTHENTICATED, HOOP_E_DATA_LOSS. */
enum hoop_status
handshake_finish(struct handshake *handshake,
                 const uint8_t in[HANDSHAKE_BYTES],
                 enum handshake_answer *out_answer);

/* The acceptor's side. Handle: as above. With HOOP_E_PRECONDITION (version,
 * epoch, ranks or incarnation) out is an answer worth sending all the same. */
enum hoop_status
handshake_challenge(struct handshake *handshake,
                    const uint8_t in[HANDSHAKE_BYTES],
                    uint8_t out[HANDSHAKE_BYTES]);
/* HOOP_OK: the peer is who it says; handshake->peer is its rank.
 * Handle: HOOP_E_UNAUTHENTICATED, HOOP_E_DATA_LOSS. */
enum hoop_status
handshake_verify(struct handshake *handshake,
                 const uint8_t in[HANDSHAKE_BYTES]);
enum hoop_status
handshake_answer(const struct handshake *handshake,
                 enum handshake_answer answer,
                 uint8_t out[HANDSHAKE_BYTES]);

#endif
