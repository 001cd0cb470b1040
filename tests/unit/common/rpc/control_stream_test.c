/* tests/unit/common/rpc/control_stream_test.c - rpc/rpc_tls.c on socket
 * pairs */

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "rpc/rpc_tls.h"

enum {
    LARGE = 1024 * 1024,
    TURNS_MAX = 100000,
};

struct rig {
    struct rpc_tls *seals[2];
    struct control_stream ends[2];
};

static void
rig_open(struct rig *rig)
{
    int fds[2];

    *rig = (struct rig){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    rig->ends[0].fd = fds[0];
    rig->ends[1].fd = fds[1];
}

static void
rig_open_sealed(struct rig *rig)
{
    static const struct tls_files none;
    enum hoop_status status = HOOP_E_PENDING;

    rig_open(rig);
    assert_ok(rpc_tls_create_client(&none, "secret", &rig->seals[0]));
    assert_ok(rpc_tls_create_server(&none, "secret", &rig->seals[1]));
    assert_ok(
        rpc_tls_connect(rig->seals[0], rig->ends[0].fd, &rig->ends[0].tls));
    assert_ok(
        rpc_tls_accept(rig->seals[1], rig->ends[1].fd, &rig->ends[1].tls));
    for (int i = 0; i < 10 && status == HOOP_E_PENDING; i++) {
        (void)tls_handshake(rig->ends[0].tls);
        status = tls_handshake(rig->ends[1].tls);
    }
    assert_ok(status);
}

static void
rig_close(struct rig *rig)
{
    for (int i = 0; i < 2; i++) {
        control_stream_close(&rig->ends[i]);
        rpc_tls_destroy(rig->seals[i]);
        assert_int_equal(rig->ends[i].fd, -1);
    }
}

static size_t
send_some(struct control_stream *from, uint8_t *bytes, size_t n_bytes)
{
    const struct iovec spans[] = {{bytes, n_bytes / 2},
                                  {bytes + n_bytes / 2, n_bytes - n_bytes / 2}};
    size_t n = 0;

    if (n_bytes == 0)
        (void)control_stream_flush(from);
    else
        (void)control_stream_send(from, spans, 2, &n);
    return n;
}

/* More than the socket takes goes over in turns. */
static void
carry(struct rig *rig)
{
    CLEANUP(free) uint8_t *said = malloc(LARGE);
    CLEANUP(free) uint8_t *heard = malloc(LARGE);
    size_t n_said = 0;
    size_t n_heard = 0;

    for (size_t i = 0; i < LARGE; i++)
        said[i] = (uint8_t)(i * 2654435761u >> 13);
    for (int i = 0; i < TURNS_MAX && n_heard < LARGE; i++) {
        size_t n = 0;

        n_said += send_some(&rig->ends[0], said + n_said, LARGE - n_said);
        if (control_stream_receive(&rig->ends[1], heard + n_heard,
                                   LARGE - n_heard, &n) == HOOP_OK)
            n_heard += n;
    }
    assert_int_equal(n_heard, LARGE);
    assert_memory_equal(said, heard, LARGE);
    assert_ok(control_stream_flush(&rig->ends[0]));
    assert_false(control_stream_has_unsent(&rig->ends[0]));
    assert_false(control_stream_is_ready(&rig->ends[1]));
}

static void
assert_end(struct rig *rig)
{
    uint8_t bytes[8];
    size_t n;

    assert_int_equal(
        control_stream_receive(&rig->ends[1], bytes, sizeof(bytes), &n),
        HOOP_E_PENDING);
    control_stream_close(&rig->ends[0]);
    assert_int_equal(
        control_stream_receive(&rig->ends[1], bytes, sizeof(bytes), &n),
        HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(error_text(), "closed the connection"));
}

static void
control_stream_plain_carries_all(void **state)
{
    struct rig rig;

    rig_open(&rig);
    carry(&rig);
    assert_end(&rig);
    rig_close(&rig);
}

static void
control_stream_sealed_carries_all(void **state)
{
    struct rig rig;

    rig_open_sealed(&rig);
    carry(&rig);
    assert_end(&rig);
    rig_close(&rig);
}

static void
control_stream_sealed_tells_of_what_tls_holds(void **state)
{
    uint8_t bytes[100] = {0};
    const struct iovec span = {bytes, sizeof(bytes)};
    struct rig rig;
    size_t n;

    rig_open_sealed(&rig);
    assert_ok(control_stream_send(&rig.ends[0], &span, 1, &n));
    assert_ok(control_stream_receive(&rig.ends[1], bytes, 10, &n));
    assert_int_equal(n, 10);
    assert_true(control_stream_is_ready(&rig.ends[1]));
    assert_ok(control_stream_receive(&rig.ends[1], bytes, sizeof(bytes), &n));
    assert_int_equal(n, 90);
    assert_false(control_stream_is_ready(&rig.ends[1]));
    rig_close(&rig);
}

/* What is no record of this connection's. */
static void
control_stream_sealed_ends_where_bytes_are_inserted(void **state)
{
    static const char record[] = "\x17\x03\x03\x00\x20"
                                 "0123456789abcdef0123456789abcdef";
    uint8_t bytes[8];
    struct rig rig;
    size_t n;

    rig_open_sealed(&rig);
    assert_int_equal(send(rig.ends[0].fd, record, sizeof(record) - 1, 0),
                     sizeof(record) - 1);
    assert_int_equal(
        control_stream_receive(&rig.ends[1], bytes, sizeof(bytes), &n),
        HOOP_E_UNAUTHENTICATED);
    rig_close(&rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_stream_plain_carries_all),
        cmocka_unit_test(control_stream_sealed_carries_all),
        cmocka_unit_test(control_stream_sealed_tells_of_what_tls_holds),
        cmocka_unit_test(control_stream_sealed_ends_where_bytes_are_inserted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
