/* tests/unit/tools/hooprun/link_test.c - hooprun/link.c */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/link.h"

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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    close(link->in_fd);
    link->in_fd = -1;
    link_send_number(link, FRAME_ENDED, 0, 0);
    assert_int_equal(link->n_queued, 0);
    assert_true(signal(SIGPIPE, SIG_DFL) == SIG_DFL);
    link_free(link);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_hands_on_what_was_sent),
        cmocka_unit_test(link_queues_what_does_not_fit),
        cmocka_unit_test(link_waits_for_the_rest_of_a_frame),
        cmocka_unit_test(link_that_ended_and_one_that_is_damaged_are_told),
        cmocka_unit_test(link_without_a_reader_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
