/*
 * transport/connect/handshake.h - two peers prove that they belong to the job
 *
 *   dialer                            acceptor
 *   HELLO      who, for whom, nonce ->
 *                                  <- CHALLENGE  nonce
 *   PROOF      MAC ->
 *                                  <- WELCOME    answer, MAC
 *
 * Each message is HANDSHAKE_MESSAGE_BYTES long and begins with its own eight letters.
 * Nothing else is read, and nothing is allocated, before the MAC has been
 * verified. The MACs are HMAC-SHA256. Their key is made of the job's token,
 * name and epoch. They cover the role, both nonces, both identities, what the
 * message offers and, under TLS, what only the two ends of this connection
 * know. So a MAC of another job, epoch, rank or connection proves nothing, and
 * nobody in between can pass it on. A stranger without the token learns only
 * that something listens. docs/wire-format.md has the bytes.
 *
 * Pure: no sockets. Thread: any, one at a time for a handshake.
 */

#ifndef TRANSPORT_CONNECT_HANDSHAKE_H
#define TRANSPORT_CONNECT_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "net/tls.h"
#include "transport/roster.h"

enum {
    HANDSHAKE_MESSAGE_BYTES = 128,
    HANDSHAKE_NONCE_BYTES = 32,
    HANDSHAKE_OFFER_BYTES =
        62, /* in PROOF and WELCOME: transport/shm/negotiation.h */
};

/* What the acceptor answers at the end. */
enum handshake_answer {
    HANDSHAKE_WELCOME = 0,
    HANDSHAKE_DUPLICATE = 1, /* the other side's own dial has priority */
    HANDSHAKE_REFUSED = 2,   /* the rank does not exist, or is lost here */
    /* A side that insists on shared memory cannot have it. */
    HANDSHAKE_NO_SHM = 3,
    /* No descriptor is left; the offer is a text that says so. */
    HANDSHAKE_EXHAUSTED = 4,
};

struct handshake_key {
    uint8_t bytes[HMAC_BYTES];
};

/* Make the job's key for its peers, and the one for their TLS. token may be
 * dropped afterwards. */
enum hoop_status
handshake_key_init(struct handshake_key *key,
                   const char *token,
                   const struct roster *roster);

enum hoop_status
handshake_derive_tls_key(const char *token,
                         const struct roster *roster,
                         uint8_t out_key[TLS_KEY_BYTES]);

/* Write the text by which a dialer, from, identifies itself to the acceptor,
 * to; the key of their TLS is made of it. */
void
handshake_format_identity(const struct roster *roster,
                          uint32_t from,
                          uint32_t to,
                          char out_text[LIMIT_NAME]);

struct handshake {
    const struct handshake_key *key; /* borrowed */
    const struct roster *roster;     /* borrowed */
    uint32_t peer;   /* dialer: whom it dials; acceptor: known from HELLO */
    uint32_t stream; /* likewise; 0: the first connection, else one beside it */
    uint8_t binding[TLS_BINDING_BYTES]; /* of the connection's TLS */
    size_t n_binding;                   /* 0: no TLS */
    uint8_t hello[HANDSHAKE_MESSAGE_BYTES];
    uint8_t challenge[HANDSHAKE_MESSAGE_BYTES];
    uint8_t
        offer[HANDSHAKE_OFFER_BYTES]; /* what to send next, or what came last */
};

/* The dialer's side. Write the HELLO. */
enum hoop_status
handshake_write_hello(struct handshake *handshake,
                      uint8_t out[HANDSHAKE_MESSAGE_BYTES]);
/* Check the CHALLENGE in, and write the PROOF. Handle: HOOP_E_DATA_LOSS (the
 * other side is no peer of hoop), HOOP_E_PRECONDITION (another version, epoch,
 * rank or incarnation; the text names it). */
enum hoop_status
handshake_write_proof(struct handshake *handshake,
                      const uint8_t in[HANDSHAKE_MESSAGE_BYTES],
                      uint8_t out[HANDSHAKE_MESSAGE_BYTES]);
/* Check the WELCOME in. Handle: HOOP_E_UNAUTHENTICATED, HOOP_E_DATA_LOSS. */
enum hoop_status
handshake_verify_welcome(struct handshake *handshake,
                         const uint8_t in[HANDSHAKE_MESSAGE_BYTES],
                         enum handshake_answer *out_answer);

/* The acceptor's side. Check the HELLO in, and write the CHALLENGE. Handle: as
 * handshake_write_proof(). With HOOP_E_PRECONDITION (version, epoch, ranks or
 * incarnation) out is an answer to send all the same. */
enum hoop_status
handshake_write_challenge(struct handshake *handshake,
                          const uint8_t in[HANDSHAKE_MESSAGE_BYTES],
                          uint8_t out[HANDSHAKE_MESSAGE_BYTES]);
/* Check the PROOF in. HOOP_OK: the peer is who it says; handshake->peer is its
 * rank. Handle: HOOP_E_UNAUTHENTICATED, HOOP_E_DATA_LOSS. */
enum hoop_status
handshake_verify_proof(struct handshake *handshake,
                       const uint8_t in[HANDSHAKE_MESSAGE_BYTES]);
enum hoop_status
handshake_answer(const struct handshake *handshake,
                 enum handshake_answer answer,
                 uint8_t out[HANDSHAKE_MESSAGE_BYTES]);

#endif
