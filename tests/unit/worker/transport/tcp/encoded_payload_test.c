/* tests/unit/worker/transport/tcp/encoded_payload_test.c - transport/tcp/payload.c */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "transport/tcp/payload.h"

static uint8_t raw[4096];

static void
add(struct send_request *flow, size_t offset, size_t n_raw, uint8_t first)
{
    const uint8_t stored[3] = {first, 2, 3};

    encoded_payload_add(flow,
                        &(struct encoded){.raw = raw + offset,
                                          .n_raw = n_raw,
                                          .codec = CODEC_PLANES,
                                          .stored = {stored, sizeof(stored)}});
}

static struct send_request
flow_new(void)
{
    return (struct send_request){.bytes = raw, .total = sizeof(raw)};
}

static void
payload_is_found_where_the_next_frame_begins(void **state)
{
    struct send_request flow = flow_new();

    (void)state;
    encoded_payload_cache_init(&flow);
    assert_int_equal(encoded_payload_limit(&flow, 900), 900);
    assert_null(encoded_payload_next(&flow, 900));
    add(&flow, 256, 512, 7);
    /* Up to it, then with it, not further. */
    assert_int_equal(encoded_payload_limit(&flow, 900), 256);
    assert_null(encoded_payload_next(&flow, 256));
    flow.framed = 256;
    assert_int_equal(encoded_payload_limit(&flow, 900), 512);
    assert_int_equal(encoded_payload_limit(&flow, 100), 100);
    assert_null(encoded_payload_next(&flow, 100));
    const struct encoded *encoded = encoded_payload_next(&flow, 512);
    assert_non_null(encoded);
    assert_int_equal(encoded->codec, CODEC_PLANES);
    assert_int_equal(encoded->stored.n_bytes, 3);
    assert_int_equal(encoded->stored.bytes[0], 7);
    encoded_payload_clear(&flow);
    assert_int_equal(encoded_payload_limit(&flow, 900), 900);
}

static void
what_was_passed_is_forgotten(void **state)
{
    struct send_request flow = flow_new();

    (void)state;
    encoded_payload_cache_init(&flow);
    add(&flow, 0, 512, 1);
    add(&flow, 512, 512, 2);
    flow.framed = 100;
    assert_int_equal(encoded_payload_limit(&flow, 4000), 412);
    flow.framed = 512;
    assert_int_equal(encoded_payload_next(&flow, 512)->stored.bytes[0], 2);
    assert_int_equal(flow.n_encoded, 1);
    flow.framed = 1024;
    assert_null(encoded_payload_next(&flow, 512));
    assert_int_equal(flow.n_encoded, 0);
}

static void
what_comes_late_or_too_much_is_not_kept(void **state)
{
    struct send_request flow = flow_new();

    (void)state;
    encoded_payload_cache_init(&flow);
    flow.framed = 64;
    add(&flow, 0, 128, 1);
    assert_int_equal(flow.n_encoded, 0);
    add(&flow, 128, 64, 1);
    /* It lies in the way of the one before. */
    add(&flow, 160, 64, 2);
    assert_int_equal(flow.n_encoded, 1);
    for (size_t i = 0; i < 2 * LIMIT_ENCODED_PAYLOADS; i++)
        add(&flow, 256 + 64 * i, 64, 3);
    assert_int_equal(flow.n_encoded, LIMIT_ENCODED_PAYLOADS);
    encoded_payload_clear(&flow);
    assert_int_equal(flow.n_encoded, 0);
}

static void
what_is_larger_coded_is_not_kept(void **state)
{
    struct send_request flow = flow_new();

    (void)state;
    encoded_payload_cache_init(&flow);
    add(&flow, 0, 2, 1);
    assert_int_equal(flow.n_encoded, 0);
    add(&flow, 0, 3, 1);
    assert_int_equal(flow.n_encoded, 1);
    encoded_payload_clear(&flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_is_found_where_the_next_frame_begins),
        cmocka_unit_test(what_was_passed_is_forgotten),
        cmocka_unit_test(what_comes_late_or_too_much_is_not_kept),
        cmocka_unit_test(what_is_larger_coded_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
