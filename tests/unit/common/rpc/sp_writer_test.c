/* tests/unit/common/rpc/sp_writer_test.c - rpc/sp_stream.c on a socket pair */

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "rpc/rpc_tls.h"
#include "rpc/sp_stream.h"

enum {
    LARGE = 1024 * 1024,
};

static struct control_stream control_stream;
static int other;

static int
pair_open(void **state)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    control_stream = (struct control_stream){.fd = fds[0]};
    other = fds[1];
    return 0;
}

static int
pair_close(void **state)
{
    control_stream_close(&control_stream);
    close(other);
    return 0;
}

static uint8_t *
bytes_make(size_t n_bytes)
{
    uint8_t *bytes = malloc(n_bytes);

    assert_non_null(bytes);
    memset(bytes, 'x', n_bytes);
    return bytes;
}

static void
writer_sends_hello_raw_and_frame(void **state)
{
    static const uint8_t expected[] = "\0SP\0\0\x30\0\0"
                                      "xxx"
                                      "\0\0\0\0\0\0\0\x06\x80\0\0\7xx";
    struct sp_writer writer = {0};
    uint8_t heard[64];

    assert_true(sp_writer_is_idle(&writer));
    sp_writer_set_hello(&writer, sp_hello_request);
    assert_false(sp_writer_is_idle(&writer));
    assert_ok(sp_writer_send(&writer, &control_stream));
    sp_writer_set_raw(&writer, bytes_make(3), 3);
    assert_ok(sp_writer_send(&writer, &control_stream));
    sp_writer_set_frame(&writer, 7, bytes_make(2), 2);
    assert_ok(sp_writer_send(&writer, &control_stream));
    assert_true(sp_writer_is_idle(&writer));

    assert_int_equal(recv(other, heard, sizeof(heard), 0),
                     sizeof(expected) - 1);
    assert_memory_equal(heard, expected, sizeof(expected) - 1);
}

static void
writer_goes_on_where_the_socket_stopped(void **state)
{
    struct sp_writer writer = {0};
    uint8_t heard[4096];
    size_t n_heard = 0;
    enum hoop_status status;

    sp_writer_set_frame(&writer, 1, bytes_make(LARGE), LARGE);
    status = sp_writer_send(&writer, &control_stream);
    assert_int_equal(status, HOOP_E_PENDING);
    while (status == HOOP_E_PENDING || n_heard < SP_HEADER_BYTES + LARGE) {
        const ssize_t n = recv(other, heard, sizeof(heard), 0);

        n_heard += n > 0 ? (size_t)n : 0;
        status = sp_writer_send(&writer, &control_stream);
    }
    assert_ok(status);
    assert_int_equal(n_heard, SP_HEADER_BYTES + LARGE);
}

static void
writer_to_nobody_fails(void **state)
{
    struct sp_writer writer = {0};

    shutdown(other, SHUT_RDWR);
    sp_writer_set_frame(&writer, 1, bytes_make(8), 8);
    assert_int_equal(sp_writer_send(&writer, &control_stream),
                     HOOP_E_UNAVAILABLE);
    assert_false(sp_writer_is_idle(&writer));
    sp_writer_deinit(&writer);
    assert_true(sp_writer_is_idle(&writer));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writer_sends_hello_raw_and_frame,
                                        pair_open, pair_close),
        cmocka_unit_test_setup_teardown(writer_goes_on_where_the_socket_stopped,
                                        pair_open, pair_close),
        cmocka_unit_test_setup_teardown(writer_to_nobody_fails, pair_open,
                                        pair_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
