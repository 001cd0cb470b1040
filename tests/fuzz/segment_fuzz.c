/*
 * tests/fuzz/segment_fuzz.c - a peer that writes anything into shared memory
 *
 * Rank 1 shares a segment with this rank and writes into it what the input
 * says: frames that would be right, any bytes at any place, counts of its own
 * making, flags; between two turns of this rank, which is receiving and sending
 * at the same time. Nothing is written beside the buffers, and who breaks a
 * rule is lost once, with a reason.
 */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "net/wakeup.h"
#include "test_transport.h"
#include "transport/shm/segment.h"

enum {
    TOTAL = 4096,
    GUARD_BYTES = 64,
    GUARD = 0xa5,
    STEPS_MAX = 128,
};

static uint8_t room[GUARD_BYTES + TOTAL + GUARD_BYTES];
static uint8_t leaving[TOTAL];

/* A count that the reader or the writer here will look at. */
static void
count_write(_Atomic uint64_t *count, struct input *input)
{
    static const uint64_t jumps[] = {
        0,          1,       63, 64, 128, 192, RING_PIECE_BYTES, LIMIT_RING_MIN,
        UINT64_MAX, 1u << 31};
    const uint8_t how = input_byte(input);
    const uint64_t jump = jumps[(how & 15) % (sizeof(jumps) / sizeof(*jumps))];
    const uint64_t now = atomic_load(count);

    atomic_store(count, how & 64 ? jump : how & 32 ? now - jump : now + jump);
}

/* As the peer would, or nearly. */
static void
frame_write(struct segment *far, struct input *input, uint64_t *n_sent)
{
    static uint8_t bytes[2 * LIMIT_FRAME_HEADER + TOTAL];
    const uint8_t how = input_byte(input);
    const uint32_t n_left = (uint32_t)(TOTAL - *n_sent);
    const uint32_t n = n_left < 500 ? n_left : 500;
    struct frame frame = how & 1 ? frame_collective(*n_sent, n, TOTAL)
                                 : frame_message(1, 0, 100, 100);
    struct iovec span = {bytes, 0};

    frame.flags = FRAME_EAGER;
    span.iov_len = frame_bytes(&frame, leaving, bytes);
    if (how & 128)
        bytes[input_byte(input)] ^= input_byte(input);
    if (how & 1)
        *n_sent += n;
    (void)ring_write(&far->out, &span, 1);
}

static void
step(struct segment *far, struct input *input, uint64_t *n_sent)
{
    const uint8_t what = input_byte(input);

    switch (what % 6) {
    case 0:
    case 1:
        frame_write(far, input, n_sent);
        return;
    case 2:
        count_write(&far->out.control->written, input);
        return;
    case 3:
        count_write(&far->in.control->read, input);
        return;
    case 4: {
        const size_t place =
            (size_t)input_byte(input) * 256 + input_byte(input);
        const struct input part = input_part(input, what >> 3);

        memcpy(far->out.bytes + place % LIMIT_RING_MIN, part.bytes,
               part.n_bytes);
        return;
    }
    default:
        atomic_store(&far->out.control->has_ended, what >> 7);
        atomic_store(&far->in.control->reader_sleeps, what >> 6 & 1);
        atomic_store(&far->out.control->writer_sleeps, what >> 5 & 1);
        return;
    }
}

static void
play(struct test_transport *test_transport,
     struct segment *far,
     struct input *input)
{
    struct recv_request recv_request =
        recv_request_collective(1, room + GUARD_BYTES, TOTAL);
    struct send_request send_request =
        send_request_collective(1, leaving, TOTAL);
    uint64_t n_sent = 0;

    transport_receive(test_transport->transport, &recv_request);
    transport_send(test_transport->transport, &send_request);
    for (unsigned i = 0;
         i < STEPS_MAX && input->n_bytes > 0 && test_transport->n_lost == 0;
         i++) {
        step(far, input, &n_sent);
        test_transport_settle(test_transport);
    }
    fuzz_require(test_transport->n_lost <= 1);
    fuzz_require(test_transport->n_lost == 0 || test_transport->text[0]);
    transport_receive_cancel(test_transport->transport, &recv_request);
    transport_send_cancel(test_transport->transport, &send_request);
    for (int at = 0; at < GUARD_BYTES; at++) {
        fuzz_require(room[at] == GUARD);
        fuzz_require(room[GUARD_BYTES + TOTAL + at] == GUARD);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    struct segment *near = NULL;
    struct segment *far = NULL;
    struct shared_memory_handle place;
    struct test_transport test_transport;
    int fds[2];

    if (segment_create(LIMIT_RING_MIN, &place, &near) != HOOP_OK)
        return 0;
    fuzz_require(segment_open(&place, &far) == HOOP_OK);
    segment_close_fd(near);
    memset(room, GUARD, sizeof(room));
    fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    test_transport_open(&test_transport, 0, CODEC_NONE);
    transport_add_shm_connection(test_transport.transport, 1, fds[0], near);
    play(&test_transport, far, &input);
    test_transport_close(&test_transport);
    segment_destroy(far);
    close(fds[1]);
    return 0;
}
