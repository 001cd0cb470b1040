/* hooprun/link.c - sends frames between hooprun and its agent on another
 * host */

#include "hooprun/link.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "hooprun/host_list.h"

static void
number_encode(char bytes[static 4], uint32_t number)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(number >> (8 * i));
}

static uint32_t
number_decode(const char bytes[static 4])
{
    uint32_t number = 0;

    for (int i = 0; i < 4; i++)
        number |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
    return number;
}

static size_t
frame_size(const char *header)
{
    return LINK_HEADER_BYTES + (unsigned char)header[2] +
           ((size_t)(unsigned char)header[3] << 8);
}

static void
queue_append(struct link *link, const char *bytes, size_t n_bytes)
{
    if (link->n_queued + n_bytes > link->n_allocated) {
        link->n_allocated = 2 * (link->n_queued + n_bytes);
        link->queue = realloc(link->queue, link->n_allocated);
        if (!link->queue)
            err(EXIT_FAILURE, "no memory for what is to be sent");
    }
    if (n_bytes > 0)
        memcpy(link->queue + link->n_queued, bytes, n_bytes);
    link->n_queued += n_bytes;
}

ssize_t
link_write(int fd, const void *bytes, size_t n_bytes)
{
    const sighandler_t former = signal(SIGPIPE, SIG_IGN);
    const ssize_t n = write(fd, bytes, n_bytes);
    const int error = errno;

    signal(SIGPIPE, former);
    errno = error;
    return n;
}

/* Written frame by frame, since a signal handler may send its own in
 * between. */
void
link_flush(struct link *link)
{
    size_t at = 0;

    while (link->out_fd >= 0 && at < link->n_queued) {
        const size_t n_bytes = frame_size(link->queue + at);
        const ssize_t n =
            link_write(link->out_fd, link->queue + at + link->n_sent,
                       n_bytes - link->n_sent);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        /* The other end has gone, which reading will report. */
        if (n < 0) {
            link->n_queued = at = link->n_sent = 0;
            break;
        }
        link->n_sent += (size_t)n;
        if (link->n_sent < n_bytes)
            continue;
        at += n_bytes;
        link->n_sent = 0;
    }
    if (at > 0)
        memmove(link->queue, link->queue + at, link->n_queued - at);
    link->n_queued -= at;
}

void
link_send(struct link *link, const struct frame *frame)
{
    char header[LINK_HEADER_BYTES] = {
        (char)frame->kind,
        (char)frame->stream,
        (char)(frame->n_bytes & 0xff),
        (char)(frame->n_bytes >> 8),
    };

    number_encode(header + 4, frame->rank);
    queue_append(link, header, sizeof(header));
    queue_append(link, frame->bytes, frame->n_bytes);
    link_flush(link);
}

void
link_send_all(struct link *link,
              enum frame_kind kind,
              const char *bytes,
              size_t n_bytes)
{
    for (size_t at = 0; at < n_bytes; at += LINK_PAYLOAD_MAX) {
        const size_t n_left = n_bytes - at;

        link_send(link,
                  &(struct frame){
                      .kind = kind,
                      .n_bytes = n_left < LINK_PAYLOAD_MAX ? (uint16_t)n_left
                                                           : LINK_PAYLOAD_MAX,
                      .bytes = bytes + at,
                  });
    }
}

void
link_send_number(struct link *link,
                 enum frame_kind kind,
                 uint32_t rank,
                 uint32_t number)
{
    char bytes[4];

    number_encode(bytes, number);
    link_send(link, &(struct frame){kind, 0, sizeof(bytes), rank, bytes});
}

uint32_t
frame_number(const struct frame *frame)
{
    return frame->n_bytes < 4 ? 0 : number_decode(frame->bytes);
}

enum link_state
link_deliver(struct link *link, frame_fn *on_frame, void *owner)
{
    size_t at = 0;

    while (link->n_in - at >= LINK_HEADER_BYTES) {
        const char *header = link->in + at;
        const size_t n_bytes = frame_size(header);
        const struct frame frame = {
            .kind = (enum frame_kind)(unsigned char)header[0],
            .stream = (uint8_t)header[1],
            .n_bytes = (uint16_t)(n_bytes - LINK_HEADER_BYTES),
            .rank = number_decode(header + 4),
            .bytes = header + LINK_HEADER_BYTES,
        };

        if (n_bytes > LINK_FRAME_MAX)
            return LINK_DAMAGED;
        if (link->n_in - at < n_bytes)
            break;
        at += n_bytes;
        on_frame(owner, &frame);
    }
    memmove(link->in, link->in + at, link->n_in - at);
    link->n_in -= at;
    return LINK_OPEN;
}

enum link_state
link_receive(struct link *link, frame_fn *on_frame, void *owner)
{
    const ssize_t n =
        read(link->in_fd, link->in + link->n_in, sizeof(link->in) - link->n_in);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return LINK_OPEN;
    if (n <= 0)
        return LINK_ENDED;
    link->n_in += (size_t)n;
    return link_deliver(link, on_frame, owner);
}

void
link_close(struct link *link)
{
    if (link->in_fd >= 0)
        close(link->in_fd);
    if (link->out_fd >= 0)
        close(link->out_fd);
    free(link->queue);
    *link = (struct link){.in_fd = -1, .out_fd = -1};
}

/* Used by the signal handler. */
static int ping_fds[HOST_LIST_MAX];
static volatile sig_atomic_t n_ping_fds;

static void
ping_all(int number)
{
    static const char ping[LINK_HEADER_BYTES] = {FRAME_PING};
    const int error = errno;

    (void)number;
    for (int i = 0; i < n_ping_fds; i++)
        link_write(ping_fds[i], ping, sizeof(ping));
    errno = error;
}

void
link_pings_set(const int *fds, int n_fds)
{
    n_ping_fds = 0;
    for (int i = 0; i < n_fds; i++)
        ping_fds[i] = fds[i];
    n_ping_fds = n_fds;
}

void
link_pings_start(void)
{
    const struct sigaction action = {
        .sa_handler = ping_all,
        .sa_flags = SA_RESTART,
    };
    const struct itimerval interval = {{LINK_PING_S, 0}, {LINK_PING_S, 0}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &interval, NULL);
}

void
link_pings_stop(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    n_ping_fds = 0;
}
