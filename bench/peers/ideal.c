/*
 * bench/peers/ideal.c - an allreduce over plain sockets, without a library
 *
 * Usage: ideal N ring|doubling spin|yield|poll SCHEDULE [CALL]. It forks N
 * ranks with one thread each, which use nonblocking TCP on loopback; no system
 * call moves more than CALL bytes (default 1M). "ring" is reduce-scatter and
 * allgather as one stream of bytes, in which each byte is forwarded as soon as
 * it has been summed. "doubling" exchanges the whole vector with one partner
 * per step; N must be a power of two. There are no headers, no matching and no
 * handling of failures, so a library need not be as fast as this, and cannot be
 * much faster. If HOSTS is set, rank r's sockets belong to host r of hosts.sh,
 * which takes root.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "forked_ranks.h"

enum patience {
    PATIENCE_SPIN,
    PATIENCE_YIELD,
    PATIENCE_POLL,
};

enum allreduce {
    ALLREDUCE_RING,
    ALLREDUCE_DOUBLING,
};

static enum allreduce allreduce;
static int size;
static int rank;
static enum patience patience;
static size_t call_max = 1 << 20;
static char *scratch;
static int sockets[FORKED_RANKS_MAX][FORKED_RANKS_MAX]; /* [own][peer] */

/* The position in the stream of segments in one direction of the ring. */
struct stream {
    int fd;
    int step;
    size_t at; /* bytes of the step's segment that have been moved */
};

/* The segment of a step, in bytes. */
struct segment {
    size_t start;
    size_t n_bytes;
};

static size_t
smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void
sum(float *restrict into, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        into[i] += from[i];
}

/* Returns the bytes that send() or recv() moved, or 0 if it would block. */
static size_t
moved(ssize_t n_bytes)
{
    if (n_bytes > 0)
        return (size_t)n_bytes;
    if (n_bytes == 0 || errno != EAGAIN)
        plain_fail("socket");
    return 0;
}

static void
rest(const struct stream *out, const struct stream *in)
{
    struct pollfd fds[2] = {
        {.fd = in ? in->fd : -1, .events = POLLIN},
        {.fd = out ? out->fd : -1, .events = POLLOUT},
    };

    if (patience == PATIENCE_YIELD)
        sched_yield();
    if (patience == PATIENCE_POLL)
        poll(fds, 2, 1000);
}

static struct segment
segment_of(size_t count, int step)
{
    const size_t index = (size_t)(((rank - step) % size + size) % size);
    const size_t start = count * index / (size_t)size;
    const size_t end = count * (index + 1) / (size_t)size;

    return (struct segment){start * sizeof(float),
                            (end - start) * sizeof(float)};
}

static void
stream_advance(struct stream *stream, size_t n_moved, size_t n_bytes)
{
    stream->at += n_moved;
    if (stream->at == n_bytes) {
        stream->step++;
        stream->at = 0;
    }
}

/* Returns how many bytes of the outgoing segment may be sent: step s forwards
 * what step s - 1 has received and summed, without an incomplete last
 * element. */
static size_t
ring_n_ready(const struct stream *out, const struct stream *in, size_t n_bytes)
{
    if (out->step == 0 || in->step >= out->step)
        return n_bytes;
    return in->step == out->step - 1 ? in->at / sizeof(float) * sizeof(float)
                                     : 0;
}

static int
ring_send(struct stream *out,
          const struct stream *in,
          float *buffer,
          size_t count)
{
    const struct segment segment = segment_of(count, out->step);
    const size_t n_ready = ring_n_ready(out, in, segment.n_bytes);
    size_t n_sent = 0;

    if (n_ready > out->at)
        n_sent =
            moved(send(out->fd, (char *)buffer + segment.start + out->at,
                       smaller(n_ready - out->at, call_max), MSG_DONTWAIT));
    const int step = out->step;
    stream_advance(out, n_sent, segment.n_bytes);
    return n_sent > 0 || out->step > step;
}

static int
ring_receive(struct stream *in, float *buffer, size_t count)
{
    const struct segment segment = segment_of(count, in->step + 1);
    const size_t n_split = in->at % sizeof(float);
    char *place = (char *)buffer + segment.start + in->at;
    size_t n_received = 0;

    const int is_summed = in->step < size - 1;
    if (in->at < segment.n_bytes)
        n_received = moved(recv(in->fd, is_summed ? scratch + n_split : place,
                                smaller(segment.n_bytes - in->at, call_max),
                                MSG_DONTWAIT));
    if (n_received > 0 && is_summed) {
        const size_t n_whole = (n_split + n_received) / sizeof(float);

        sum((float *)(void *)(place - n_split), (float *)(void *)scratch,
            n_whole);
        memmove(scratch, scratch + n_whole * sizeof(float),
                (n_split + n_received) % sizeof(float));
    }
    const int step = in->step;
    stream_advance(in, n_received, segment.n_bytes);
    return n_received > 0 || in->step > step;
}

static int
ring_wants_to_send(const struct stream *out,
                   const struct stream *in,
                   size_t count)
{
    const size_t n_bytes = segment_of(count, out->step).n_bytes;

    return ring_n_ready(out, in, n_bytes) > out->at;
}

/* A rank sends the segments rank, rank - 1, ... to the right. It receives the
 * same sequence from the left, one segment further on. */
static void
ring(float *buffer, size_t count)
{
    const int n_steps = 2 * (size - 1);
    struct stream out = {.fd = sockets[rank][(rank + 1) % size]};
    struct stream in = {.fd = sockets[rank][(rank + size - 1) % size]};

    while (out.step < n_steps || in.step < n_steps) {
        int has_moved = 0;

        if (out.step < n_steps)
            has_moved |= ring_send(&out, &in, buffer, count);
        if (in.step < n_steps)
            has_moved |= ring_receive(&in, buffer, count);
        if (!has_moved)
            rest(out.step < n_steps && ring_wants_to_send(&out, &in, count)
                     ? &out
                     : NULL,
                 in.step < n_steps ? &in : NULL);
    }
}

static void
exchange(int fd, const float *buffer, size_t n_bytes)
{
    struct stream out = {.fd = fd};
    struct stream in = {.fd = fd};

    while (out.at < n_bytes || in.at < n_bytes) {
        const size_t before = out.at + in.at;

        if (out.at < n_bytes)
            out.at +=
                moved(send(fd, (const char *)buffer + out.at,
                           smaller(n_bytes - out.at, call_max), MSG_DONTWAIT));
        if (in.at < n_bytes)
            in.at +=
                moved(recv(fd, scratch + in.at,
                           smaller(n_bytes - in.at, call_max), MSG_DONTWAIT));
        if (out.at + in.at == before)
            rest(out.at < n_bytes ? &out : NULL, in.at < n_bytes ? &in : NULL);
    }
}

static void
doubling(float *buffer, size_t count)
{
    for (int distance = 1; distance < size; distance *= 2) {
        exchange(sockets[rank][rank ^ distance], buffer, count * sizeof(float));
        sum(buffer, (float *)(void *)scratch, count);
    }
}

/* Returns a socket in the network namespace of the rank's host. */
static int
socket_on(int of_rank)
{
    const char *hosts = getenv("HOSTS");
    char path[64];

    if (hosts) {
        snprintf(path, sizeof(path), "/run/netns/%s-%d", hosts, of_rank);
        const int host = open(path, O_RDONLY);
        if (host < 0 || setns(host, CLONE_NEWNET) != 0)
            plain_fail(path);
        close(host);
    }
    return socket(AF_INET, SOCK_STREAM, 0);
}

static void
sockets_connect(int a, int b)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n_address = sizeof(address);
    const int yes = 1;

    address.sin_addr.s_addr =
        htonl(getenv("HOSTS") ? 0x0a4d0000 + (uint32_t)b + 1 : INADDR_LOOPBACK);
    const int listener = socket_on(b);
    const int dialer = socket_on(a);
    if (bind(listener, (struct sockaddr *)&address, n_address) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &n_address) != 0 ||
        connect(dialer, (struct sockaddr *)&address, n_address) != 0)
        plain_fail("connect");
    sockets[a][b] = dialer;
    sockets[b][a] = accept(listener, NULL, NULL);
    setsockopt(sockets[a][b], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    setsockopt(sockets[b][a], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    close(listener);
}

static void
sockets_run(struct driver *driver, const char *op, size_t count)
{
    (void)op;
    if (allreduce == ALLREDUCE_RING)
        ring(driver->buffer, count);
    else
        doubling(driver->buffer, count);
}

static int
index_in(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    fprintf(stderr, "usage: ideal N ring|doubling spin|yield|poll SCHEDULE "
                    "[CALL]\n");
    exit(64);
}

int
main(int argc, char **argv)
{
    static const char *const algorithms[] = {"ring", "doubling", NULL};
    static const char *const ways[] = {"spin", "yield", "poll", NULL};
    struct forked_ranks forked_ranks = {.peer = "sockets", .run = sockets_run};
    struct schedule schedule;

    allreduce = (enum allreduce)index_in(algorithms, argc > 2 ? argv[2] : "");
    patience = (enum patience)index_in(ways, argc > 4 ? argv[3] : "");
    if (argc > 5) {
        const char *text = argv[5];
        call_max = schedule_row_read(&text).n_bytes;
    }
    size = forked_ranks_size_read(argv[1]);
    snprintf(forked_ranks.transport, sizeof(forked_ranks.transport), "%s-%s",
             argv[2], argv[3]);
    forked_ranks.schedule = argv[4];
    schedule_read(forked_ranks.schedule, &schedule);

    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size; b++)
            sockets_connect(a, b);
    rank = forked_ranks_fork(&forked_ranks, size);
    const size_t n_scratch =
        allreduce == ALLREDUCE_RING ? call_max : schedule.n_bytes_max;
    scratch = plain_map(n_scratch + 64, MAP_PRIVATE);
    return forked_ranks_run(&forked_ranks);
}
