/* tests/unit/worker/transport/stream/stream_autotune_test.c - stream_group.c */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "transport/stream/payload.h"
#include "transport/stream/stream_group.h"

static uint64_t now_ns;

static uint64_t
clock_read(void)
{
    return now_ns;
}

/* Enough bytes for a phase at so many bytes per microsecond. */
static unsigned
phase_run(struct stream_autotune *stream_autotune, uint64_t rate)
{
    unsigned n_streams = stream_autotune->n_streams;

    for (unsigned i = 0; i < 1000 && n_streams == stream_autotune->n_streams &&
                         !stream_autotune->is_settled;
         i++) {
        now_ns += 1000000 / rate * 1000;
        n_streams =
            stream_autotune_record_bytes(stream_autotune, 1000000, clock_read);
    }
    return n_streams;
}

static struct stream_autotune
stream_autotune_new(void)
{
    struct stream_autotune stream_autotune = {0};

    now_ns = 1000;
    stream_autotune_begin(&stream_autotune, 1);
    return stream_autotune;
}

static void
more_are_added_while_they_bring_more(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 190), 4);
    stream_autotune_begin(&stream_autotune, 4);
    assert_int_equal(phase_run(&stream_autotune, 200), 2);
    assert_true(stream_autotune.is_settled);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 300), 2);
}

static void
one_stays_where_two_bring_nothing(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 105), 1);
    assert_true(stream_autotune.is_settled);
}

static void
there_is_an_end_to_it(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();
    unsigned n_streams = 1;

    for (uint64_t rate = 10; !stream_autotune.is_settled; rate *= 2) {
        stream_autotune_begin(&stream_autotune, n_streams);
        n_streams = phase_run(&stream_autotune, rate);
    }
    assert_int_equal(n_streams, LIMIT_STREAMS);
}

/* A pause spoils its own window alone. */
static void
pauses_do_not_count(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    for (unsigned i = 0; i < 60; i++) {
        now_ns += i % 10 == 5 ? 1000000000u : 10000000u;
        assert_int_equal(
            stream_autotune_record_bytes(&stream_autotune, 1000000, clock_read),
            1);
    }
    assert_true(stream_autotune.best > 90e6);
    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    stream_autotune_begin(&stream_autotune, 2);
    assert_int_equal(phase_run(&stream_autotune, 105), 1);
}

/* While those that it asked for are under way, or never come. */
static void
it_asks_once(void **state)
{
    struct stream_autotune stream_autotune = stream_autotune_new();

    assert_int_equal(phase_run(&stream_autotune, 100), 2);
    for (unsigned i = 0; i < 200; i++) {
        now_ns += 1000000;
        assert_int_equal(
            stream_autotune_record_bytes(&stream_autotune, 1000000, clock_read),
            1);
    }
}

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

    assert_int_equal(encoded_payload_next_frame_bytes(&flow, 900), 900);
    assert_null(encoded_payload_next(&flow, 900));
    add(&flow, 256, 512, 7);
    /* Up to it, then with it, not further. */
    assert_int_equal(encoded_payload_next_frame_bytes(&flow, 900), 256);
    assert_null(encoded_payload_next(&flow, 256));
    flow.framed = 256;
    assert_int_equal(encoded_payload_next_frame_bytes(&flow, 900), 512);
    assert_int_equal(encoded_payload_next_frame_bytes(&flow, 100), 100);
    assert_null(encoded_payload_next(&flow, 100));
    const struct encoded *encoded = encoded_payload_next(&flow, 512);
    assert_non_null(encoded);
    assert_int_equal(encoded->codec, CODEC_PLANES);
    assert_int_equal(encoded->stored.n_bytes, 3);
    assert_int_equal(encoded->stored.bytes[0], 7);
    encoded_payload_clear(&flow);
    assert_int_equal(encoded_payload_next_frame_bytes(&flow, 900), 900);
}

static void
what_was_passed_is_forgotten(void **state)
{
    struct send_request flow = flow_new();

    add(&flow, 0, 512, 1);
    add(&flow, 512, 512, 2);
    flow.framed = 100;
    assert_int_equal(encoded_payload_next_frame_bytes(&flow, 4000), 412);
    flow.framed = 512;
    assert_int_equal(encoded_payload_next(&flow, 512)->stored.bytes[0], 2);
    assert_int_equal(flow.n_encoded_payloads, 1);
    flow.framed = 1024;
    assert_null(encoded_payload_next(&flow, 512));
    assert_int_equal(flow.n_encoded_payloads, 0);
}

static void
what_comes_late_or_too_much_is_not_kept(void **state)
{
    struct send_request flow = flow_new();

    flow.framed = 64;
    add(&flow, 0, 128, 1);
    assert_int_equal(flow.n_encoded_payloads, 0);
    add(&flow, 128, 64, 1);
    /* It lies in the way of the one before. */
    add(&flow, 160, 64, 2);
    assert_int_equal(flow.n_encoded_payloads, 1);
    for (size_t i = 0; i < 2 * LIMIT_ENCODED_PAYLOADS; i++)
        add(&flow, 256 + 64 * i, 64, 3);
    assert_int_equal(flow.n_encoded_payloads, LIMIT_ENCODED_PAYLOADS);
    encoded_payload_clear(&flow);
    assert_int_equal(flow.n_encoded_payloads, 0);
}

static void
what_is_larger_coded_is_not_kept(void **state)
{
    struct send_request flow = flow_new();

    add(&flow, 0, 2, 1);
    assert_int_equal(flow.n_encoded_payloads, 0);
    add(&flow, 0, 3, 1);
    assert_int_equal(flow.n_encoded_payloads, 1);
    encoded_payload_clear(&flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_are_added_while_they_bring_more),
        cmocka_unit_test(one_stays_where_two_bring_nothing),
        cmocka_unit_test(there_is_an_end_to_it),
        cmocka_unit_test(pauses_do_not_count),
        cmocka_unit_test(it_asks_once),
        cmocka_unit_test(payload_is_found_where_the_next_frame_begins),
        cmocka_unit_test(what_was_passed_is_forgotten),
        cmocka_unit_test(what_comes_late_or_too_much_is_not_kept),
        cmocka_unit_test(what_is_larger_coded_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
