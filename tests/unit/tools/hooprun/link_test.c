/* tests/unit/tools/hooprun/link_test.c - hooprun/link.c, reach.c, stream.c */

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/link.h"
#include "hooprun/reach.h"
#include "hooprun/stream.h"

/* What has come, one after the other. */
struct received {
    uint32_t n_frames;
    uint32_t rank;
    uint32_t number;
    enum frame_kind kind;
    size_t n_bytes;
    char bytes[1024 * 1024];
};

static struct received received;

static void
frame_keep(void *owner, const struct frame *frame)
{
    struct received *to = owner;

    to->n_frames++;
    to->rank = frame->rank;
    to->kind = frame->kind;
    to->number = frame_number(frame);
    assert_true(to->n_bytes + frame->n_bytes <= sizeof(to->bytes));
    memcpy(to->bytes + to->n_bytes, frame->bytes, frame->n_bytes);
    to->n_bytes += frame->n_bytes;
}

/* A link to itself, through a pipe that nobody waits for. */
static struct link *
link_to_itself(void)
{
    struct link *link = calloc(1, sizeof(*link));
    int pipes[2];

    assert_non_null(link);
    assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
    link->in_fd = pipes[0];
    link->out_fd = pipes[1];
    received = (struct received){0};
    return link;
}

static void
link_free(struct link *link)
{
    link_close(link);
    free(link);
}

static void
link_hands_on_what_was_sent(void **state)
{
    struct link *link = link_to_itself();

    link_send_number(link, FRAME_ENDED, 70000, 0x81020304);
    assert_int_equal(link_receive(link, frame_keep, &received), LINK_OPEN);
    assert_int_equal(received.n_frames, 1);
    assert_int_equal(received.kind, FRAME_ENDED);
    assert_int_equal(received.rank, 70000);
    assert_true(received.number == 0x81020304);
    link_free(link);
}

/* More than the pipe holds: sending does not wait, and nothing is lost. */
static void
link_queues_what_does_not_fit(void **state)
{
    struct link *link = link_to_itself();
    const size_t n_bytes = sizeof(received.bytes);
    char *bytes = malloc(n_bytes);

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    link_send_all(link, FRAME_SETUP, bytes, n_bytes);
    assert_true(link->n_queued > 0);
    while (received.n_bytes < n_bytes) {
        assert_int_equal(link_receive(link, frame_keep, &received), LINK_OPEN);
        link_flush(link);
    }
    assert_int_equal(link->n_queued, 0);
    assert_memory_equal(received.bytes, bytes, n_bytes);
    free(bytes);
    link_free(link);
}

/* Byte by byte, as a network may have it. */
static void
link_waits_for_the_rest_of_a_frame(void **state)
{
    static const char frame[] = {FRAME_OUTPUT, 1, 2, 0, 3, 0, 0, 0, 'h', 'i'};
    struct link *link = link_to_itself();

    for (size_t i = 0; i < sizeof(frame); i++) {
        assert_int_equal(received.n_frames, 0);
        assert_int_equal(write(link->out_fd, frame + i, 1), 1);
        assert_int_equal(link_receive(link, frame_keep, &received), LINK_OPEN);
    }
    assert_int_equal(received.n_frames, 1);
    assert_int_equal(received.rank, 3);
    assert_memory_equal(received.bytes, "hi", 2);
    link_free(link);
}

static void
link_that_ended_and_one_that_is_damaged_are_told(void **state)
{
    static const char huge[LINK_HEADER_BYTES] = {FRAME_OUTPUT, 1, -1, -1};
    struct link *link = link_to_itself();

    assert_int_equal(write(link->out_fd, huge, sizeof(huge)), sizeof(huge));
    assert_int_equal(link_receive(link, frame_keep, &received), LINK_DAMAGED);
    link->n_in = 0;
    close(link->out_fd);
    link->out_fd = -1;
    assert_int_equal(link_receive(link, frame_keep, &received), LINK_ENDED);
    link_free(link);
}

/* The signal's action is what the program set it to, before and after. */
static void
link_without_a_reader_raises_no_signal(void **state)
{
    struct link *link = link_to_itself();

    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    close(link->in_fd);
    link->in_fd = -1;
    link_send_number(link, FRAME_ENDED, 0, 0);
    assert_int_equal(link->n_queued, 0);
    assert_true(signal(SIGPIPE, SIG_DFL) == SIG_DFL);
    link_free(link);
}

/* These cases test hooprun/reach.c. */

/* A listener on loopback, and its port. */
static int
listener_open(int *out_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t n_bytes = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, n_bytes), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n_bytes), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

static void
address_that_answers_is_taken_and_its_own_side_told(void **state)
{
    char list[REACH_LIST_BYTES];
    char text[REACH_TEXT_BYTES];
    struct reached reached;
    int port;
    const int fd = listener_open(&port);

    snprintf(list, sizeof(list), "127.0.0.1:1,127.0.0.1:%d,[::1]:1", port);
    assert_true(reach_first(list, "", 10000, &reached, text));
    snprintf(text, sizeof(text), "127.0.0.1:%d", port);
    assert_string_equal(reached.coordinator, text);
    assert_string_equal(reached.own, "127.0.0.1");
    close(fd);
}

static void
addresses_that_do_not_answer_are_named(void **state)
{
    char text[REACH_TEXT_BYTES];
    struct reached reached;

    assert_false(
        reach_first("127.0.0.1:1,127.0.0.2:1", "", 10000, &reached, text));
    assert_string_equal(text, "127.0.0.1:1: Connection refused; "
                              "127.0.0.2:1: Connection refused");
}

/* A name has several addresses, and the listener one of them. */
static void
name_is_tried_at_all_its_addresses(void **state)
{
    char list[REACH_LIST_BYTES];
    char text[REACH_TEXT_BYTES];
    struct reached reached;
    int port;
    const int fd = listener_open(&port);

    snprintf(list, sizeof(list), "localhost:%d", port);
    assert_true(reach_first(list, "", 10000, &reached, text));
    assert_string_equal(reached.own, "127.0.0.1");
    snprintf(list, sizeof(list), ":%d", port);
    assert_true(reach_first(list, "", 10000, &reached, text));
    close(fd);
    assert_false(reach_first("localhost:1", "", 10000, &reached, text));
    assert_null(strstr(text, "Connection refused; localhost:1: Connection"));
    assert_false(reach_first("nobody.invalid", "", 10000, &reached, text));
    assert_string_equal(text, "nobody.invalid: it has no port");
    assert_false(reach_first("999.1.1.1:1", "", 10000, &reached, text));
    assert_memory_equal(text, "999.1.1.1:1: ", 13);
    assert_string_not_equal(text, "999.1.1.1:1: no answer");
}

static void
loopback_is_known_by_its_name_and_numbers(void **state)
{
    char host[REACH_HOST_BYTES];

    assert_true(reach_is_loopback("localhost:4667", host));
    assert_string_equal(host, "localhost");
    assert_true(reach_is_loopback("10.0.0.1:1,127.9.9.9:4667", host));
    assert_string_equal(host, "127.9.9.9");
    assert_true(reach_is_loopback("[::1]:4667", host));
    assert_true(reach_is_loopback(":4667", host));
    assert_string_equal(host, "");
    assert_false(reach_is_loopback("10.0.0.1:1,[fd00::1]:1,node0:1", host));
    assert_false(reach_is_loopback("localhosts:4667", host));
}

static void
expanded_addresses_have_the_port_and_no_loopback_but_alone(void **state)
{
    char list[REACH_LIST_BYTES];

    reach_expand("0.0.0.0:4000", list);
    assert_non_null(strstr(list, ":4000"));
    if (strcmp(list, "127.0.0.1:4000") != 0)
        assert_null(strstr(list, "127."));
    assert_null(strchr(list, '['));
}

static void
free_port_can_be_listened_on(void **state)
{
    const uint16_t port = reach_free_port("127.0.0.1");

    assert_true(port > 0);
    assert_int_equal(reach_free_port("192.0.2.1"), 0);
}

/* These cases test hooprun/stream.c. */

/* What was emitted, as "W(text)P(text)...". */
struct record {
    struct stream stream;
    char text[4096];
};

static void
line_record(void *owner, enum line_kind kind, const char *bytes, size_t n_bytes)
{
    struct record *record = owner;
    const size_t n = strlen(record->text);

    snprintf(record->text + n, sizeof(record->text) - n, "%c(%.*s)",
             kind == LINE_WHOLE ? 'W' : 'P', n_bytes < 100 ? (int)n_bytes : 100,
             bytes);
}

static int
record_create(void **state)
{
    *state = calloc(1, sizeof(struct record));
    return *state ? 0 : -1;
}

static int
record_destroy(void **state)
{
    free(*state);
    return 0;
}

static void
feed(struct record *record, const char *text)
{
    stream_feed(&record->stream, text, strlen(text), line_record, record);
}

static void
end(struct record *record)
{
    stream_end(&record->stream, line_record, record);
}

static void
stream_lines_in_one_piece_are_cut(void **state)
{
    struct record *record = *state;

    feed(record, "one\n\ntwo\n");
    end(record);
    assert_string_equal(record->text, "W(one)W()W(two)");
}

static void
stream_line_in_pieces_is_joined(void **state)
{
    struct record *record = *state;

    feed(record, "o");
    feed(record, "n");
    assert_string_equal(record->text, "");
    feed(record, "e\nt");
    assert_string_equal(record->text, "W(one)");
    end(record);
    assert_string_equal(record->text, "W(one)W(t)");
}

static void
stream_return_before_newline_is_one_ending(void **state)
{
    struct record *record = *state;

    feed(record, "one\r\ntwo\r\n");
    end(record);
    assert_string_equal(record->text, "W(one)W(two)");
}

static void
stream_return_split_from_newline_is_one_ending(void **state)
{
    struct record *record = *state;

    feed(record, "one\r");
    feed(record, "\n");
    end(record);
    assert_string_equal(record->text, "P(one)W(one)");
}

static void
stream_leading_return_is_shown_at_once(void **state)
{
    struct record *record = *state;

    feed(record, "\rstep 1");
    assert_string_equal(record->text, "P(step 1)");
    feed(record, "\rstep 2");
    assert_string_equal(record->text, "P(step 1)P(step 1)P(step 2)");
    feed(record, "\rready\n");
    end(record);
    assert_string_equal(record->text,
                        "P(step 1)P(step 1)P(step 2)P(step 2)W(ready)");
}

static void
stream_erased_line_is_empty_progress(void **state)
{
    struct record *record = *state;

    feed(record, "\rstep 1");
    feed(record, "\r\033[K");
    end(record);
    assert_string_equal(record->text, "P(step 1)P(step 1)P()P()");
}

static void
stream_erase_before_text_is_dropped(void **state)
{
    struct record *record = *state;

    feed(record, "\r\033[K\033[Kresult\n");
    assert_string_equal(record->text, "W(result)");
}

static void
stream_long_line_is_cut_in_pieces(void **state)
{
    struct record *record = *state;

    for (size_t i = 0; i < STREAM_LINE_MAX / 16; i++)
        feed(record, "0123456789abcdef");
    assert_string_equal(record->text, "");
    feed(record, "rest\n");
    assert_int_equal(record->text[0], 'W');
    assert_non_null(strstr(record->text, ")W(rest)"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_hands_on_what_was_sent),
        cmocka_unit_test(link_queues_what_does_not_fit),
        cmocka_unit_test(link_waits_for_the_rest_of_a_frame),
        cmocka_unit_test(link_that_ended_and_one_that_is_damaged_are_told),
        cmocka_unit_test(link_without_a_reader_raises_no_signal),
        cmocka_unit_test(address_that_answers_is_taken_and_its_own_side_told),
        cmocka_unit_test(addresses_that_do_not_answer_are_named),
        cmocka_unit_test(name_is_tried_at_all_its_addresses),
        cmocka_unit_test(loopback_is_known_by_its_name_and_numbers),
        cmocka_unit_test(
            expanded_addresses_have_the_port_and_no_loopback_but_alone),
        cmocka_unit_test(free_port_can_be_listened_on),
        cmocka_unit_test_setup_teardown(stream_lines_in_one_piece_are_cut,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_line_in_pieces_is_joined,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(
            stream_return_before_newline_is_one_ending, record_create,
            record_destroy),
        cmocka_unit_test_setup_teardown(
            stream_return_split_from_newline_is_one_ending, record_create,
            record_destroy),
        cmocka_unit_test_setup_teardown(stream_leading_return_is_shown_at_once,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_erased_line_is_empty_progress,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_erase_before_text_is_dropped,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_long_line_is_cut_in_pieces,
                                        record_create, record_destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
