/* tests/unit/worker/transport/stream/stream_group_test.c - stream_group.c */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "segments.h"
#include "transport/stream/stream_group.h"
#include "unit/worker/transport/test_transport.h"

enum {
    STREAMS = 3,
    LARGE = 3 << 20,
    LITTLE = 1000,
};

/* Two ends; [0] of the descriptors is the first connection. */
struct rig {
    struct stream_group *out;
    struct stream_group *in;
    int first[2];
    uint8_t *sent;
    uint8_t *got;
    size_t n_sent;
    size_t n_got;
};

static struct rig rig;

static void
stream_add(unsigned stream)
{
    int fds[2];

    pair_open(fds);
    assert_true(stream_group_add(rig.out, stream, fds[0]));
    assert_true(stream_group_add(rig.in, stream, fds[1]));
}

static int
rig_open(void **state)
{
    rig = (struct rig){.out = stream_group_create(),
                       .in = stream_group_create(),
                       .sent = malloc(LARGE),
                       .got = malloc(LARGE)};
    assert_true(rig.out && rig.in && rig.sent && rig.got);
    pair_open(rig.first);
    rig.out->fds[0] = rig.first[0];
    rig.in->fds[0] = rig.first[1];
    for (unsigned i = 1; i <= STREAMS; i++)
        stream_add(i);
    rig.out->n_streams = STREAMS;
    pattern_fill(rig.sent, LARGE, 3);
    stream_group_start_receiving(rig.in, NULL, 0);
    return 0;
}

static int
rig_close(void **state)
{
    stream_group_destroy(rig.out);
    stream_group_destroy(rig.in);
    close(rig.first[0]);
    if (rig.first[1] >= 0)
        close(rig.first[1]);
    free(rig.sent);
    free(rig.got);
    return 0;
}

/* Up to n_bytes more, as three spans. */
static ssize_t
send_some(size_t n_bytes)
{
    const size_t n_left = LARGE - rig.n_sent;
    const size_t n = n_bytes < n_left ? n_bytes : n_left;
    const size_t n_part = n / 3;
    const struct iovec spans[3] = {
        {rig.sent + rig.n_sent, n_part},
        {rig.sent + rig.n_sent + n_part, n_part},
        {rig.sent + rig.n_sent + 2 * n_part, n - 2 * n_part},
    };
    const ssize_t n_sent = stream_group_send(rig.out, spans, 3);

    if (n_sent > 0)
        rig.n_sent += (size_t)n_sent;
    return n_sent;
}

static ssize_t
receive_some(size_t n_bytes)
{
    const size_t n_left = LARGE - rig.n_got;
    const size_t n = n_bytes < n_left ? n_bytes : n_left;
    const struct iovec spans[2] = {
        {rig.got + rig.n_got, n / 2},
        {rig.got + rig.n_got + n / 2, n - n / 2},
    };
    const ssize_t n_read = stream_group_receive(rig.in, spans, 2);

    if (n_read > 0)
        rig.n_got += (size_t)n_read;
    return n_read;
}

static void
all_goes(size_t n_each, size_t n_each_read)
{
    while (rig.n_got < LARGE) {
        if (rig.n_sent < LARGE || stream_group_has_unsent(rig.out))
            assert_true(send_some(n_each) >= 0 || errno == EAGAIN);
        assert_true(receive_some(n_each_read) > 0 || errno == EAGAIN);
    }
    assert_memory_equal(rig.sent, rig.got, LARGE);
}

static void
bytes_come_out_as_they_went_in(void **state)
{
    all_goes(1 << 20, 300000);
}

static void
bytes_of_any_size_come_out_as_they_went_in(void **state)
{
    unsigned seed = 1;

    while (rig.n_got < LARGE) {
        seed = seed * 1103515245u + 12345u;
        const size_t n_bytes =
            1 + (seed >> 8) % (1u << (8 + seed / 65536 % 12));

        if (rig.n_sent < LARGE || stream_group_has_unsent(rig.out))
            assert_true(send_some(n_bytes) >= 0 || errno == EAGAIN);
        if (seed & 4)
            assert_true(receive_some(n_bytes + 7) > 0 || errno == EAGAIN);
    }
    assert_memory_equal(rig.sent, rig.got, LARGE);
}

static size_t
waiting(int fd)
{
    static uint8_t room[1 << 20];
    const ssize_t n = recv(fd, room, sizeof(room), MSG_PEEK | MSG_DONTWAIT);

    return n < 0 ? 0 : (size_t)n;
}

static void
little_goes_behind_its_mark(void **state)
{
    assert_int_equal(send_some(LITTLE), LITTLE);
    assert_int_equal(waiting(rig.in->fds[0]), STREAM_GROUP_MARK_BYTES + LITTLE);
    assert_int_equal(stream_group_next_read(rig.in), 0);
    /* Read in parts: what has been read ahead is no descriptor's. */
    assert_int_equal(receive_some(100), 100);
    assert_true(stream_group_is_readable(rig.in));
    assert_int_equal(receive_some(LITTLE), LITTLE - 100);
    assert_false(stream_group_is_readable(rig.in));
}

static void
much_goes_over_all_and_only_its_marks_over_the_first(void **state)
{
    const ssize_t n_sent = send_some(210000);
    size_t n_waiting = 0;

    assert_true(n_sent > 0);
    for (unsigned i = 1; i <= STREAMS; i++) {
        assert_true(waiting(rig.in->fds[i]) > 0);
        n_waiting += waiting(rig.in->fds[i]);
    }
    assert_int_equal(n_waiting, n_sent);
    assert_true(waiting(rig.in->fds[0]) <= 4 * STREAM_GROUP_MARK_BYTES);
}

/* The one that is full is passed over, and told of. */
static void
full_connection_is_passed_over(void **state)
{
    static uint8_t junk[1 << 16];

    while (send(rig.out->fds[2], junk, sizeof(junk),
                MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
    assert_true(send_some(200000) > 0);
    assert_true(rig.out->blocked & 1u << 2);
    assert_true(waiting(rig.in->fds[1]) > 0 && waiting(rig.in->fds[3]) > 0);
}

static void
marks_that_find_no_room_are_owed(void **state)
{
    while (send_some(LITTLE) > 0)
        continue;
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(rig.out->blocked, 1);
    while (rig.out->n_inline_bytes_left == 0 &&
           !stream_group_has_unsent(rig.out) && send_some(200000) > 0)
        continue;
    assert_true(rig.out->n_inline_bytes_left > 0 ||
                stream_group_has_unsent(rig.out));
    all_goes(200000, 200000);
    assert_false(stream_group_has_unsent(rig.out));
}

static void
mark_of_a_connection_that_is_not_here_waits_for_it(void **state)
{
    int fds[2];

    pair_open(fds);
    assert_false(stream_group_is_complete(rig.out, 4));
    assert_true(stream_group_add(rig.out, 4, fds[0]));
    assert_true(stream_group_is_complete(rig.out, 4));
    rig.out->n_streams = 4;
    rig.out->last_striped_stream = 3;
    const ssize_t n_sent = send_some(70000);
    assert_true(n_sent > 0);
    assert_int_equal(receive_some(70000), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(stream_group_next_read(rig.in), 4);
    assert_true(stream_group_add(rig.in, 4, fds[1]));
    assert_true(receive_some(70000) > 0);
    all_goes(1 << 20, 1 << 20);
}

static void
connection_is_added_once(void **state)
{
    assert_false(stream_group_add(rig.in, 1, rig.first[0]));
    assert_false(stream_group_add(rig.in, 0, rig.first[0]));
    assert_false(stream_group_add(rig.in, LIMIT_STREAMS + 1, rig.first[0]));
}

static void
what_is_no_mark_is_refused(void **state)
{
    static const uint8_t marks[][STREAM_GROUP_MARK_BYTES] = {
        {9, 0, 0, 0, 1}, {1, 1, 0, 0, 1}, {1, 0, 0, 0, 0}, {0}};

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        stream_group_start_receiving(rig.in, marks[i], STREAM_GROUP_MARK_BYTES);
        for (unsigned k = 0; k < 2; k++) {
            assert_int_equal(receive_some(10), -1);
            assert_int_equal(errno, EBADMSG);
        }
    }
}

static void
ends_are_told_apart(void **state)
{
    assert_int_equal(stream_group_find_broken(rig.in), 0);
    assert_true(send_some(200000) > 0);
    shutdown(rig.first[0], SHUT_WR);
    while (receive_some(200000) > 0)
        continue;
    assert_int_equal(rig.n_got, rig.n_sent);
    assert_int_equal(receive_some(1), 0);
    close(rig.first[1]);
    rig.first[1] = -1;
    rig.in->fds[0] = -1;
    /* Its first may have been shut by both: that is no break. */
    assert_int_equal(stream_group_find_broken(rig.out), 0);
    shutdown(rig.in->fds[2], SHUT_RDWR);
    assert_int_equal(stream_group_find_broken(rig.out), 1u << 2);
}

static void
dropped_connection_is_not_waited_for(void **state)
{
    static const uint8_t mark[STREAM_GROUP_MARK_BYTES] = {2, 0, 0, 0, 1};

    stream_group_start_receiving(rig.in, mark, sizeof(mark));
    stream_group_close_stream(rig.in, 2);
    assert_false(stream_group_is_complete(rig.in, 2));
    assert_false(stream_group_add(rig.in, 2, 0));
    assert_int_equal(receive_some(10), -1);
    assert_int_equal(errno, ECONNRESET);
}

static void
end_of_one_beside_the_first_is_a_loss(void **state)
{
    static const uint8_t mark[STREAM_GROUP_MARK_BYTES] = {2, 0, 0, 0, 1};

    stream_group_start_receiving(rig.in, mark, sizeof(mark));
    shutdown(rig.out->fds[2], SHUT_WR);
    assert_int_equal(receive_some(10), -1);
    assert_int_equal(errno, ECONNRESET);
    stream_group_destroy(NULL);
}

#define RIG_TEST(name)                                                         \
    cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(bytes_come_out_as_they_went_in),
        RIG_TEST(bytes_of_any_size_come_out_as_they_went_in),
        RIG_TEST(little_goes_behind_its_mark),
        RIG_TEST(much_goes_over_all_and_only_its_marks_over_the_first),
        RIG_TEST(full_connection_is_passed_over),
        RIG_TEST(marks_that_find_no_room_are_owed),
        RIG_TEST(mark_of_a_connection_that_is_not_here_waits_for_it),
        RIG_TEST(connection_is_added_once),
        RIG_TEST(what_is_no_mark_is_refused),
        RIG_TEST(ends_are_told_apart),
        RIG_TEST(end_of_one_beside_the_first_is_a_loss),
        RIG_TEST(dropped_connection_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
