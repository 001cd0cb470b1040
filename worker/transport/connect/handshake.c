/*
 * transport/connect/handshake.c - two peers prove that they belong to the job
 *
 * Offsets, little-endian, the rest zero:
 *
 *   HELLO      0 letters  8 version  10 from u32  14 to u32  18 epoch u64
 *              26 incarnation u64  34 nonce[32]  66 stream u8
 *   CHALLENGE  0 letters  8 version  10 from u32  18 epoch u64
 *              26 incarnation u64  34 nonce[32]
 *   PROOF      0 letters  34 MAC[32]  66 offer[62]
 *   WELCOME    0 letters  8 answer   34 MAC[32]  66 offer[62]
 */

#include "transport/connect/handshake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "wire/frame.h"

enum {
    HANDSHAKE_VERSION_OFFSET = 8,
    HANDSHAKE_ANSWER_OFFSET = 8,
    HANDSHAKE_FROM_OFFSET = 10,
    HANDSHAKE_TO_OFFSET = 14,
    HANDSHAKE_EPOCH_OFFSET = 18,
    HANDSHAKE_INCARNATION_OFFSET = 26,
    HANDSHAKE_NONCE_OFFSET = 34,
    HANDSHAKE_MAC_OFFSET = 34,
    HANDSHAKE_STREAM_OFFSET = 66,
    HANDSHAKE_OFFER_OFFSET = 66,
    MESSAGE_MAGIC_BYTES = 8,
};

static const char hello_magic[] = "HOOPHELO";
static const char challenge_magic[] = "HOOPCHAL";
static const char proof_magic[] = "HOOPPROF";
static const char welcome_magic[] = "HOOPWELC";

static void
put_le(uint8_t *at, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t
get_le(const uint8_t *at, unsigned n_bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void
message_init(uint8_t out[HANDSHAKE_MESSAGE_BYTES], const char *letters)
{
    memset(out, 0, HANDSHAKE_MESSAGE_BYTES);
    memcpy(out, letters, MESSAGE_MAGIC_BYTES);
}

/* Returns whether in begins like a record of a TLS handshake or alert. */
static bool
is_tls_record(const uint8_t in[HANDSHAKE_MESSAGE_BYTES])
{
    return (in[0] == 0x15 || in[0] == 0x16) && in[1] == 3;
}

static enum hoop_status
check_magic(const uint8_t in[HANDSHAKE_MESSAGE_BYTES], const char *letters)
{
    if (memcmp(in, letters, MESSAGE_MAGIC_BYTES) == 0)
        return HOOP_OK;
    if (is_tls_record(in))
        return error_raise(HOOP_E_DATA_LOSS,
                           "the other side speaks TLS and this rank does not: "
                           "HOOP_TLS must be alike on all ranks");
    return error_raise(HOOP_E_DATA_LOSS,
                       "these bytes are no %.8s of a hoop peer", letters);
}

static enum hoop_status
peer_key_derive(const char *token,
                const struct roster *roster,
                const char *purpose,
                uint8_t out_key[HMAC_BYTES])
{
    uint8_t epoch[8];
    const struct hmac_span parts[] = {
        {purpose, strlen(purpose)},
        {epoch, sizeof(epoch)},
        {roster->job, strlen(roster->job)},
    };

    put_le(epoch, roster->epoch, sizeof(epoch));
    return hmac_sha256((struct hmac_span){token, strlen(token)}, parts,
                       COUNT_OF(parts), out_key);
}

enum hoop_status
handshake_key_init(struct handshake_key *key,
                   const char *token,
                   const struct roster *roster)
{
    return peer_key_derive(token, roster, "hoop peer key 1", key->bytes);
}

enum hoop_status
handshake_derive_tls_key(const char *token,
                         const struct roster *roster,
                         uint8_t out_key[TLS_KEY_BYTES])
{
    return peer_key_derive(token, roster, "hoop peer TLS 1", out_key);
}

void
handshake_format_identity(const struct roster *roster,
                          uint32_t from,
                          uint32_t to,
                          char out_text[LIMIT_NAME])
{
    snprintf(out_text, LIMIT_NAME, "hoop 1 epoch %" PRIu64 " rank %u to %u",
             roster->epoch, from, to);
}

_Static_assert(HANDSHAKE_OFFER_OFFSET + HANDSHAKE_OFFER_BYTES ==
                   HANDSHAKE_MESSAGE_BYTES,
               "the rest");

/* Sign message. Its eight letters say its role and are signed, too, so that a
 * PROOF cannot serve as a WELCOME. */
static enum hoop_status
message_sign(const struct handshake *handshake,
             const uint8_t message[HANDSHAKE_MESSAGE_BYTES],
             uint8_t answer,
             uint8_t out_mac[HMAC_BYTES])
{
    const struct hmac_span parts[] = {
        {message, MESSAGE_MAGIC_BYTES},
        {&answer, 1},
        {handshake->hello, HANDSHAKE_MESSAGE_BYTES},
        {handshake->challenge, HANDSHAKE_MESSAGE_BYTES},
        {message + HANDSHAKE_OFFER_OFFSET, HANDSHAKE_OFFER_BYTES},
        {handshake->binding, handshake->n_binding},
    };

    return hmac_sha256((struct hmac_span){handshake->key->bytes, HMAC_BYTES},
                       parts, COUNT_OF(parts), out_mac);
}

static enum hoop_status
put_identity(const struct handshake *handshake,
             uint8_t out[HANDSHAKE_MESSAGE_BYTES])
{
    const struct roster *roster = handshake->roster;

    put_le(out + HANDSHAKE_VERSION_OFFSET, FRAME_VERSION, 2);
    put_le(out + HANDSHAKE_FROM_OFFSET, roster->rank, 4);
    put_le(out + HANDSHAKE_EPOCH_OFFSET, roster->epoch, 8);
    put_le(out + HANDSHAKE_INCARNATION_OFFSET,
           roster->members[roster->rank].incarnation, 8);
    return random_fill(out + HANDSHAKE_NONCE_OFFSET, HANDSHAKE_NONCE_BYTES);
}

/* Check the version, epoch, rank and incarnation that in claims. */
static enum hoop_status
check_identity(const struct roster *roster,
               const uint8_t in[HANDSHAKE_MESSAGE_BYTES])
{
    const uint64_t version = get_le(in + HANDSHAKE_VERSION_OFFSET, 2);
    const uint64_t epoch = get_le(in + HANDSHAKE_EPOCH_OFFSET, 8);
    const uint64_t from = get_le(in + HANDSHAKE_FROM_OFFSET, 4);

    if (version != FRAME_VERSION)
        return error_raise(HOOP_E_PRECONDITION,
                           "the peer speaks version %" PRIu64
                           " of the wire, this rank version %d: use one "
                           "release of hoop in a job",
                           version, FRAME_VERSION);
    if (epoch != roster->epoch)
        return error_raise(HOOP_E_PRECONDITION,
                           "the peer is of epoch %" PRIu64
                           ", this rank of epoch %" PRIu64,
                           epoch, roster->epoch);
    if (from >= roster->size)
        return error_raise(HOOP_E_PRECONDITION,
                           "the peer says it is rank %" PRIu64
                           ", which cannot be in a world of %u",
                           from, roster->size);
    if (from == roster->rank)
        return error_raise(HOOP_E_PRECONDITION,
                           "the peer says it is rank %" PRIu64
                           ", which is this rank itself",
                           from);
    if (get_le(in + HANDSHAKE_INCARNATION_OFFSET, 8) !=
        roster->members[from].incarnation)
        return error_raise(HOOP_E_PRECONDITION,
                           "the peer is another incarnation of rank %" PRIu64,
                           from);
    return HOOP_OK;
}

enum hoop_status
handshake_write_hello(struct handshake *handshake,
                      uint8_t out[HANDSHAKE_MESSAGE_BYTES])
{
    message_init(handshake->hello, hello_magic);
    put_le(handshake->hello + HANDSHAKE_TO_OFFSET, handshake->peer, 4);
    put_le(handshake->hello + HANDSHAKE_STREAM_OFFSET, handshake->stream, 1);
    const enum hoop_status status = put_identity(handshake, handshake->hello);
    if (status != HOOP_OK)
        return error_pass(status);
    memcpy(out, handshake->hello, HANDSHAKE_MESSAGE_BYTES);
    return HOOP_OK;
}

enum hoop_status
handshake_write_proof(struct handshake *handshake,
                      const uint8_t in[HANDSHAKE_MESSAGE_BYTES],
                      uint8_t out[HANDSHAKE_MESSAGE_BYTES])
{
    enum hoop_status status = check_magic(in, challenge_magic);

    if (status != HOOP_OK)
        return error_pass(status);
    status = check_identity(handshake->roster, in);
    if (status != HOOP_OK)
        return error_pass(status);
    if (get_le(in + HANDSHAKE_FROM_OFFSET, 4) != handshake->peer)
        return error_raise(HOOP_E_PRECONDITION,
                           "rank %" PRIu64 " answers where rank %u was called",
                           get_le(in + HANDSHAKE_FROM_OFFSET, 4),
                           handshake->peer);
    memcpy(handshake->challenge, in, HANDSHAKE_MESSAGE_BYTES);
    message_init(out, proof_magic);
    memcpy(out + HANDSHAKE_OFFER_OFFSET, handshake->offer,
           HANDSHAKE_OFFER_BYTES);
    return message_sign(handshake, out, 0, out + HANDSHAKE_MAC_OFFSET);
}

enum hoop_status
handshake_verify_welcome(struct handshake *handshake,
                         const uint8_t in[HANDSHAKE_MESSAGE_BYTES],
                         enum handshake_answer *out_answer)
{
    uint8_t mac[HMAC_BYTES];

    enum hoop_status status = check_magic(in, welcome_magic);
    if (status != HOOP_OK)
        return error_pass(status);
    status = message_sign(handshake, in, in[HANDSHAKE_ANSWER_OFFSET], mac);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!hmac_equal(mac, in + HANDSHAKE_MAC_OFFSET))
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "rank %u does not know the job's token",
                           handshake->peer);
    if (in[HANDSHAKE_ANSWER_OFFSET] > HANDSHAKE_EXHAUSTED)
        return error_raise(HOOP_E_DATA_LOSS, "unknown answer %u of rank %u",
                           in[HANDSHAKE_ANSWER_OFFSET], handshake->peer);
    memcpy(handshake->offer, in + HANDSHAKE_OFFER_OFFSET,
           HANDSHAKE_OFFER_BYTES);
    *out_answer = (enum handshake_answer)in[HANDSHAKE_ANSWER_OFFSET];
    return HOOP_OK;
}

enum hoop_status
handshake_write_challenge(struct handshake *handshake,
                          const uint8_t in[HANDSHAKE_MESSAGE_BYTES],
                          uint8_t out[HANDSHAKE_MESSAGE_BYTES])
{
    enum hoop_status status = check_magic(in, hello_magic);

    if (status != HOOP_OK)
        return error_pass(status);
    message_init(handshake->challenge, challenge_magic);
    status = put_identity(handshake, handshake->challenge);
    if (status != HOOP_OK)
        return error_pass(status);
    memcpy(out, handshake->challenge, HANDSHAKE_MESSAGE_BYTES);

    status = check_identity(handshake->roster, in);
    if (status != HOOP_OK)
        return error_pass(status);
    if (get_le(in + HANDSHAKE_TO_OFFSET, 4) != handshake->roster->rank)
        return error_raise(
            HOOP_E_PRECONDITION,
            "the peer calls rank %" PRIu64 ", but this is rank %u",
            get_le(in + HANDSHAKE_TO_OFFSET, 4), handshake->roster->rank);
    if (in[HANDSHAKE_STREAM_OFFSET] > LIMIT_STREAMS)
        return error_raise(HOOP_E_PRECONDITION,
                           "the peer has a connection number %u, of at most %d",
                           in[HANDSHAKE_STREAM_OFFSET], LIMIT_STREAMS);
    memcpy(handshake->hello, in, HANDSHAKE_MESSAGE_BYTES);
    handshake->peer = (uint32_t)get_le(in + HANDSHAKE_FROM_OFFSET, 4);
    handshake->stream = in[HANDSHAKE_STREAM_OFFSET];
    return HOOP_OK;
}

enum hoop_status
handshake_verify_proof(struct handshake *handshake,
                       const uint8_t in[HANDSHAKE_MESSAGE_BYTES])
{
    uint8_t mac[HMAC_BYTES];

    enum hoop_status status = check_magic(in, proof_magic);
    if (status != HOOP_OK)
        return error_pass(status);
    status = message_sign(handshake, in, 0, mac);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!hmac_equal(mac, in + HANDSHAKE_MAC_OFFSET))
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "it says it is rank %u but does not know the job's "
                           "token",
                           handshake->peer);
    memcpy(handshake->offer, in + HANDSHAKE_OFFER_OFFSET,
           HANDSHAKE_OFFER_BYTES);
    return HOOP_OK;
}

enum hoop_status
handshake_answer(const struct handshake *handshake,
                 enum handshake_answer answer,
                 uint8_t out[HANDSHAKE_MESSAGE_BYTES])
{
    message_init(out, welcome_magic);
    out[HANDSHAKE_ANSWER_OFFSET] = (uint8_t)answer;
    memcpy(out + HANDSHAKE_OFFER_OFFSET, handshake->offer,
           HANDSHAKE_OFFER_BYTES);
    return message_sign(handshake, out, (uint8_t)answer,
                        out + HANDSHAKE_MAC_OFFSET);
}
