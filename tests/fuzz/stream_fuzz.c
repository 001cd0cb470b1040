/*
 * tests/fuzz/stream_fuzz.c - what a stranger sends to a coordinator, cut anyhow
 *
 * The first byte says how the stream is cut, the second how large a message may
 * be; the rest is hello and frames. A reader that gets it piece by piece, and
 * skips what is too large, finds the same frames as one look at the whole, and
 * never holds more memory than it says before, or than the largest message.
 */

#include <stdbool.h>
#include <string.h>

#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "rpc/sp_stream.h"

enum {
    FRAMES_MAX = 64,
    SIZE_BYTES = 8,
};

struct found {
    uint32_t id;
    bool is_skipped;
    size_t n_bytes;
    uint64_t sum; /* of its bytes */
};

struct findings {
    struct found frames[FRAMES_MAX];
    size_t n_frames;
    bool is_refused;
};

static uint64_t
sum_of(struct message_span span)
{
    uint64_t sum = 14695981039346656037U;

    for (size_t i = 0; i < span.n_bytes; i++)
        sum = (sum ^ span.bytes[i]) * 1099511628211U;
    return sum;
}

static void
found_add(struct findings *findings, struct found found)
{
    if (findings->n_frames < FRAMES_MAX)
        findings->frames[findings->n_frames++] = found;
}

static uint64_t
number_read(const uint8_t *bytes, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n_bytes; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* At the whole; it shares nothing with the reader. */
static void
whole_look(struct message_span in, size_t n_max, struct findings *out)
{
    const size_t n_hello =
        in.n_bytes < SP_HELLO_BYTES ? in.n_bytes : SP_HELLO_BYTES;
    size_t at = SP_HELLO_BYTES;

    out->is_refused = memcmp(in.bytes, sp_hello_request, n_hello) != 0;
    if (out->is_refused || in.n_bytes < SP_HELLO_BYTES)
        return;
    while (in.n_bytes - at >= SP_HEADER_BYTES) {
        const uint64_t size = number_read(in.bytes + at, SIZE_BYTES);
        const uint32_t id =
            (uint32_t)number_read(in.bytes + at + SIZE_BYTES, SP_ID_BYTES);

        out->is_refused = size < SP_ID_BYTES ||
                          size > SP_ID_BYTES + LIMIT_RPC_MESSAGE ||
                          id >> 31 == 0;
        if (out->is_refused)
            return;
        const size_t n_left = in.n_bytes - at - SIZE_BYTES;
        const bool is_skipped = size - SP_ID_BYTES > n_max;
        if (!is_skipped && n_left < size)
            return;
        const struct message_span body = {in.bytes + at + SP_HEADER_BYTES,
                                          (size_t)size - SP_ID_BYTES};
        found_add(out, (struct found){id & SP_ID_MAX, is_skipped,
                                      is_skipped ? 0 : body.n_bytes,
                                      is_skipped ? 0 : sum_of(body)});
        if (n_left < size)
            return;
        at += SIZE_BYTES + (size_t)size;
    }
}

/* As rpc/coordinator_connection.c does. False: it is refused. */
static bool
frames_take(struct sp_reader *reader, size_t n_max, struct findings *out)
{
    enum hoop_status status = HOOP_OK;

    if (reader->expects == SP_HELLO)
        status = sp_reader_read_client_hello(reader);
    while (status == HOOP_OK) {
        struct sp_frame frame;

        if (sp_reader_next_body_size(reader) > n_max) {
            found_add(out,
                      (struct found){sp_reader_skip_frame(reader), true, 0, 0});
            continue;
        }
        status = sp_reader_next_frame(reader, &frame);
        if (status == HOOP_OK)
            found_add(out, (struct found){frame.id, false, frame.body.n_bytes,
                                          sum_of(frame.body)});
    }
    return status == HOOP_E_PENDING;
}

static void
pieces_look(struct message_span in,
            uint8_t cut,
            size_t n_max,
            struct findings *out)
{
    struct sp_reader reader = {0};
    size_t at = 0;

    while (at < in.n_bytes && !out->is_refused) {
        const size_t n_wanted = 1 + (cut * 7 + at * (cut & 15)) % 3000;
        const size_t n_said = sp_reader_next_charged_bytes(&reader);
        uint8_t *room;
        size_t n_room;

        fuzz_require(sp_reader_reserve(&reader, &room, &n_room) == HOOP_OK);
        fuzz_require(sp_reader_charged_bytes(&reader) == n_said);
        fuzz_require(n_room > 0);
        size_t n = in.n_bytes - at;
        n = n < n_wanted ? n : n_wanted;
        n = n < n_room ? n : n_room;
        memcpy(room, in.bytes + at, n);
        at += n;
        sp_reader_commit(&reader, n);
        out->is_refused = !frames_take(&reader, n_max, out);
        if (cut & 1)
            sp_reader_trim(&reader);
        fuzz_require(sp_reader_charged_bytes(&reader) <=
                     2 * (n_max + SP_HEADER_BYTES + SP_ROOM_FREE));
    }
    sp_reader_deinit(&reader);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct findings whole = {0};
    struct findings pieces = {0};

    if (n_bytes < 3)
        return 0;
    const size_t n_max = 16 + (size_t)bytes[1] * 16;
    const struct message_span in = {bytes + 2, n_bytes - 2};
    whole_look(in, n_max, &whole);
    pieces_look(in, bytes[0], n_max, &pieces);
    fuzz_require(whole.is_refused == pieces.is_refused);
    fuzz_require(whole.n_frames == pieces.n_frames);
    for (size_t i = 0; i < whole.n_frames; i++) {
        fuzz_require(whole.frames[i].id == pieces.frames[i].id);
        fuzz_require(whole.frames[i].is_skipped == pieces.frames[i].is_skipped);
        fuzz_require(whole.frames[i].n_bytes == pieces.frames[i].n_bytes);
        fuzz_require(whole.frames[i].sum == pieces.frames[i].sum);
    }
    return 0;
}
