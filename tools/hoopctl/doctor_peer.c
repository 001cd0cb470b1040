/*
 * hoopctl/doctor_peer.c - tests what two hosts can send each other
 *
 * The host with --peer connects and sends "hoop-doctor 1 PORT VERSION CLOCK".
 * The other one answers "hoop-doctor 1 VERSION CLOCK". The first sends
 * DOCTOR_PROBE_BYTES. The other counts them, connects to the port, sends "COUNT
 * ERROR" (- if it could connect), and sends as many bytes on that connection.
 */

#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock_ms.h"
#include "hoopctl/doctor.h"
#include "variable.h"

enum {
    LINE_BYTES = 256,
    HOST_BYTES = 256,
    PORT_BYTES = 16,
    RESULT_WAIT_MS =
        4 * DOCTOR_WAIT_MS, /* the other side waits twice before it */
};

static bool
is_ready(int fd, short events, int wait_ms)
{
    return poll(&(struct pollfd){fd, events, 0}, 1, wait_ms) > 0;
}

/* Connect within DOCTOR_WAIT_MS. Return -1 on failure; errno says why. */
static int
address_connect(const struct addrinfo *address)
{
    const int fd = socket(address->ai_family,
                          SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t n_bytes = sizeof(int);
    int error = 0;

    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    error = errno;
    if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        if (is_ready(fd, POLLOUT, DOCTOR_WAIT_MS))
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes);
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static int
host_connect(const char *host,
             const char *port,
             char out_error[static DOCTOR_TEXT])
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1;

    const int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0) {
        snprintf(out_error, DOCTOR_TEXT, "%s", gai_strerror(error));
        return -1;
    }
    for (const struct addrinfo *it = found; it && fd < 0; it = it->ai_next)
        fd = address_connect(it);
    if (fd < 0)
        snprintf(out_error, DOCTOR_TEXT, "%s",
                 errno == ETIMEDOUT ? "no answer" : strerror(errno));
    freeaddrinfo(found);
    return fd;
}

/* Listen on all addresses of this host. Return -1 if the port is in use, or
 * none is left. */
static int
port_listen(uint16_t port)
{
    struct sockaddr_in6 both = {
        .sin6_family = AF_INET6,
        .sin6_port = htons(port),
        .sin6_addr = in6addr_any,
    };
    struct sockaddr_in only = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
    };
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool has_both = fd >= 0;

    if (!has_both)
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (has_both)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    const struct sockaddr *address =
        has_both ? (struct sockaddr *)&both : (struct sockaddr *)&only;
    if (fd >= 0 &&
        bind(fd, address, has_both ? sizeof(both) : sizeof(only)) == 0 &&
        listen(fd, 4) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Read a port number. *out_end is set to what follows it. */
static bool
port_parse(const char *text, const char **out_end, unsigned long *out_port)
{
    char *end = NULL;

    if (*text < '0' || *text > '9')
        return false;
    *out_port = strtoul(text, &end, 10);
    *out_end = end;
    return *out_port <= UINT16_MAX;
}

/* Read one port, "4668", or a range, "4668-4700". */
static bool
range_parse(const char *text, unsigned long *out_first, unsigned long *out_last)
{
    const char *end;

    if (!port_parse(text, &end, out_first))
        return false;
    *out_last = *out_first;
    if (*end == '-' && !port_parse(end + 1, &end, out_last))
        return false;
    return *end == '\0' && *out_first <= *out_last &&
           (*out_first > 0 || *out_last == 0);
}

void
doctor_ports_count(struct doctor_facts *out_facts)
{
    const char *ports = variable("HOOP_PORT");
    unsigned long first = 0;
    unsigned long last = 0;

    if (!ports || !range_parse(ports, &first, &last) || first == 0)
        return;
    snprintf(out_facts->ports, DOCTOR_TEXT, "%s", ports);
    out_facts->n_ports = (unsigned)(last - first + 1);
    for (unsigned long port = first; port <= last; port++) {
        const int fd = port_listen((uint16_t)port);

        out_facts->n_ports_free += fd >= 0;
        if (fd >= 0)
            close(fd);
    }
}

/* Listen on the first free port of a range, as a worker would. NULL: one of
 * HOOP_PORT, or any. out_error says why there is none. */
static enum hoop_status
range_listen(const char *asked, char out_error[static DOCTOR_TEXT], int *out_fd)
{
    const char *ports = asked ? asked : variable("HOOP_PORT");
    const char *name = asked ? "--listen" : "HOOP_PORT";
    unsigned long first = 0;
    unsigned long last = 0;

    if (ports && *ports && !range_parse(ports, &first, &last)) {
        snprintf(out_error, DOCTOR_TEXT,
                 "%s=%.100s: a port or a range such as 5000-5063 is expected",
                 name, ports);
        return HOOP_E_INVALID;
    }
    for (unsigned long port = first; port <= last; port++) {
        *out_fd = port_listen((uint16_t)port);
        if (*out_fd >= 0)
            return HOOP_OK;
    }
    snprintf(out_error, DOCTOR_TEXT, "cannot listen on %.100s: %s%s",
             ports && *ports ? ports : "any port", strerror(errno),
             errno == EADDRINUSE ? "; ss -tlnp says who has it" : "");
    return HOOP_E_UNAVAILABLE;
}

static uint16_t
port_of(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t n_bytes = sizeof(own);

    getsockname(fd, (struct sockaddr *)&own, &n_bytes);
    return ntohs(own.ss_family == AF_INET
                     ? ((struct sockaddr_in *)(void *)&own)->sin_port
                     : ((struct sockaddr_in6 *)(void *)&own)->sin6_port);
}

static void
host_print(const struct sockaddr_storage *address, char out_host[HOST_BYTES])
{
    const socklen_t n_bytes = address->ss_family == AF_INET
                                  ? sizeof(struct sockaddr_in)
                                  : sizeof(struct sockaddr_in6);

    if (getnameinfo((const struct sockaddr *)address, n_bytes, out_host,
                    HOST_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        strcpy(out_host, "?");
    /* An IPv4 peer appears as such an address on a socket for both families. */
    if (strncmp(out_host, "::ffff:", 7) == 0)
        memmove(out_host, out_host + 7, HOST_BYTES - 7);
}

/* Read a line without its newline. Return false if none came in time. */
static bool
line_read(int fd, char out_line[static LINE_BYTES], int wait_ms)
{
    const int64_t end_ms = now_ms() + wait_ms;
    size_t n = 0;

    while (n < LINE_BYTES - 1) {
        const int64_t left_ms = end_ms - now_ms();

        if (left_ms <= 0 || !is_ready(fd, POLLIN, (int)left_ms) ||
            recv(fd, out_line + n, 1, 0) != 1)
            return false;
        if (out_line[n] == '\n')
            break;
        n++;
    }
    out_line[n] = '\0';
    return true;
}

static void
line_send(int fd, const char *line)
{
    (void)!send(fd, line, strlen(line), MSG_NOSIGNAL);
}

/* Send DOCTOR_PROBE_BYTES, or less if the peer takes no more. */
static void
probe_send(int fd)
{
    static const char bytes[16 * 1024];
    size_t n_left = DOCTOR_PROBE_BYTES;

    while (n_left > 0 && is_ready(fd, POLLOUT, DOCTOR_WAIT_MS)) {
        const size_t n_most = n_left < sizeof(bytes) ? n_left : sizeof(bytes);
        const ssize_t n = send(fd, bytes, n_most, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN)
            return;
        n_left -= n > 0 ? (size_t)n : 0;
    }
}

/* Return how many bytes came until no more do. */
static uint64_t
probe_receive(int fd)
{
    char bytes[16 * 1024];
    uint64_t n_all = 0;

    while (n_all < DOCTOR_PROBE_BYTES && is_ready(fd, POLLIN, DOCTOR_WAIT_MS)) {
        const size_t n_left = DOCTOR_PROBE_BYTES - (size_t)n_all;
        const ssize_t n =
            recv(fd, bytes, n_left < sizeof(bytes) ? n_left : sizeof(bytes), 0);

        if (n <= 0)
            break;
        n_all += (uint64_t)n;
    }
    return n_all;
}

static uint32_t
mtu_of(int fd)
{
    int mtu = 0;
    socklen_t n_bytes = sizeof(mtu);

    if (getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &n_bytes) != 0)
        getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &n_bytes);
    return mtu > 0 ? (uint32_t)mtu : 0;
}

/* Split "host:port" or "[fd00::1]:port". */
static bool
peer_packetize(const char *peer,
               char out_host[static HOST_BYTES],
               char out_port[static PORT_BYTES])
{
    const char *colon = strrchr(peer, ':');
    const char *end = NULL;
    unsigned long port = 0;

    if (!colon || colon == peer || strlen(colon + 1) >= PORT_BYTES ||
        !port_parse(colon + 1, &end, &port) || *end != '\0' || port == 0)
        return false;
    const bool has_brackets = peer[0] == '[' && colon[-1] == ']';
    snprintf(out_host, HOST_BYTES, "%.*s",
             (int)(colon - peer) - 2 * has_brackets, peer + has_brackets);
    snprintf(out_port, PORT_BYTES, "%s", colon + 1);
    return true;
}

/* Return false if the peer did not answer with a greeting. */
static bool
greeting_exchange(int fd, int listener, struct doctor_peer *peer)
{
    const int64_t before_ms = clock_ms(CLOCK_REALTIME);
    char line[LINE_BYTES];
    char version[LINE_BYTES];
    int64_t their_ms = 0;

    snprintf(line, sizeof(line), "hoop-doctor 1 %u %s %" PRId64 "\n",
             port_of(listener), VERSION_TEXT, before_ms);
    line_send(fd, line);
    if (!line_read(fd, line, DOCTOR_WAIT_MS) ||
        sscanf(line, "hoop-doctor 1 %255s %" SCNd64, version, &their_ms) != 2)
        return false;
    snprintf(peer->version, sizeof(peer->version), "%s", version);
    peer->clock_ahead_ms =
        their_ms - (before_ms + clock_ms(CLOCK_REALTIME)) / 2;
    return true;
}

static void
result_take(int fd, int listener, struct doctor_peer *peer)
{
    char line[LINE_BYTES];
    int end = 0;

    if (!line_read(fd, line, RESULT_WAIT_MS) ||
        sscanf(line, "%" SCNu64 " %n", &peer->n_sent, &end) != 1) {
        snprintf(peer->back_error, sizeof(peer->back_error),
                 "it has not said how it went");
        return;
    }
    if (strcmp(line + end, "-") != 0) {
        snprintf(peer->back_error, sizeof(peer->back_error), "%s", line + end);
        return;
    }
    const int back = is_ready(listener, POLLIN, DOCTOR_WAIT_MS)
                         ? accept(listener, NULL, NULL)
                         : -1;
    if (back < 0)
        return;
    peer->n_received = probe_receive(back);
    close(back);
}

static void
connection_try(int fd, int listener, struct doctor_peer *peer)
{
    struct sockaddr_storage own = {0};
    socklen_t n_bytes = sizeof(own);
    char host[HOST_BYTES];

    getsockname(fd, (struct sockaddr *)&own, &n_bytes);
    host_print(&own, host);
    snprintf(peer->back, sizeof(peer->back),
             strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port_of(listener));
    peer->mtu = mtu_of(fd);
    if (!greeting_exchange(fd, listener, peer)) {
        snprintf(peer->connect_error, sizeof(peer->connect_error),
                 "no hoopctl doctor has answered");
        return;
    }
    probe_send(fd);
    result_take(fd, listener, peer);
}

bool
doctor_peer_is_named(const char *peer)
{
    char host[HOST_BYTES];
    char port[PORT_BYTES];

    return peer_packetize(peer, host, port);
}

void
doctor_peer_try(const char *peer, struct doctor_peer *out_peer)
{
    char host[HOST_BYTES] = "";
    char port[PORT_BYTES] = "";
    int listener = -1;

    *out_peer = (struct doctor_peer){0};
    snprintf(out_peer->peer, sizeof(out_peer->peer), "%s", peer);
    snprintf(out_peer->own_version, sizeof(out_peer->own_version), "%s",
             VERSION_TEXT);
    if (range_listen(NULL, out_peer->listen_error, &listener) != HOOP_OK)
        return;
    peer_packetize(peer, host, port);
    const int fd = host_connect(host, port, out_peer->connect_error);
    if (fd >= 0) {
        connection_try(fd, listener, out_peer);
        close(fd);
    }
    close(listener);
}

/* Find an address of this host that others may reach, or else its name. */
static void
own_host_print(char out_host[HOST_BYTES])
{
    struct ifaddrs *entries = NULL;

    gethostname(out_host, HOST_BYTES - 1);
    if (getifaddrs(&entries) != 0)
        return;
    for (const struct ifaddrs *it = entries; it; it = it->ifa_next) {
        struct sockaddr_storage address = {0};

        if (!it->ifa_addr || it->ifa_addr->sa_family != AF_INET ||
            (it->ifa_flags & IFF_LOOPBACK) || !(it->ifa_flags & IFF_UP))
            continue;
        memcpy(&address, it->ifa_addr, sizeof(struct sockaddr_in));
        host_print(&address, out_host);
        break;
    }
    freeifaddrs(entries);
}

/* Serve one peer, beginning with its greeting. Return false if it sent none. */
static bool
peer_answer(int fd, const char *host)
{
    char line[LINE_BYTES];
    char version[LINE_BYTES];
    char error[DOCTOR_TEXT] = "-";
    char port[PORT_BYTES];
    unsigned number = 0;

    if (!line_read(fd, line, DOCTOR_WAIT_MS) ||
        sscanf(line, "hoop-doctor 1 %u %255s", &number, version) != 2)
        return false;
    snprintf(line, sizeof(line), "hoop-doctor 1 %s %" PRId64 "\n", VERSION_TEXT,
             clock_ms(CLOCK_REALTIME));
    line_send(fd, line);
    const uint64_t n_bytes = probe_receive(fd);
    snprintf(port, sizeof(port), "%u", number);
    const int back = host_connect(host, port, error);
    snprintf(line, sizeof(line), "%" PRIu64 " %.200s\n", n_bytes, error);
    line_send(fd, line);
    if (back < 0)
        return true;
    probe_send(back);
    close(back);
    return true;
}

/* Wait until one peer was served. Return false if none came in time. */
static bool
peer_await(int listener, int64_t end_ms, char out_host[HOST_BYTES])
{
    bool is_done = false;

    while (!is_done) {
        const int64_t left_ms = end_ms - now_ms();
        struct sockaddr_storage address = {0};
        socklen_t n_bytes = sizeof(address);

        if (left_ms <= 0)
            return false;
        if (!is_ready(listener, POLLIN, (int)left_ms))
            continue;
        const int fd = accept(listener, (struct sockaddr *)&address, &n_bytes);
        if (fd < 0)
            continue;
        host_print(&address, out_host);
        is_done = peer_answer(fd, out_host);
        close(fd);
    }
    return true;
}

enum hoop_status
doctor_peer_serve(const char *port,
                  uint32_t timeout_ms,
                  char out_text[static DOCTOR_TEXT])
{
    const int64_t end_ms = now_ms() + timeout_ms;
    char host[HOST_BYTES] = "";
    int listener = -1;

    const enum hoop_status status = range_listen(port, out_text, &listener);
    if (status != HOOP_OK)
        return status;
    own_host_print(host);
    printf("waiting %g s for a peer; on the other host say: hoopctl doctor "
           "--peer %s:%u\n",
           timeout_ms / 1000.0, host, port_of(listener));
    fflush(stdout);
    const bool has_come = peer_await(listener, end_ms, host);
    close(listener);
    if (has_come)
        printf("%s has come, and says what was found\n", host);
    else
        snprintf(out_text, DOCTOR_TEXT,
                 "no hoopctl doctor --peer has come in %g s; --timeout waits "
                 "longer",
                 timeout_ms / 1000.0);
    return has_come ? HOOP_OK : HOOP_E_TIMEOUT;
}
