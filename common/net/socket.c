/*
 * net/socket.c - non-blocking TCP sockets; descriptors are close-on-exec
 *
 * Buffer sizes are never set: the kernel's autotuning does better, and a fixed
 * size switches it off. Connections within a host use no paced congestion
 * control such as bbr (docs/decisions/0012-connections-between-ranks.md).
 */

#include "net/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/process.h"
#include "net/wakeup.h"

enum {
    /* A vanished host is noticed after about a minute of silence. Heartbeats
     * are faster; this covers connections on which nothing is awaited. */
    KEEPALIVE_IDLE_S = 30,
    KEEPALIVE_INTERVAL_S = 10,
    KEEPALIVE_COUNT = 3,
    /* Limits the retransmission timeout (TCP_RTO_MAX_MS, Linux 6.15), which
     * would otherwise grow to two minutes. */
    RESEND_MAX_OPTION = 44,
    RESEND_MAX_MS = 1500,
    /* TCP_THIN_LINEAR_TIMEOUTS: the first six retransmissions of a stream that
     * carries little use the same timeout. */
    THIN_OPTION = 16,
    /* With the smaller timeout the kernel's count of attempts would give up
     * after 20 s, before a longer failure timeout. */
    UNSENT_MAX_MS = 3600000,
};

static const char CONNECT[] = "connect to";

static void
socket_set(int fd, int level, int option, int value)
{
    /* Without one of these options it still works, only worse. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

static void
socket_set_tcp_options(int fd)
{
    socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    socket_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    socket_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    socket_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    socket_set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
    socket_set(fd, IPPROTO_TCP, THIN_OPTION, 1);
    socket_set(fd, IPPROTO_TCP, RESEND_MAX_OPTION, RESEND_MAX_MS);
}

/* Congestion controls that neither pace nor probe for a bottleneck. Which of
 * them an unprivileged process may choose differs from host to host. */
static const char *const unpaced[] = {"cubic", "reno"};

/* The name of a congestion control. */
struct congestion {
    char name[16];
};

static struct congestion
congestion_get(int fd)
{
    struct congestion congestion = {0};
    socklen_t n_bytes = sizeof(congestion.name) - 1;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion.name,
                   &n_bytes) != 0)
        congestion.name[0] = '\0';
    return congestion;
}

static bool
congestion_set(int fd, const char *name)
{
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
                      (socklen_t)strlen(name)) == 0;
}

/* Matches bbr, bbr2 and so on. */
static bool
congestion_is_paced(const struct congestion *congestion)
{
    return strncmp(congestion->name, "bbr", 3) == 0;
}

/* Called before the socket connects or listens: a connection established under
 * bbr stays paced whatever is set later. */
static void
socket_disable_pacing(int fd)
{
    const struct congestion congestion = congestion_get(fd);

    for (size_t i = 0;
         congestion_is_paced(&congestion) && i < COUNT_OF(unpaced); i++) {
        if (congestion_set(fd, unpaced[i]))
            return;
    }
}

/* Return to the system's congestion control if that paces. */
static void
socket_restore_pacing(int fd)
{
    const struct congestion congestion = congestion_get(fd);
    bool is_ours = false;

    for (size_t i = 0; i < COUNT_OF(unpaced); i++)
        is_ours |= strcmp(congestion.name, unpaced[i]) == 0;
    if (!is_ours)
        return;
    const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (other < 0)
        return;
    const struct congestion system = congestion_get(other);
    close(other);
    if (congestion_is_paced(&system))
        (void)congestion_set(fd, system.name);
}

/* Both ends are known now: use pacing again unless they are on the same
 * host. */
static void
socket_pace_if_remote(int fd, const struct address *to)
{
    struct address peer = *to;
    struct address local;

    address_unmap_ipv4(&peer);
    if (socket_local_address(fd, &local) == HOOP_OK &&
        !address_same_host(&local, &peer))
        socket_restore_pacing(fd);
}

static const struct sockaddr *
socket_sockaddr(const struct address *address)
{
    return (const struct sockaddr *)&address->storage;
}

/* Raise the error of a socket that should connect to or listen on the
 * address. */
static enum hoop_status
socket_raise(const char *verb, const struct address *address, int error)
{
    const enum resource_call call =
        strcmp(verb, CONNECT) == 0 ? RESOURCE_CONNECT : RESOURCE_DESCRIPTOR;
    char text[LIMIT_ADDRESS];
    char why[RESOURCE_LIMIT_TEXT];

    address_format(address, text);
    return error_raise(resource_error_status(call, error), "cannot %s %s: %s",
                       verb, text, resource_error_describe(call, error, why));
}

static enum hoop_status
socket_open(const struct address *address, const char *verb, int *out_fd)
{
    const int fd = socket(address->storage.ss_family,
                          SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return socket_raise(verb, address, errno);
    descriptor_track(fd);
    *out_fd = fd;
    return HOOP_OK;
}

static enum hoop_status
socket_listen_at(const struct address *address, int backlog, int *out_fd)
{
    int fd = -1;

    const enum hoop_status status = socket_open(address, "listen on", &fd);
    if (status != HOOP_OK)
        return error_pass(status);

    socket_disable_pacing(fd);
    socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (address->storage.ss_family == AF_INET6)
        socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, socket_sockaddr(address), address->n_bytes) != 0 ||
        listen(fd, backlog) != 0) {
        const int error = errno;

        socket_close(fd);
        return socket_raise("listen on", address, error);
    }
    *out_fd = fd;
    return HOOP_OK;
}

enum hoop_status
socket_listen(const struct address *address, int backlog, int *out_fd)
{
    struct address any4 = {
        .storage.ss_family = AF_INET,
        .n_bytes = sizeof(struct sockaddr_in),
    };

    const enum hoop_status status = socket_listen_at(address, backlog, out_fd);
    if (status == HOOP_OK)
        return HOOP_OK;
    if (address->storage.ss_family != AF_INET6 || !address_is_any(address))
        return error_pass(status);

    /* "::" means both families, but IPv6 may be disabled here. */
    address_set_port(&any4, address_port(address));
    return socket_listen_at(&any4, backlog, out_fd);
}

void
socket_listeners_close(struct socket_listeners *listeners)
{
    for (size_t i = 0; i < listeners->n; i++)
        socket_close(listeners->fds[i]);
    listeners->n = 0;
}

/* Open one more listener. port is that of the former ones, or 0. */
static enum hoop_status
listeners_add(struct socket_listeners *listeners,
              const struct address *address,
              uint16_t port,
              int backlog)
{
    struct address wanted = *address;
    int fd = -1;

    if (address_port(&wanted) == 0)
        address_set_port(&wanted, port);
    enum hoop_status status = socket_listen(&wanted, backlog, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        socket_local_address(fd, &listeners->addresses.items[listeners->n]);
    if (status != HOOP_OK) {
        socket_close(fd);
        return error_pass(status);
    }
    listeners->fds[listeners->n++] = fd;
    listeners->addresses.n = listeners->n;
    return HOOP_OK;
}

enum hoop_status
socket_listen_all(const char *text,
                  int backlog,
                  struct socket_listeners *out_listeners)
{
    struct socket_listeners listeners = {0};
    struct address_list wanted;
    uint16_t port = 0;

    enum hoop_status status = address_resolve_listen(text, &wanted);
    for (size_t i = 0; status == HOOP_OK && i < wanted.n; i++) {
        status = listeners_add(&listeners, &wanted.items[i], port, backlog);
        if (status == HOOP_OK)
            port = address_port(&listeners.addresses.items[i]);
    }
    if (status != HOOP_OK) {
        socket_listeners_close(&listeners);
        return error_pass(status);
    }
    *out_listeners = listeners;
    return HOOP_OK;
}

/* Return whether the error concerns the pending connection and not the
 * listener. */
static bool
accept_error_is_transient(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO ||
           error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN ||
           error == ENONET || error == EHOSTUNREACH || error == EOPNOTSUPP ||
           error == ENETUNREACH || error == EPERM;
}

bool
socket_has_pending(int fd)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};

    return poll(&waiting, 1, 0) == 1;
}

enum hoop_status
socket_accept(int fd, int *out_fd, struct address *out_peer)
{
    struct address peer;
    char why[RESOURCE_LIMIT_TEXT];
    int accepted;

    do {
        peer.n_bytes = sizeof(peer.storage);
        accepted = accept4(fd, (struct sockaddr *)&peer.storage, &peer.n_bytes,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (accepted < 0 && accept_error_is_transient(errno));

    if (accepted < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return HOOP_E_PENDING;
    if (accepted < 0)
        return error_raise(
            HOOP_E_EXHAUSTED, "cannot accept a connection: %s",
            resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));

    descriptor_track(accepted);
    socket_set_tcp_options(accepted);
    socket_pace_if_remote(accepted, &peer);
    address_unmap_ipv4(&peer);
    *out_fd = accepted;
    *out_peer = peer;
    return HOOP_OK;
}

enum hoop_status
socket_connect(const struct address *address, int *out_fd)
{
    int fd = -1;

    const enum hoop_status status = socket_open(address, CONNECT, &fd);
    if (status != HOOP_OK)
        return error_pass(status);

    socket_set_tcp_options(fd);
    socket_disable_pacing(fd);
    if (connect(fd, socket_sockaddr(address), address->n_bytes) != 0 &&
        errno != EINPROGRESS && errno != EINTR) {
        const int error = errno;

        socket_close(fd);
        return socket_raise(CONNECT, address, error);
    }
    socket_pace_if_remote(fd, address);
    *out_fd = fd;
    return HOOP_OK;
}

enum hoop_status
socket_connect_result(int fd)
{
    struct address local;
    struct address peer;
    int error = 0;
    socklen_t n_bytes = sizeof(error);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes) != 0)
        error = errno;
    if (error != 0)
        return error_raise(HOOP_E_UNAVAILABLE, "cannot connect: %s",
                           strerror(error));

    if (socket_peer_address(fd, &peer) != HOOP_OK ||
        socket_local_address(fd, &local) != HOOP_OK)
        return error_raise(HOOP_E_UNAVAILABLE, "cannot connect: %s",
                           strerror(ENOTCONN));

    /* TCP connects a socket to itself if no socket listens on an ephemeral port
     * of this host. */
    if (address_same_host(&local, &peer) &&
        address_port(&local) == address_port(&peer))
        return error_raise(HOOP_E_UNAVAILABLE, "cannot connect: %s",
                           strerror(ECONNREFUSED));
    return HOOP_OK;
}

enum hoop_status
socket_local_address(int fd, struct address *out_address)
{
    struct address address = {.n_bytes = sizeof(address.storage)};

    if (getsockname(fd, (struct sockaddr *)&address.storage,
                    &address.n_bytes) != 0)
        return error_raise(HOOP_E_INTERNAL, "no local address: %s",
                           strerror(errno));
    address_unmap_ipv4(&address);
    *out_address = address;
    return HOOP_OK;
}

enum hoop_status
socket_peer_address(int fd, struct address *out_address)
{
    struct address address = {.n_bytes = sizeof(address.storage)};

    if (getpeername(fd, (struct sockaddr *)&address.storage,
                    &address.n_bytes) != 0)
        return error_raise(HOOP_E_UNAVAILABLE, "no peer address: %s",
                           strerror(errno));
    address_unmap_ipv4(&address);
    *out_address = address;
    return HOOP_OK;
}

bool
socket_is_local(int fd)
{
    struct address local;
    struct address peer;

    if (socket_local_address(fd, &local) != HOOP_OK ||
        socket_peer_address(fd, &peer) != HOOP_OK)
        return true;
    return address_same_host(&local, &peer);
}

void
socket_extend_user_timeout(int fd)
{
    socket_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNSENT_MAX_MS);
}

bool
socket_get_silent_ms(int fd, uint64_t *out_n_ms)
{
    struct tcp_info info;
    socklen_t n_bytes = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n_bytes) != 0 ||
        n_bytes < offsetof(struct tcp_info, tcpi_last_ack_recv))
        return false;
    *out_n_ms = info.tcpi_last_data_recv;
    return true;
}

uint64_t
socket_silent_ms_at_accept(int fd)
{
    uint64_t n_ms = 0;

    return !socket_has_pending(fd) && socket_get_silent_ms(fd, &n_ms) ? n_ms
                                                                      : 0;
}

void
socket_close(int fd)
{
    descriptor_close(fd);
}

/* Pause an accept loop while no connection can be accepted. */

bool
accept_pause_is_needed(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS ||
           error == ENOMEM;
}

/* Return how many descriptors this process may open; 0: not known. */
static uint64_t
descriptors_max(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}

uint64_t
accept_pause_begin(struct accept_pause *pause,
                   const char *port,
                   const char *reason,
                   uint64_t now_ns)
{
    const uint64_t interval_ns = LIMIT_ACCEPT_LOG_MS * CLOCK_NS_PER_MS;

    pause->n_pauses++;
    if (pause->logged_ns && now_ns < pause->logged_ns + interval_ns)
        return LIMIT_ACCEPT_PAUSE_MS;

    log_warning("net",
                "the %s cannot take another connection: %s (this process may "
                "open %" PRIu64 " descriptors); it closes idle connections and "
                "tries again every %d ms (%" PRIu64 " pauses since the last "
                "such line)",
                port, reason, descriptors_max(), LIMIT_ACCEPT_PAUSE_MS,
                pause->n_pauses);
    *pause = (struct accept_pause){.logged_ns = now_ns};
    return LIMIT_ACCEPT_PAUSE_MS;
}
