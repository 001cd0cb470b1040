/* hooprun/reach.c - finds addresses by which other hosts reach this one */

#include "hooprun/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock_ms.h"

/* Return whether other hosts may reach the address. */
static bool
address_is_global(const struct ifaddrs *entry)
{
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) ||
        (entry->ifa_flags & IFF_LOOPBACK))
        return false;
    if (entry->ifa_addr->sa_family == AF_INET)
        return true;
    if (entry->ifa_addr->sa_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *address =
        (const struct sockaddr_in6 *)(const void *)entry->ifa_addr;
    return !IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr);
}

static socklen_t
address_size(const struct sockaddr *address)
{
    return address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                         : sizeof(struct sockaddr_in6);
}

static void
host_text(const struct sockaddr *address,
          char out_text[static REACH_ADDRESS_BYTES])
{
    if (getnameinfo(address, address_size(address), out_text,
                    REACH_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        out_text[0] = '\0';
}

const char *
reach_listen(void)
{
    struct ifaddrs *entries = NULL;
    const char *listen = "0.0.0.0:0";

    if (getifaddrs(&entries) != 0)
        return listen;
    for (const struct ifaddrs *entry = entries; entry;
         entry = entry->ifa_next) {
        if (address_is_global(entry) && entry->ifa_addr->sa_family == AF_INET6)
            listen = "[::]:0";
    }
    freeifaddrs(entries);
    return listen;
}

/* Append host and port, after a comma unless the list is empty. */
static void
list_append(char list[static REACH_LIST_BYTES], const char *host, int port)
{
    const size_t n = strlen(list);
    const char *form = strchr(host, ':') ? "%s[%s]:%d" : "%s%s:%d";
    char one[REACH_ADDRESS_BYTES + 16];

    snprintf(one, sizeof(one), form, n > 0 ? "," : "", host, port);
    if (n + strlen(one) < REACH_LIST_BYTES)
        strcpy(list + n, one);
}

static void
family_append(char list[static REACH_LIST_BYTES],
              const struct ifaddrs *entries,
              int family,
              int port)
{
    for (const struct ifaddrs *entry = entries; entry;
         entry = entry->ifa_next) {
        char host[REACH_ADDRESS_BYTES];

        if (!address_is_global(entry) || entry->ifa_addr->sa_family != family)
            continue;
        host_text(entry->ifa_addr, host);
        if (host[0])
            list_append(list, host, port);
    }
}

void
reach_expand(const char *bound, char out_list[static REACH_LIST_BYTES])
{
    const char *colon = strrchr(bound, ':');
    const int port = colon ? atoi(colon + 1) : 0;
    struct ifaddrs *entries = NULL;

    out_list[0] = '\0';
    if (getifaddrs(&entries) == 0) {
        family_append(out_list, entries, AF_INET, port);
        if (bound[0] == '[')
            family_append(out_list, entries, AF_INET6, port);
        freeifaddrs(entries);
    }
    if (out_list[0] == '\0')
        list_append(out_list, "127.0.0.1", port);
}

struct attempt {
    const char *text; /* host:port */
    bool is_preferred;
    int fd;          /* -1: it has failed */
    int error;       /* why it has failed */
    const char *why; /* why it has failed, as text; NULL: see error */
};

/* Return the host of "host:port" or "[host]:port"; NULL: it has neither
 * form. */
static const char *
host_cut(const char *text, char out_host[static REACH_HOST_BYTES])
{
    const char *colon = strrchr(text, ':');
    const bool has_brackets = text[0] == '[';

    if (!colon || colon - text < 2 * has_brackets)
        return NULL;
    snprintf(out_host, REACH_HOST_BYTES, "%.*s",
             (int)(colon - text) - 2 * has_brackets, text + has_brackets);
    return colon + 1;
}

/* Return NULL on failure; *out_why is set to the reason. */
static struct addrinfo *
address_find(const char *text, int flags, const char **out_why)
{
    const struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = flags,
    };
    struct addrinfo *found = NULL;
    char host[REACH_HOST_BYTES];
    const char *port = host_cut(text, host);

    *out_why = "it has no port";
    if (!port)
        return NULL;
    const int error = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
    *out_why = gai_strerror(error);
    return error == 0 ? found : NULL;
}

static void
attempt_begin(struct attempt *attempt,
              const struct addrinfo *address,
              const char *preferred)
{
    char host[REACH_ADDRESS_BYTES] = "";

    host_text(address->ai_addr, host);
    attempt->is_preferred = strcmp(host, preferred) == 0;
    attempt->fd = socket(address->ai_family,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (attempt->fd >= 0 &&
        connect(attempt->fd, address->ai_addr, address->ai_addrlen) == 0)
        return;
    attempt->error = errno;
    if (attempt->fd < 0 || attempt->error == EINPROGRESS)
        return;
    close(attempt->fd);
    attempt->fd = -1;
}

/* Start connecting to all addresses of a name. Returns the new number of
 * attempts. */
static int
attempts_begin(struct attempt *attempts,
               int n_attempts,
               const char *text,
               const char *preferred)
{
    const char *why = NULL;
    struct addrinfo *found = address_find(text, 0, &why);

    if (!found)
        attempts[n_attempts++] =
            (struct attempt){.text = text, .fd = -1, .why = why};
    for (const struct addrinfo *address = found;
         address && n_attempts < REACH_TRIED_MAX; address = address->ai_next) {
        attempts[n_attempts] = (struct attempt){.text = text};
        attempt_begin(&attempts[n_attempts++], address, preferred);
    }
    if (found)
        freeaddrinfo(found);
    return n_attempts;
}

/* Return whether it is connected; otherwise it has failed. */
static bool
attempt_end(struct attempt *attempt)
{
    socklen_t n_bytes = sizeof(attempt->error);

    getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &attempt->error, &n_bytes);
    if (attempt->error == 0)
        return true;
    close(attempt->fd);
    attempt->fd = -1;
    return false;
}

/* Return the number of an attempt that is connected; -1: none is. */
static int
attempts_await(struct attempt *attempts, int n_attempts, int64_t end_ms)
{
    struct pollfd polls[REACH_TRIED_MAX];
    int best = -1;

    while (best < 0) {
        const int64_t left_ms = end_ms - now_ms();
        int n_open = 0;

        for (int i = 0; i < n_attempts; i++) {
            polls[i] = (struct pollfd){attempts[i].fd, POLLOUT, 0};
            n_open += attempts[i].fd >= 0;
        }
        if (n_open == 0 || left_ms <= 0)
            return -1;
        if (poll(polls, (nfds_t)n_attempts, (int)left_ms) <= 0)
            continue;
        for (int i = 0; i < n_attempts; i++) {
            if (polls[i].revents == 0 || !attempt_end(&attempts[i]))
                continue;
            if (best < 0 || attempts[i].is_preferred)
                best = i;
        }
    }
    return best;
}

static const char *
failure_text(const struct attempt *attempt)
{
    if (attempt->why)
        return attempt->why;
    return attempt->fd >= 0 ? "no answer" : strerror(attempt->error);
}

/* If several addresses of a name fail for the same reason, it is given once. */
static void
failures_describe(const struct attempt *attempts,
                  int n_attempts,
                  char out_text[static REACH_TEXT_BYTES])
{
    size_t n = 0;

    out_text[0] = '\0';
    for (int i = 0; i < n_attempts && n < REACH_TEXT_BYTES - 1; i++) {
        const char *why = failure_text(&attempts[i]);

        if (i > 0 && attempts[i].text == attempts[i - 1].text &&
            strcmp(why, failure_text(&attempts[i - 1])) == 0)
            continue;
        const int written =
            snprintf(out_text + n, REACH_TEXT_BYTES - n, "%s%s: %s",
                     i > 0 ? "; " : "", attempts[i].text, why);

        n += written > 0 ? (size_t)written : 0;
    }
}

static void
reached_fill(const struct attempt *attempt, struct reached *out_reached)
{
    struct sockaddr_storage own = {0};
    socklen_t n_bytes = sizeof(own);

    *out_reached = (struct reached){0};
    snprintf(out_reached->coordinator, sizeof(out_reached->coordinator), "%s",
             attempt->text);
    if (getsockname(attempt->fd, (struct sockaddr *)&own, &n_bytes) == 0)
        host_text((const struct sockaddr *)&own, out_reached->own);
}

bool
reach_first(const char *list,
            const char *preferred,
            int timeout_ms,
            struct reached *out_reached,
            char out_text[static REACH_TEXT_BYTES])
{
    struct attempt attempts[REACH_TRIED_MAX];
    char copy[REACH_LIST_BYTES];
    char *rest = copy;
    char *part;
    int n_attempts = 0;

    snprintf(copy, sizeof(copy), "%s", list);
    while (n_attempts < REACH_TRIED_MAX && (part = strsep(&rest, ",")))
        n_attempts = attempts_begin(attempts, n_attempts, part, preferred);
    const int best =
        attempts_await(attempts, n_attempts, now_ms() + timeout_ms);
    if (best >= 0)
        reached_fill(&attempts[best], out_reached);
    else
        failures_describe(attempts, n_attempts, out_text);
    for (int i = 0; i < n_attempts; i++) {
        if (attempts[i].fd >= 0)
            close(attempts[i].fd);
    }
    return best >= 0;
}

uint16_t
reach_free_port(const char *address)
{
    char text[REACH_ADDRESS_BYTES + 8];
    struct sockaddr_storage own = {0};
    socklen_t n_bytes = sizeof(own);
    uint16_t port = 0;

    snprintf(text, sizeof(text), strchr(address, ':') ? "[%s]:0" : "%s:0",
             address);
    const char *why;
    struct addrinfo *found = address_find(text, AI_NUMERICHOST, &why);
    if (!found)
        return 0;
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &n_bytes) == 0)
        port =
            own.ss_family == AF_INET
                ? ((const struct sockaddr_in *)(const void *)&own)->sin_port
                : ((const struct sockaddr_in6 *)(const void *)&own)->sin6_port;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    return ntohs(port);
}

static bool
host_is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;

    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
    if (inet_pton(AF_INET6, host, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return host[0] == '\0' || strcasecmp(host, "localhost") == 0;
}

bool
reach_is_loopback(const char *list, char out_host[static REACH_HOST_BYTES])
{
    char copy[REACH_LIST_BYTES];
    char *rest = copy;
    char *part;

    snprintf(copy, sizeof(copy), "%s", list);
    while ((part = strsep(&rest, ","))) {
        if (host_cut(part, out_host) && host_is_loopback(out_host))
            return true;
    }
    return false;
}
