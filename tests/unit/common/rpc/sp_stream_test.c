/* tests/unit/common/rpc/sp_stream_test.c - rpc/sp_stream.c */

#include <stdbool.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "rpc/sp_stream.h"

static const uint8_t hello[] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};
static const uint8_t frame_bytes[] = {
    0, 0, 0, 0, 0, 0, 0, 7, 0x80, 0, 0x01, 0x02, 'a', 'b', 'c',
};

static void
reader_feed(struct sp_reader *reader, const void *bytes, size_t n_bytes)
{
    const uint8_t *from = bytes;

    while (n_bytes > 0) {
        uint8_t *room;
        size_t n_room;

        assert_ok(sp_reader_reserve(reader, &room, &n_room));
        assert_true(n_room > 0);
        const size_t n = n_room < n_bytes ? n_room : n_bytes;
        memcpy(room, from, n);
        sp_reader_commit(reader, n);
        from += n;
        n_bytes -= n;
    }
}

static void
sp_header_is_as_documented(void **state)
{
    uint8_t header[SP_HEADER_BYTES];

    sp_header_encode(0x0102, 3, header);
    assert_memory_equal(header, frame_bytes, sizeof(header));
    assert_memory_equal(sp_hello_request, "\0SP\0\0\x30\0\0", SP_HELLO_BYTES);
    assert_memory_equal(sp_hello_reply, hello, SP_HELLO_BYTES);
}

static void
sp_frames_come_out_however_they_are_cut(void **state)
{
    uint8_t stream[sizeof(hello) + 3 * sizeof(frame_bytes)];

    memcpy(stream, hello, sizeof(hello));
    for (size_t i = 0; i < 3; i++)
        memcpy(stream + sizeof(hello) + i * sizeof(frame_bytes), frame_bytes,
               sizeof(frame_bytes));

    for (size_t step = 1; step <= sizeof(stream); step++) {
        struct sp_reader reader = {0};
        struct sp_frame frame;
        bool is_greeted = false;
        int n_frames = 0;

        for (size_t at = 0; at < sizeof(stream); at += step) {
            const size_t left = sizeof(stream) - at;

            reader_feed(&reader, stream + at, left < step ? left : step);
            if (!is_greeted)
                is_greeted = sp_reader_read_server_hello(&reader) == HOOP_OK;
            while (is_greeted &&
                   sp_reader_next_frame(&reader, &frame) == HOOP_OK) {
                assert_int_equal(frame.id, 0x0102);
                assert_int_equal(frame.body.n_bytes, 3);
                assert_memory_equal(frame.body.bytes, "abc", 3);
                n_frames++;
            }
        }
        assert_int_equal(n_frames, 3);
        sp_reader_deinit(&reader);
    }
}

static void
sp_wrong_hello_is_refused_at_its_first_wrong_byte(void **state)
{
    for (size_t i = 0; i < sizeof(hello); i++) {
        struct sp_reader reader = {0};
        uint8_t wrong[sizeof(hello)];

        memcpy(wrong, hello, sizeof(hello));
        wrong[i] ^= 1;
        reader_feed(&reader, wrong, i);
        assert_int_equal(sp_reader_read_server_hello(&reader), HOOP_E_PENDING);
        reader_feed(&reader, wrong + i, 1);
        assert_int_equal(sp_reader_read_server_hello(&reader),
                         HOOP_E_DATA_LOSS);
        sp_reader_deinit(&reader);
    }
}

static enum hoop_status
header_judge(uint64_t size, uint8_t mark)
{
    struct sp_reader reader = {0};
    struct sp_frame frame;
    uint8_t header[SP_HEADER_BYTES] = {0};

    for (int i = 0; i < 8; i++)
        header[i] = (uint8_t)(size >> (56 - 8 * i));
    header[8] = mark;
    reader_feed(&reader, header, sizeof(header));
    const enum hoop_status status = sp_reader_next_frame(&reader, &frame);
    sp_reader_deinit(&reader);
    return status;
}

static void
sp_impossible_headers_are_refused(void **state)
{
    assert_ok(header_judge(4, 0x80));
    assert_int_equal(header_judge(4, 0x00), HOOP_E_DATA_LOSS);
    assert_int_equal(header_judge(3, 0x80), HOOP_E_DATA_LOSS);
    assert_int_equal(header_judge(0, 0x80), HOOP_E_DATA_LOSS);
    assert_int_equal(header_judge(UINT64_MAX, 0x80), HOOP_E_DATA_LOSS);
    assert_int_equal(header_judge(LIMIT_RPC_MESSAGE + 4, 0x80), HOOP_E_PENDING);
    assert_int_equal(header_judge(LIMIT_RPC_MESSAGE + 5, 0x80),
                     HOOP_E_DATA_LOSS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sp_header_is_as_documented),
        cmocka_unit_test(sp_frames_come_out_however_they_are_cut),
        cmocka_unit_test(sp_wrong_hello_is_refused_at_its_first_wrong_byte),
        cmocka_unit_test(sp_impossible_headers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
