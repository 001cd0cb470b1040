/* tests/unit/common/rpc/authentication_test.c - rpc/authentication.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "error_words.h"
#include "rpc/authentication.h"

/* A client and a coordinator, and what was said on their connection. */
struct talk {
    struct auth_keys client_keys;
    struct auth_keys coordinator_keys;
    struct authentication client;
    struct authentication coordinator;
    struct auth_challenge_request challenge;
    struct auth_challenge_reply reply;
    struct auth_prove_request proof;
};

static void
talk_init(struct talk *talk, const char *token, const char *secret)
{
    *talk = (struct talk){0};
    assert_ok(auth_keys_init_client(&talk->client_keys, token));
    assert_ok(auth_keys_init_coordinator(&talk->coordinator_keys, secret));
}

/* Up to the coordinator's proof. */
static void
talk_challenge(struct talk *talk)
{
    assert_ok(
        auth_client_begin(&talk->client, &talk->client_keys, &talk->challenge));
    assert_ok(auth_coordinator_challenge(&talk->coordinator,
                                         &talk->coordinator_keys,
                                         &talk->challenge, &talk->reply));
}

static enum hoop_status
talk_prove(struct talk *talk)
{
    return auth_client_prove(&talk->client, &talk->client_keys, &talk->reply,
                             &talk->proof);
}

static enum hoop_status
talk_verify(struct talk *talk)
{
    return auth_coordinator_verify(&talk->coordinator, &talk->coordinator_keys,
                                   &talk->proof);
}

static void
both_sides_prove_each_role(void **state)
{
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        struct talk talk;
        char token[LIMIT_TOKEN];

        assert_ok(role_derive_token(role, "secret", token));
        talk_init(&talk, token, "secret");
        talk_challenge(&talk);
        assert_int_equal(talk.challenge.role, role);
        assert_ok(talk_prove(&talk));
        assert_ok(talk_verify(&talk));
        assert_int_equal(talk.coordinator.stage, AUTH_PROVED);
        assert_int_equal(talk.coordinator.role, role);
    }
}

/* Of what is sent, nothing holds the token, or the key made of it. */
static void
token_is_in_no_message(void **state)
{
    static const char token[] = "a token of 32 letters, as long as";
    struct talk talk;

    talk_init(&talk, token, token);
    talk_challenge(&talk);
    assert_ok(talk_prove(&talk));
    const struct {
        const void *bytes;
        size_t n_bytes;
    } said[] = {
        {&talk.challenge, sizeof(talk.challenge)},
        {&talk.reply, sizeof(talk.reply)},
        {&talk.proof, sizeof(talk.proof)},
    };
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        assert_null(memmem(said[i].bytes, said[i].n_bytes, token, 8));
        assert_null(memmem(said[i].bytes, said[i].n_bytes,
                           talk.client_keys.bytes[ROLE_WORKER], 8));
    }
}

static void
coordinator_with_another_token_is_told_nothing(void **state)
{
    const uint8_t zeros[HMAC_BYTES] = {0};
    struct talk talk;

    talk_init(&talk, "secret", "other");
    talk_challenge(&talk);
    assert_int_equal(talk_prove(&talk), HOOP_E_UNAUTHENTICATED);
    assert_words("does not know the token");
    assert_memory_equal(talk.proof.proof, zeros, HMAC_BYTES);
}

static void
client_with_another_token_is_refused(void **state)
{
    struct talk honest;
    struct talk talk;

    /* It skips the check of what the coordinator proves. */
    talk_init(&talk, "other", "secret");
    talk_challenge(&talk);
    honest = talk;
    assert_ok(auth_keys_init_coordinator(&honest.coordinator_keys, "other"));
    assert_ok(auth_coordinator_challenge(&honest.coordinator,
                                         &honest.coordinator_keys,
                                         &honest.challenge, &honest.reply));
    memcpy(honest.reply.nonce, talk.reply.nonce, AUTH_NONCE_BYTES);
    (void)talk_prove(&honest);
    talk.proof = honest.proof;
    assert_int_equal(talk_verify(&talk), HOOP_E_UNAUTHENTICATED);
    assert_int_equal(talk.coordinator.stage, AUTH_NEW);
    assert_words("does not know the token of role worker");
}

/* A proof that was heard is none in another connection, or once more. */
static void
replayed_proof_is_refused(void **state)
{
    struct talk first;
    struct talk second;

    talk_init(&first, "secret", "secret");
    talk_challenge(&first);
    assert_ok(talk_prove(&first));
    assert_ok(talk_verify(&first));

    /* All that the client said, again. */
    talk_init(&second, "secret", "secret");
    second.challenge = first.challenge;
    assert_ok(auth_coordinator_challenge(&second.coordinator,
                                         &second.coordinator_keys,
                                         &second.challenge, &second.reply));
    second.proof = first.proof;
    assert_int_equal(talk_verify(&second), HOOP_E_UNAUTHENTICATED);

    /* All that the coordinator said, again. */
    talk_init(&second, "secret", "secret");
    talk_challenge(&second);
    second.reply = first.reply;
    assert_int_equal(talk_prove(&second), HOOP_E_UNAUTHENTICATED);
}

/* Who sends back what it was told proves nothing, either way. */
static void
reflected_proof_is_refused(void **state)
{
    struct talk talk;

    talk_init(&talk, "secret", "secret");
    talk_challenge(&talk);
    memcpy(talk.proof.proof, talk.reply.proof, HMAC_BYTES);
    assert_int_equal(talk_verify(&talk), HOOP_E_UNAUTHENTICATED);

    /* An impostor opens a connection to the coordinator with the client's
     * nonce, and gives the client the coordinator's with a nonce of its own. */
    talk_init(&talk, "secret", "secret");
    talk_challenge(&talk);
    memcpy(talk.reply.nonce, talk.challenge.nonce, AUTH_NONCE_BYTES);
    assert_int_equal(talk_prove(&talk), HOOP_E_UNAUTHENTICATED);
}

static void
proof_of_one_role_is_none_of_another(void **state)
{
    struct talk talk;
    char token[LIMIT_TOKEN];

    assert_ok(role_derive_token(ROLE_METRICS, "secret", token));
    talk_init(&talk, token, "secret");
    talk_challenge(&talk);
    assert_ok(talk_prove(&talk));
    for (uint32_t role = ROLE_WORKER; role < ROLE_METRICS; role++) {
        talk.challenge.role = role;
        struct auth_challenge_reply reply;
        assert_ok(auth_coordinator_challenge(&talk.coordinator,
                                             &talk.coordinator_keys,
                                             &talk.challenge, &reply));
        memcpy(talk.coordinator.coordinator_nonce, talk.reply.nonce,
               AUTH_NONCE_BYTES);
        assert_int_equal(talk_verify(&talk), HOOP_E_UNAUTHENTICATED);
    }
}

/* Under TLS: in between sits one who relays from one connection to another. */
static void
proof_of_one_tls_connection_is_none_of_another(void **state)
{
    struct talk talk;

    for (int side = 0; side < 3; side++) {
        talk_init(&talk, "secret", "secret");
        talk.client.n_binding = side == 1 ? 0 : AUTH_BINDING_MAX;
        talk.coordinator.n_binding = side == 2 ? 0 : AUTH_BINDING_MAX;
        talk.coordinator.binding[31] = side == 0;
        talk_challenge(&talk);
        assert_int_equal(talk_prove(&talk), HOOP_E_UNAUTHENTICATED);
    }
}

/* Every bit counts. */
static void
proof_with_any_bit_inverted_is_refused(void **state)
{
    struct talk talk;

    for (size_t i = 0; i < 8 * HMAC_BYTES; i++) {
        talk_init(&talk, "secret", "secret");
        talk_challenge(&talk);
        struct talk bent = talk;
        bent.reply.proof[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_int_equal(talk_prove(&bent), HOOP_E_UNAUTHENTICATED);
        assert_ok(talk_prove(&talk));
        talk.proof.proof[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_int_equal(talk_verify(&talk), HOOP_E_UNAUTHENTICATED);
    }
}

/* So that nobody tries many answers to one challenge. */
static void
challenge_is_good_for_one_attempt(void **state)
{
    struct talk talk;

    talk_init(&talk, "secret", "secret");
    talk_challenge(&talk);
    assert_ok(talk_prove(&talk));
    const struct auth_prove_request right = talk.proof;
    talk.proof.proof[0] ^= 1;
    assert_int_equal(talk_verify(&talk), HOOP_E_UNAUTHENTICATED);
    talk.proof = right;
    assert_int_equal(talk_verify(&talk), HOOP_E_PRECONDITION);
    assert_words("needs a challenge");
}

static void
proof_without_a_challenge_is_refused(void **state)
{
    struct talk talk;

    talk_init(&talk, "secret", "secret");
    assert_int_equal(talk_verify(&talk), HOOP_E_PRECONDITION);
}

/* A role is had for the life of a connection. */
static void
what_was_proved_is_not_proved_again(void **state)
{
    struct talk talk;

    talk_init(&talk, "secret", "secret");
    talk_challenge(&talk);
    assert_ok(talk_prove(&talk));
    assert_ok(talk_verify(&talk));
    assert_int_equal(auth_coordinator_challenge(&talk.coordinator,
                                                &talk.coordinator_keys,
                                                &talk.challenge, &talk.reply),
                     HOOP_E_PRECONDITION);
    assert_int_equal(talk.coordinator.stage, AUTH_PROVED);
}

static void
coordinator_without_a_token_says_so(void **state)
{
    static const char *const none[] = {NULL, ""};

    for (size_t i = 0; i < COUNT_OF(none); i++) {
        struct talk talk;

        talk_init(&talk, "secret", none[i]);
        assert_false(auth_keys_has_any(&talk.coordinator_keys));
        assert_ok(auth_client_begin(&talk.client, &talk.client_keys,
                                    &talk.challenge));
        assert_int_equal(auth_coordinator_challenge(
                             &talk.coordinator, &talk.coordinator_keys,
                             &talk.challenge, &talk.reply),
                         HOOP_E_PRECONDITION);
        assert_words("has no token");
        assert_words("--token-file");
    }
}

static void
secret_that_is_a_lesser_token_is_denied(void **state)
{
    struct auth_keys keys;
    char token[LIMIT_TOKEN];

    assert_ok(role_derive_token(ROLE_OPERATOR, "secret", token));
    assert_int_equal(auth_keys_init_coordinator(&keys, token), HOOP_E_DENIED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_prove_each_role),
        cmocka_unit_test(token_is_in_no_message),
        cmocka_unit_test(coordinator_with_another_token_is_told_nothing),
        cmocka_unit_test(client_with_another_token_is_refused),
        cmocka_unit_test(replayed_proof_is_refused),
        cmocka_unit_test(reflected_proof_is_refused),
        cmocka_unit_test(proof_of_one_role_is_none_of_another),
        cmocka_unit_test(proof_of_one_tls_connection_is_none_of_another),
        cmocka_unit_test(proof_with_any_bit_inverted_is_refused),
        cmocka_unit_test(challenge_is_good_for_one_attempt),
        cmocka_unit_test(proof_without_a_challenge_is_refused),
        cmocka_unit_test(what_was_proved_is_not_proved_again),
        cmocka_unit_test(coordinator_without_a_token_says_so),
        cmocka_unit_test(secret_that_is_a_lesser_token_is_denied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
