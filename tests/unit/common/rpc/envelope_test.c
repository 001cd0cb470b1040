/* tests/unit/common/rpc/envelope_test.c - rpc/envelope.c, with golden bytes */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "error_words.h"
#include "rpc/envelope.h"
#include "wire/pack.h"

/* The two of docs/rpc.md, byte for byte. */
static const uint8_t golden_request[] = {
    0x97, 0x02, 0xb1, 'h',  'o',  'o',  'p',  '.',  'v',  '1',  '.',  'S',
    't',  'o',  'r',  'e',  '/',  'G',  'e',  't',  0xc4, 0x10, 0x00, 0x01,
    0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d,
    0x0e, 0x0f, 0x07, 0xcd, 0x13, 0x88, 0x92, 0xa3, 'j',  'o',  'b',  0xa5,
    't',  'r',  'a',  'i',  'n',  0xc4, 0x03, 0x91, 0xa1, 'k',
};
static const uint8_t golden_reply[] = {
    0x95, 0x02, 0x07, 0x05, 0xa6, 'n',  'o',
    ' ',  'k',  'e',  'y',  0xc4, 0x01, 0xc0,
};

static const uint8_t body[] = {0x91, 0xa1, 'k'};
static const uint8_t reply_body[] = {0xc0};

static struct envelope_request
request_sample(void)
{
    struct envelope_request request = {
        .method = "hoop.v1.Store/Get",
        .id = 7,
        .deadline_ms = 5000,
        .job = "train",
        .body = {body, sizeof(body)},
    };

    for (uint8_t i = 0; i < ENVELOPE_CLIENT_BYTES; i++)
        request.client.bytes[i] = i;
    return request;
}

static struct envelope_reply
reply_sample(void)
{
    return (struct envelope_reply){
        .id = 7,
        .status = HOOP_E_NOT_FOUND,
        .message = "no key",
        .body = {reply_body, sizeof(reply_body)},
    };
}

static void
envelope_request_is_the_golden_one(void **state)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    const struct envelope_request request = request_sample();
    size_t n_bytes = 0;

    assert_ok(envelope_request_encode(&request, &bytes, &n_bytes));
    assert_int_equal(n_bytes, sizeof(golden_request));
    assert_memory_equal(bytes, golden_request, n_bytes);
}

static void
envelope_request_comes_back(void **state)
{
    const struct envelope_request expected = request_sample();
    struct envelope_request request;

    assert_ok(envelope_request_decode(
        (struct message_span){golden_request, sizeof(golden_request)},
        &request));
    assert_string_equal(request.method, expected.method);
    assert_memory_equal(&request.client, &expected.client,
                        sizeof(request.client));
    assert_int_equal(request.id, 7);
    assert_int_equal(request.deadline_ms, 5000);
    assert_string_equal(request.job, "train");
    assert_int_equal(request.body.n_bytes, sizeof(body));
    assert_memory_equal(request.body.bytes, body, sizeof(body));
}

static void
envelope_reply_is_the_golden_one_and_comes_back(void **state)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    const struct envelope_reply expected = reply_sample();
    struct envelope_reply reply;
    size_t n_bytes = 0;

    assert_ok(envelope_reply_encode(&expected, &bytes, &n_bytes));
    assert_int_equal(n_bytes, sizeof(golden_reply));
    assert_memory_equal(bytes, golden_reply, n_bytes);

    assert_ok(envelope_reply_decode(
        (struct message_span){golden_reply, sizeof(golden_reply)}, &reply));
    assert_int_equal(reply.id, 7);
    assert_int_equal(reply.status, HOOP_E_NOT_FOUND);
    assert_string_equal(reply.message, "no key");
    assert_int_equal(reply.body.n_bytes, 1);
}

static void
envelope_cut_anywhere_is_refused(void **state)
{
    struct envelope_request request;
    struct envelope_reply reply;

    for (size_t n = 0; n < sizeof(golden_request); n++)
        assert_int_equal(
            envelope_request_decode((struct message_span){golden_request, n},
                                    &request),
            HOOP_E_DATA_LOSS);
    for (size_t n = 0; n < sizeof(golden_reply); n++)
        assert_int_equal(envelope_reply_decode(
                             (struct message_span){golden_reply, n}, &reply),
                         HOOP_E_DATA_LOSS);
}

static void
envelope_with_bytes_behind_is_refused(void **state)
{
    uint8_t longer[sizeof(golden_request) + 1] = {0};
    struct envelope_request request;

    memcpy(longer, golden_request, sizeof(golden_request));
    assert_int_equal(
        envelope_request_decode((struct message_span){longer, sizeof(longer)},
                                &request),
        HOOP_E_DATA_LOSS);
}

static void
envelope_of_another_version_gives_its_id(void **state)
{
    static const uint8_t short_one[] = {0x91, 0x03};
    uint8_t other[sizeof(golden_request)];
    struct envelope_request request;
    struct envelope_reply reply;

    memcpy(other, golden_request, sizeof(other));
    other[1] = 0x03;
    assert_int_equal(envelope_request_decode(
                         (struct message_span){other, sizeof(other)}, &request),
                     HOOP_E_UNIMPLEMENTED);
    assert_int_equal(request.id, 7);
    assert_int_equal(request.version, 3);
    assert_string_equal(request.method, "");

    /* Another layout altogether: [3] */
    assert_int_equal(
        envelope_request_decode(
            (struct message_span){short_one, sizeof(short_one)}, &request),
        HOOP_E_UNIMPLEMENTED);
    assert_int_equal(request.id, 0);

    memcpy(other, golden_reply, sizeof(golden_reply));
    other[1] = 0x03;
    assert_int_equal(
        envelope_reply_decode(
            (struct message_span){other, sizeof(golden_reply)}, &reply),
        HOOP_E_UNIMPLEMENTED);
    assert_words("version 3");
}

/* [1, method, client, 7, 5000, [n_pairs unknown ones], body, extra ...] */
static size_t
request_build(uint8_t **out_bytes, size_t n_metadata, size_t n_extra)
{
    struct pack pack;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 7 + n_extra);
    pack_uint(&pack, ENVELOPE_VERSION);
    pack_str(&pack, "hoop.v1.Store/Get");
    pack_bin(&pack, "0123456789abcdef", ENVELOPE_CLIENT_BYTES);
    pack_uint(&pack, 7);
    pack_uint(&pack, 5000);
    pack_array(&pack, n_metadata);
    for (size_t i = 0; i < n_metadata; i++)
        pack_str(&pack, "x");
    pack_bin(&pack, NULL, 0);
    for (size_t i = 0; i < n_extra; i++)
        pack_str(&pack, "of a later version");
    assert_ok(pack_take(&pack, out_bytes, &n_bytes));
    return n_bytes;
}

static enum hoop_status
request_judge(size_t n_metadata, size_t n_extra)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    struct envelope_request request;

    const size_t n_bytes = request_build(&bytes, n_metadata, n_extra);
    return envelope_request_decode((struct message_span){bytes, n_bytes},
                                   &request);
}

static void
envelope_skips_what_it_does_not_know(void **state)
{
    assert_ok(request_judge(4, 0));
    assert_ok(request_judge(0, 3));
    assert_ok(request_judge(2 * LIMIT_RPC_METADATA, 0));
}

static void
envelope_metadata_is_bounded_pairs(void **state)
{
    assert_int_equal(request_judge(3, 0), HOOP_E_DATA_LOSS);
    assert_int_equal(request_judge(2 * LIMIT_RPC_METADATA + 2, 0),
                     HOOP_E_DATA_LOSS);
}

static void
envelope_status_inside_a_process_travels_as_unknown(void **state)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    struct envelope_reply reply = {.id = 1, .status = HOOP_E_PEER_LOST};
    size_t n_bytes = 0;

    assert_ok(envelope_reply_encode(&reply, &bytes, &n_bytes));
    assert_ok(
        envelope_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    assert_int_equal(reply.status, HOOP_E_UNKNOWN);
}

static void
envelope_too_large_is_exhausted(void **state)
{
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    CLEANUP(free) uint8_t *big = calloc(1, LIMIT_RPC_MESSAGE);
    struct envelope_request request = request_sample();

    request.body = (struct message_span){big, LIMIT_RPC_MESSAGE};
    assert_int_equal(envelope_request_encode(&request, &bytes, &n_bytes),
                     HOOP_E_EXHAUSTED);
    assert_null(bytes);
}

/* Version 1 sent the token: both sides say why they do not talk to it. */
static void
envelope_of_version_1_is_refused_by_name(void **state)
{
    uint8_t old[sizeof(golden_request)];
    struct envelope_request request;
    struct envelope_reply reply;

    memcpy(old, golden_request, sizeof(old));
    old[1] = 0x01;
    assert_int_equal(envelope_request_decode(
                         (struct message_span){old, sizeof(old)}, &request),
                     HOOP_E_UNIMPLEMENTED);
    assert_int_equal(request.version, 1);
    assert_words("version 1, this coordinator speaks 2, in which the token is "
                 "proved and never sent");

    memcpy(old, golden_reply, sizeof(golden_reply));
    old[1] = 0x01;
    assert_int_equal(
        envelope_reply_decode((struct message_span){old, sizeof(golden_reply)},
                              &reply),
        HOOP_E_UNIMPLEMENTED);
    assert_words("the coordinator speaks version 1 of the protocol, this "
                 "program version 2, which does not send the token");
}

/* ... to which an older client is answered in its own version. */
static void
envelope_reply_can_be_of_another_version(void **state)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    struct envelope_reply reply = reply_sample();
    size_t n_bytes = 0;

    reply.version = 1;
    assert_ok(envelope_reply_encode(&reply, &bytes, &n_bytes));
    assert_int_equal(bytes[1], 1);
    assert_memory_equal(bytes + 2, golden_reply + 2, sizeof(golden_reply) - 2);
}

/* Whoever sends it in the present version all the same is told, and its id. */
static void
envelope_request_that_carries_a_token_is_refused(void **state)
{
    struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct envelope_request request = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 7);
    pack_uint(&pack, ENVELOPE_VERSION);
    pack_str(&pack, "hoop.v1.Store/Get");
    pack_bin(&pack, golden_request + 22, ENVELOPE_CLIENT_BYTES);
    pack_uint(&pack, 8);
    pack_uint(&pack, 5000);
    pack_array(&pack, 2);
    pack_str(&pack, "token");
    pack_str(&pack, "secret");
    pack_bin(&pack, body, sizeof(body));
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    pack_deinit(&pack);
    assert_int_equal(envelope_request_decode(
                         (struct message_span){bytes, n_bytes}, &request),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(request.id, 8);
    assert_words("never sent");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(envelope_request_is_the_golden_one),
        cmocka_unit_test(envelope_request_comes_back),
        cmocka_unit_test(envelope_reply_is_the_golden_one_and_comes_back),
        cmocka_unit_test(envelope_cut_anywhere_is_refused),
        cmocka_unit_test(envelope_with_bytes_behind_is_refused),
        cmocka_unit_test(envelope_of_another_version_gives_its_id),
        cmocka_unit_test(envelope_of_version_1_is_refused_by_name),
        cmocka_unit_test(envelope_reply_can_be_of_another_version),
        cmocka_unit_test(envelope_request_that_carries_a_token_is_refused),
        cmocka_unit_test(envelope_skips_what_it_does_not_know),
        cmocka_unit_test(envelope_metadata_is_bounded_pairs),
        cmocka_unit_test(envelope_status_inside_a_process_travels_as_unknown),
        cmocka_unit_test(envelope_too_large_is_exhausted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
