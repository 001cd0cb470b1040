/*
 * tests/style/rpc_test.c - docs/rpc.md says what common/rpc does
 *
 * Its table of methods is compared with rpc/method.h, its table of status
 * codes with base/status.c, and its golden frames are decoded and encoded
 * again. The document is the argument.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "rpc/authentication.h"
#include "rpc/envelope.h"
#include "rpc/method.h"
#include "rpc/sp_stream.h"

enum {
    LINE_BYTES = 256,
    FRAME_BYTES = 256,
};

static const char *document;

static void
file_close(FILE *file)
{
    if (file)
        fclose(file);
}
DEFINE_CLEANUP(FILE *, file_close)

static FILE *
document_open(void)
{
    FILE *file = fopen(document, "r");

    assert_non_null(file);
    return file;
}

static const char *
effect_name(enum method_effect effect)
{
    switch (effect) {
    case METHOD_READS:
        return "reads";
    case METHOD_REPEATS:
        return "repeats";
    case METHOD_CHANGES:
        return "changes";
    }
    return "";
}

static void
methods_are_those_of_the_table_in_its_order(void **state)
{
    CLEANUP(file_close) FILE *file = document_open();
    char line[LINE_BYTES];
    char expected[LINE_BYTES];
    size_t n_methods = 0;

    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "| `hoop.v1.", 11) != 0)
            continue;
        assert_true(n_methods < METHOD_COUNT);
        const struct method *method = method_by_id((enum method_id)n_methods++);
        snprintf(expected, sizeof(expected), "| `%s` | %s | %s | %s | %s |\n",
                 method->name, effect_name(method->effect),
                 method->answer == METHOD_LONG_POLL ? "long poll" : "at once",
                 role_name(method->role), method->description);
        assert_string_equal(line, expected);
    }
    assert_int_equal(n_methods, METHOD_COUNT);
}

static void
status_codes_are_the_seventeen(void **state)
{
    CLEANUP(file_close) FILE *file = document_open();
    char line[LINE_BYTES];
    char expected[LINE_BYTES];
    int code = 0;

    while (fgets(line, sizeof(line), file) && strcmp(line, "## Status\n") != 0)
        continue;
    while (fgets(line, sizeof(line), file) && code <= 16) {
        snprintf(expected, sizeof(expected), "| %d | %s |", code,
                 status_name((enum hoop_status)code));
        code += strncmp(line, expected, strlen(expected)) == 0;
    }
    assert_int_equal(code, 17);
}

/* The bytes of the block that begins with this line. */
static size_t
block_read(const char *first, uint8_t bytes[FRAME_BYTES])
{
    CLEANUP(file_close) FILE *file = document_open();
    char line[LINE_BYTES];
    size_t n_bytes = 0;

    while (fgets(line, sizeof(line), file) && strcmp(line, first) != 0)
        continue;
    while (fgets(line, sizeof(line), file) && line[0] != '`') {
        const char *at = line;
        int n_read;
        unsigned byte;

        while (sscanf(at, "%2x%n", &byte, &n_read) == 1) {
            assert_true(n_bytes < FRAME_BYTES);
            bytes[n_bytes++] = (uint8_t)byte;
            at += n_read;
        }
    }
    assert_true(n_bytes > SP_HEADER_BYTES);
    return n_bytes;
}

static void
assert_frame_is(const uint8_t *frame, size_t n_frame, const uint8_t *message)
{
    const size_t n_message = n_frame - SP_HEADER_BYTES;
    uint8_t header[SP_HEADER_BYTES];

    sp_header_encode(7, n_message, header);
    assert_memory_equal(frame, header, sizeof(header));
    assert_memory_equal(frame + sizeof(header), message, n_message);
}

static void
golden_request_is_what_a_client_sends(void **state)
{
    CLEANUP(free) uint8_t *again = NULL;
    uint8_t frame[FRAME_BYTES];
    struct envelope_request request;
    size_t n_again = 0;

    const size_t n_frame = block_read("```golden request\n", frame);
    const struct message_span message = {frame + SP_HEADER_BYTES,
                                         n_frame - SP_HEADER_BYTES};
    assert_ok(envelope_request_decode(message, &request));
    assert_string_equal(request.method, "hoop.v1.Store/Get");
    assert_string_equal(request.job, "train");
    assert_int_equal(request.id, 7);
    assert_int_equal(request.deadline_ms, 5000);
    assert_ok(envelope_request_encode(&request, &again, &n_again));
    assert_int_equal(n_again, message.n_bytes);
    assert_frame_is(frame, n_frame, again);
}

static void
golden_reply_is_what_a_coordinator_sends(void **state)
{
    CLEANUP(free) uint8_t *again = NULL;
    uint8_t frame[FRAME_BYTES];
    struct envelope_reply reply;
    size_t n_again = 0;

    const size_t n_frame = block_read("```golden reply\n", frame);
    const struct message_span message = {frame + SP_HEADER_BYTES,
                                         n_frame - SP_HEADER_BYTES};
    assert_ok(envelope_reply_decode(message, &reply));
    assert_int_equal(reply.id, 7);
    assert_int_equal(reply.status, HOOP_E_NOT_FOUND);
    assert_ok(envelope_reply_encode(&reply, &again, &n_again));
    assert_int_equal(n_again, message.n_bytes);
    assert_frame_is(frame, n_frame, again);
}

/* The three of "golden proofs", in the order key, coordinator, client. */
static void
proofs_read(uint8_t proofs[3][HMAC_BYTES])
{
    CLEANUP(file_close) FILE *file = document_open();
    char line[LINE_BYTES];

    while (fgets(line, sizeof(line), file) &&
           strcmp(line, "```golden proofs\n") != 0)
        continue;
    for (size_t i = 0; i < 3; i++) {
        char digits[2 * HMAC_BYTES + 1];

        assert_non_null(fgets(line, sizeof(line), file));
        assert_int_equal(sscanf(line, "%*s %64s", digits), 1);
        for (size_t j = 0; j < HMAC_BYTES; j++) {
            unsigned byte;

            assert_int_equal(sscanf(digits + 2 * j, "%2x", &byte), 1);
            proofs[i][j] = (uint8_t)byte;
        }
    }
}

static void
golden_proofs_are_what_both_sides_send(void **state)
{
    struct authentication client = {0};
    struct authentication coordinator = {0};
    struct auth_challenge_request challenge;
    struct auth_challenge_reply reply;
    struct auth_prove_request proof;
    struct auth_keys keys;
    uint8_t golden[3][HMAC_BYTES];
    char token[LIMIT_TOKEN];

    proofs_read(golden);
    assert_ok(role_derive_token(ROLE_OPERATOR, "secret", token));
    assert_ok(auth_keys_init_client(&keys, token));
    assert_memory_equal(keys.bytes[ROLE_OPERATOR], golden[0], HMAC_BYTES);

    assert_ok(auth_client_begin(&client, &keys, &challenge));
    memset(client.client_nonce, 1, sizeof(client.client_nonce));
    memset(reply.nonce, 2, sizeof(reply.nonce));
    memcpy(reply.proof, golden[1], HMAC_BYTES);
    assert_ok(auth_client_prove(&client, &keys, &reply, &proof));
    assert_memory_equal(proof.proof, golden[2], HMAC_BYTES);

    coordinator = client;
    assert_ok(auth_keys_init_coordinator(&keys, "secret"));
    assert_ok(auth_coordinator_verify(&coordinator, &keys, &proof));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_are_those_of_the_table_in_its_order),
        cmocka_unit_test(status_codes_are_the_seventeen),
        cmocka_unit_test(golden_request_is_what_a_client_sends),
        cmocka_unit_test(golden_reply_is_what_a_coordinator_sends),
        cmocka_unit_test(golden_proofs_are_what_both_sides_send),
    };

    if (argc != 2)
        return 2;
    document = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
