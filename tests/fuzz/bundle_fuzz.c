/*
 * tests/fuzz/bundle_fuzz.c - a peer that writes any marks and streams at all
 *
 * The input says how many connections there are, what each of them carries, in
 * which pieces it comes, and how much is read at a time. What is put together
 * is held against a reading of docs/wire-format.md that has all bytes before it
 * and no sockets: never a byte more, less or else, and an error where that has
 * one.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "transport/stream/stream_group.h"

enum {
    STREAMS = 3, /* the first, and two beside it; others are not there */
    STREAM_BYTES = 16384,
    OUT_BYTES = STREAMS * STREAM_BYTES,
    READ_MAX = 257,
};

struct wire {
    uint8_t bytes[STREAM_BYTES];
    size_t n_bytes;
    size_t n_fed;
    size_t n_read; /* by the oracle */
};

static struct wire wires[STREAMS];
static uint8_t expected[OUT_BYTES];
static uint8_t found[OUT_BYTES];

/* A mark, or bytes, to one of the connections. */
static void
record_add(struct input *input)
{
    const uint8_t what = input_byte(input);
    struct wire *wire = &wires[what % STREAMS];
    size_t n_bytes = input_byte(input);

    if (wire->n_bytes + STREAM_GROUP_MARK_BYTES + 1 > STREAM_BYTES)
        return;
    if (what % STREAMS == 0 && what & 0x80) {
        uint8_t *mark = wire->bytes + wire->n_bytes;

        /* Mostly one of those that are there, and of some length. */
        memset(mark, 0, STREAM_GROUP_MARK_BYTES);
        mark[0] = what & 0x40 ? input_byte(input) : (what >> 2 & 7) % STREAMS;
        mark[4] = (uint8_t)n_bytes;
        mark[5] = what & 0x20 ? input_byte(input) : 0;
        wire->n_bytes += STREAM_GROUP_MARK_BYTES;
        return;
    }
    const struct input part = input_part(input, n_bytes);
    n_bytes = part.n_bytes;
    if (n_bytes > STREAM_BYTES - wire->n_bytes)
        n_bytes = STREAM_BYTES - wire->n_bytes;
    memcpy(wire->bytes + wire->n_bytes, part.bytes, n_bytes);
    wire->n_bytes += n_bytes;
}

static uint32_t
number_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

/* What comes out of all that is written. Returns whether it ends with a mark
 * that must be refused. */
static int
oracle(size_t *out_n_bytes)
{
    struct wire *first = &wires[0];
    size_t n_out = 0;

    *out_n_bytes = 0;
    while (first->n_bytes - first->n_read >= STREAM_GROUP_MARK_BYTES) {
        const uint8_t *mark = first->bytes + first->n_read;
        const uint32_t stream = number_at(mark);
        size_t n_bytes = number_at(mark + 4);

        if (stream > LIMIT_STREAMS || n_bytes == 0)
            return 1;
        first->n_read += STREAM_GROUP_MARK_BYTES;
        if (stream >= STREAMS)
            return 0; /* Its connection may come yet. */
        struct wire *wire = &wires[stream];
        const size_t n_here = wire->n_bytes - wire->n_read;
        const int is_cut = n_bytes > n_here;

        if (is_cut)
            n_bytes = n_here;
        memcpy(expected + n_out, wire->bytes + wire->n_read, n_bytes);
        wire->n_read += n_bytes;
        n_out += n_bytes;
        *out_n_bytes = n_out;
        if (is_cut)
            return 0;
    }
    return 0;
}

/* Some more of each connection: pieces of any size, any of them first. */
static int
feed(const int fds[STREAMS], struct input *input)
{
    int n_left = 0;

    for (int i = 0; i < STREAMS; i++) {
        struct wire *wire = &wires[i];
        size_t n_bytes = 1 + (size_t)input_byte(input) * 4;

        if (n_bytes > wire->n_bytes - wire->n_fed || input->n_bytes == 0)
            n_bytes = wire->n_bytes - wire->n_fed;
        if (n_bytes > 0)
            fuzz_require(send(fds[i], wire->bytes + wire->n_fed, n_bytes,
                              MSG_NOSIGNAL) == (ssize_t)n_bytes);
        wire->n_fed += n_bytes;
        n_left += wire->n_fed < wire->n_bytes;
    }
    return n_left > 0;
}

/* Until nothing more is here. Returns whether a mark was refused. */
static int
drain(struct stream_group *stream_group, struct input *input, size_t *n_found)
{
    for (;;) {
        const size_t n_wanted = 1 + (size_t)input_byte(input) % READ_MAX;
        uint8_t room[READ_MAX];
        const struct iovec spans[2] = {
            {room, n_wanted / 2},
            {room + n_wanted / 2, n_wanted - n_wanted / 2}};
        const ssize_t n = stream_group_receive(stream_group, spans, 2);

        if (n < 0 && errno == EBADMSG)
            return 1;
        fuzz_require(n > 0 || errno == EAGAIN);
        if (n <= 0)
            return 0;
        fuzz_require((size_t)n <= n_wanted);
        fuzz_require(*n_found + (size_t)n <= sizeof(found));
        memcpy(found + *n_found, room, (size_t)n);
        *n_found += (size_t)n;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    struct input records = input_part(&input, n_bytes - n_bytes / 4);
    struct stream_group *stream_group = stream_group_create();
    int far[STREAMS];
    int first = -1;
    size_t n_expected;
    size_t n_found = 0;
    int is_refused = 0;
    int is_more = 1;

    fuzz_require(stream_group);
    for (int i = 0; i < STREAMS; i++) {
        int fds[2];

        wires[i].n_bytes = wires[i].n_fed = wires[i].n_read = 0;
        fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) ==
                     0);
        far[i] = fds[1];
        if (i == 0)
            first = stream_group->fds[0] = fds[0];
        else
            fuzz_require(stream_group_add(stream_group, (unsigned)i, fds[0]));
    }
    while (records.n_bytes > 0)
        record_add(&records);
    const int must_refuse = oracle(&n_expected);

    stream_group_start_receiving(stream_group, NULL, 0);
    while (is_more && !is_refused) {
        is_more = feed(far, &input);
        is_refused = drain(stream_group, &input, &n_found);
    }
    fuzz_require(is_refused == must_refuse);
    fuzz_require(n_found == n_expected);
    fuzz_require(memcmp(found, expected, n_found) == 0);
    stream_group_destroy(stream_group);
    close(first);
    for (int i = 0; i < STREAMS; i++)
        close(far[i]);
    return 0;
}
