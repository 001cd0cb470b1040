/*
 * tests/fuzz/receive_fuzz.c - a peer that sends any frames at all
 *
 * Rank 1 has proved itself, and sends what it likes while a collective and a
 * message are expected of it, and something is on its way to it. A record is a
 * header as it is, or one that could be right but for some fields, so that what
 * lies behind the first checks is reached, too. Nothing is written beside the
 * buffers; who breaks a rule is lost once, with a reason.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "test_transport.h"
#include "wire/pack.h"
#include "wire/schema.h"

enum {
    TOTAL = 4096,
    GUARD_BYTES = 64,
    GUARD = 0xa5,
    LONG = 3 << 20, /* beyond what goes unasked */
    RECORDS_MAX = 256,
};

enum place {
    COLLECTIVE,
    PIECES,
    MESSAGE,
    PLACES,
};

static uint8_t rooms[PLACES][GUARD_BYTES + TOTAL + GUARD_BYTES];
static uint8_t leaving[LONG];

static uint64_t n_frames;

/* Numbers at which something changes. */
static const uint64_t numbers[] = {
    0,         1,         2,          63,         64,   TOTAL - 1,
    TOTAL,     TOTAL + 1, 64 * 1024,  1 << 20,    LONG, LIMIT_FRAME_PAYLOAD + 1,
    INT32_MAX, INT64_MAX, UINT32_MAX, UINT64_MAX,
};

static void
field_change(struct frame *frame, uint8_t which, uint8_t how)
{
    const uint64_t number = numbers[how & 15];
    unsigned field = 0;

#define FIELD_CHANGE(member, type, max)                                        \
    if (field++ == which % FRAME_N_FIELDS)                                     \
        frame->member = (type)(how & 16   ? frame->member + number             \
                               : how & 32 ? frame->member - number             \
                                          : number);
    FRAME_FIELDS(FIELD_CHANGE)
}

/* As frame_encode(), also what no sender would say. */
static void
header_write(const struct frame *frame, uint8_t out[LIMIT_FRAME_HEADER])
{
    static const char magic[] = "HOOP";
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_FRAME_HEADER);
    pack_array(&pack, FRAME_N_FIELDS);
#define FIELD_PACK(member, type, max) pack_uint(&pack, frame->member);
    FRAME_FIELDS(FIELD_PACK)
    memset(out, 0, LIMIT_FRAME_HEADER);
    memcpy(out, magic, PREAMBLE_VERSION);
    out[PREAMBLE_VERSION] = FRAME_VERSION;
    out[PREAMBLE_LENGTH] = (uint8_t)pack.n_bytes;
    memcpy(out + PREAMBLE_BYTES, pack.bytes,
           pack.n_bytes < ARRAY_ROOM ? pack.n_bytes : ARRAY_ROOM);
}

/* What would be right, once n_sent bytes of the collective have come. */
static struct frame
frame_expected(uint8_t what, uint64_t n_sent)
{
    static const struct frame others[] = {
        {.kind = FRAME_ANNOUNCE, .total = TOTAL},
        {.kind = FRAME_ANNOUNCE, .flags = FRAME_POINT_TO_POINT, .total = TOTAL},
        {.kind = FRAME_GRANT, .offset = LONG, .total = LONG},
        {.kind = FRAME_CREDIT, .total = 4096},
        {.kind = FRAME_FAILURE_NOTICE, .raw = 100, .stored = 100},
        {.kind = FRAME_HEARTBEAT, .flags = FRAME_ASKS},
        {.kind = FRAME_GOODBYE},
        {.kind = FRAME_STRIPED, .total = 2},
    };
    const uint64_t left = TOTAL - n_sent;
    const uint32_t n = (uint32_t)(left < 1000 ? left : 1000);
    struct frame frame;

    switch (what % 12) {
    case 0:
    case 1:
    case 2:
        frame = frame_collective(n_sent, n, TOTAL);
        frame.flags = FRAME_EAGER;
        frame.step = what % 12 == 2 ? 3 : 2;
        return frame;
    case 3:
        return frame_message(1, 0, 1000, TOTAL);
    default:
        frame = others[what % 12 - 4];
        frame.epoch = TEST_TRANSPORT_EPOCH;
        frame.comm = TEST_TRANSPORT_COMM;
        frame.op = 1;
        frame.step = 2;
        frame.signature = TEST_TRANSPORT_SIGNATURE;
        frame.call = test_transport_label.call;
        return frame;
    }
}

static void
header_feed(struct test_transport *test_transport, struct input *input)
{
    const struct input header = input_part(input, LIMIT_FRAME_HEADER);

    test_transport_feed_bytes(test_transport, 1,
                              (struct codec_span){header.bytes, header.n_bytes},
                              header.n_bytes);
}

static void
record_feed(struct test_transport *test_transport,
            struct input *input,
            uint64_t *n_sent)
{
    static uint8_t bytes[LIMIT_FRAME_HEADER + LIMIT_FRAME_PAYLOAD];
    static const size_t n_each[] = {sizeof(bytes), 100, 4096, 13};
    const uint8_t what = input_byte(input);
    const unsigned n_changes = what >> 6;
    struct frame frame = frame_expected(what & 15, *n_sent);

    if ((what & 15) >= 12) {
        header_feed(test_transport, input);
        return;
    }
    for (unsigned i = 0; i < n_changes; i++) {
        const uint8_t which = input_byte(input);

        field_change(&frame, which, input_byte(input));
    }
    if (n_changes == 0 && (what & 15) < 2)
        *n_sent += frame.raw;
    const size_t n_stored =
        frame.stored > LIMIT_FRAME_PAYLOAD ? 0 : frame.stored;
    const size_t n_bytes =
        LIMIT_FRAME_HEADER +
        (n_stored + LIMIT_FRAME_PAD - 1) / LIMIT_FRAME_PAD * LIMIT_FRAME_PAD;

    header_write(&frame, bytes);
    test_transport_feed_bytes(test_transport, 1,
                              (struct codec_span){bytes, n_bytes},
                              n_each[what >> 4 & 3]);
}

static void
rooms_check(void)
{
    for (int i = 0; i < PLACES; i++) {
        for (int at = 0; at < GUARD_BYTES; at++) {
            fuzz_require(rooms[i][at] == GUARD);
            fuzz_require(rooms[i][GUARD_BYTES + TOTAL + at] == GUARD);
        }
    }
}

/* What nobody reads would stop the transport's own frames. */
static void
answers_drop(struct test_transport *test_transport)
{
    static uint8_t dropped[65536];

    while (recv(test_transport->raw[1], dropped, sizeof(dropped),
                MSG_DONTWAIT) > 0)
        continue;
}

static void
frames_say(void)
{
    fprintf(stderr, "%llu frames\n", (unsigned long long)n_frames);
}

static void
play(struct test_transport *test_transport, struct input *input)
{
    struct sink sink = {.bytes = rooms[PIECES] + GUARD_BYTES};
    struct recv_request inflows[PLACES] = {
        [COLLECTIVE] =
            recv_request_collective(1, rooms[COLLECTIVE] + GUARD_BYTES, TOTAL),
        [PIECES] = recv_request_collective(1, NULL, TOTAL),
        [MESSAGE] = {.key = {.comm = TEST_TRANSPORT_COMM,
                             .peer = FLOW_ANY_PEER,
                             .kind = FLOW_MESSAGE},
                     .label = &test_transport_label,
                     .place = rooms[MESSAGE] + GUARD_BYTES,
                     .element_size = 1,
                     .total = TOTAL},
    };
    struct send_request send_request =
        send_request_collective(1, leaving, LONG);
    uint64_t n_sent = 0;

    inflows[PIECES].key.step = 3;
    inflows[PIECES].element_size = 8;
    inflows[PIECES].owner = &sink;
    for (int i = 0; i < PLACES; i++)
        transport_receive(test_transport->transport, &inflows[i]);
    transport_send(test_transport->transport, &send_request);
    for (unsigned i = 0;
         i < RECORDS_MAX && input->n_bytes > 0 && test_transport->n_lost == 0;
         i++) {
        n_frames++;
        record_feed(test_transport, input, &n_sent);
        answers_drop(test_transport);
    }
    fuzz_require(test_transport->n_lost <= 1);
    fuzz_require(test_transport->n_lost == 0 || test_transport->text[0]);
    for (int i = 0; i < PLACES; i++)
        transport_receive_cancel(test_transport->transport, &inflows[i]);
    transport_send_cancel(test_transport->transport, &send_request);
    rooms_check();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const enum transport_unexpected_action fates[] = {
        TRANSPORT_KEEP, TRANSPORT_DROP, TRANSPORT_MISMATCH};
    struct input input = {bytes, n_bytes};
    struct test_transport test_transport;

    if (n_bytes == 0)
        return 0;
    if (n_frames == 0)
        atexit(frames_say);
    memset(rooms, GUARD, sizeof(rooms));
    test_transport_open(&test_transport, 0, CODEC_NONE);
    test_transport_attach(&test_transport, 1);
    test_transport.action = fates[input_byte(&input) % 3];
    play(&test_transport, &input);
    test_transport_close(&test_transport);
    return 0;
}
