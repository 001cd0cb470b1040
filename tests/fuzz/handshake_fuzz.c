/*
 * tests/fuzz/handshake_fuzz.c - greetings that a peer, or a stranger, makes up
 *
 * The first byte says which of the four messages is another than the honest
 * one: it is what follows as it is, or the honest one with bits turned over, a
 * place and a mask each. Nobody is believed whose message, or whose peer's, is
 * not as it was signed; what offers of shared memory come along is looked at
 * only then.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "transport/connect/handshake.h"

enum message {
    HELLO,
    CHALLENGE,
    PROOF,
    WELCOME,
    MESSAGES,
};

enum {
    AS_IT_IS = 4,
    /* Behind the letters of a proof, and the answer of a welcome: not signed,
     * not looked at. */
    PROOF_IDLE = 8,
    WELCOME_IDLE = 9,
    IDLE_END = 34,
};

struct side {
    struct roster *roster;
    struct handshake_key key;
    struct handshake handshake;
};

static struct side dialer;
static struct side acceptor;

static void
side_init(struct side *side, uint32_t rank)
{
    fuzz_require(roster_create(3, &side->roster) == HOOP_OK);
    side->roster->epoch = 7;
    side->roster->rank = rank;
    snprintf(side->roster->job, sizeof(side->roster->job), "job");
    for (uint32_t i = 0; i < 3; i++)
        side->roster->members[i].incarnation = 1000 + i;
    fuzz_require(handshake_key_init(&side->key, "secret", side->roster) ==
                 HOOP_OK);
}

static void
side_reset(struct side *side, uint32_t peer)
{
    side->handshake = (struct handshake){
        .key = &side->key, .roster = side->roster, .peer = peer};
}

/* What arrives instead of bytes, if it is this message's turn. Returns whether
 * anything that counts is different. */
static bool
tamper(enum message which,
       enum message at,
       struct input input,
       bool is_raw,
       uint8_t bytes[HANDSHAKE_MESSAGE_BYTES])
{
    uint8_t honest[HANDSHAKE_MESSAGE_BYTES];

    if (which != at)
        return false;
    memcpy(honest, bytes, HANDSHAKE_MESSAGE_BYTES);
    if (is_raw) {
        const struct input part = input_part(&input, HANDSHAKE_MESSAGE_BYTES);

        memcpy(bytes, part.bytes, part.n_bytes);
    }
    while (input.n_bytes > 0) {
        const uint8_t place = input_byte(&input) % HANDSHAKE_MESSAGE_BYTES;

        bytes[place] ^= input_byte(&input);
    }
    if (at == PROOF || at == WELCOME) {
        const int first = at == PROOF ? PROOF_IDLE : WELCOME_IDLE;

        memcpy(honest + first, bytes + first, (size_t)(IDLE_END - first));
    }
    return memcmp(honest, bytes, HANDSHAKE_MESSAGE_BYTES) != 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    const uint8_t what = input_byte(&input);
    const enum message at = (enum message)(what % MESSAGES);
    const bool is_raw = what & AS_IT_IS;
    uint8_t message[HANDSHAKE_MESSAGE_BYTES];
    uint8_t answer[HANDSHAKE_MESSAGE_BYTES];
    enum handshake_answer verdict;
    bool is_other;

    if (!dialer.roster) {
        side_init(&dialer, 1);
        side_init(&acceptor, 2);
    }
    side_reset(&dialer, 2);
    side_reset(&acceptor, 0);

    fuzz_require(handshake_write_hello(&dialer.handshake, message) == HOOP_OK);
    is_other = tamper(HELLO, at, input, is_raw, message);
    if (handshake_write_challenge(&acceptor.handshake, message, answer) !=
        HOOP_OK)
        return 0;
    fuzz_require(acceptor.handshake.peer < 3 && acceptor.handshake.peer != 2);
    is_other |= tamper(CHALLENGE, at, input, is_raw, answer);
    if (handshake_write_proof(&dialer.handshake, answer, message) != HOOP_OK)
        return 0;
    is_other |= tamper(PROOF, at, input, is_raw, message);
    const enum hoop_status proven =
        handshake_verify_proof(&acceptor.handshake, message);
    if (proven != HOOP_OK) {
        fuzz_require(is_other);
        return 0;
    }
    fuzz_require(!is_other);
    fuzz_require(handshake_answer(&acceptor.handshake, HANDSHAKE_WELCOME,
                                  answer) == HOOP_OK);
    is_other = tamper(WELCOME, at, input, is_raw, answer);
    if (handshake_verify_welcome(&dialer.handshake, answer, &verdict) ==
        HOOP_OK)
        fuzz_require(!is_other && verdict == HANDSHAKE_WELCOME);
    return 0;
}
