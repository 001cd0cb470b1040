/*
 * tests/fuzz/http_fuzz.c - any bytes to the port for probes, metrics and the page
 *
 * Through a socket, to two real servers, one open and one with a token: each
 * input is a connection to each that says it, and no more. Whatever is answered is HTTP, bounded, and ends.
 */

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "http/http.h"
#include "net/address.h"
#include "net/socket.h"

enum {
    ANSWER_MAX = 64 * 1024,
    WAIT_MS = 20000,
};

struct server {
    struct http *http;
    struct address address;
};

static struct server servers[2];

static const char *
unready_text(void *owner)
{
    (void)owner;
    return NULL;
}

static void
write_metrics(void *owner, FILE *out)
{
    (void)owner;
    fputs("hoop_up 1\n", out);
}

/* By its first letter; none is a guess, which would be answered late. */
static enum role
token_role_of(void *owner, const char *token)
{
    (void)owner;
    if (token[0] == 's')
        return ROLE_WORKER;
    return token[0] && token[0] != 'm' ? ROLE_OPERATOR : ROLE_METRICS;
}

static bool
query(void *owner, uint64_t number, const char *job)
{
    const struct server *server = owner;

    fuzz_require(strlen(job) < LIMIT_NAME);
    http_answer_query(server->http, number, HOOP_OK, strdup("{}"));
    return true;
}

static void
servers_stop(void)
{
    for (size_t i = 0; i < COUNT_OF(servers); i++)
        http_destroy(servers[i].http);
}

static void
server_start(struct server *server, enum http_audience audience)
{
    const struct http_options options = {
        .listen = "127.0.0.1:0",
        .unready_text = unready_text,
        .write_metrics = write_metrics,
        .token_role_of = token_role_of,
        .query = query,
        .owner = server,
        .audience = audience,
    };

    fuzz_require(http_create(&options, &server->http) == HOOP_OK);
    fuzz_require(address_resolve(http_address(server->http),
                                 &server->address) == HOOP_OK);
}

/* Sends what the other side takes, and says that this is all. */
static void
bytes_say(int fd, const uint8_t *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        const ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    shutdown(fd, SHUT_WR);
}

static void
answer_hear(int fd)
{
    struct pollfd awaited = {.fd = fd, .events = POLLIN};
    char answer[ANSWER_MAX];
    size_t n_bytes = 0;

    for (;;) {
        fuzz_require(poll(&awaited, 1, WAIT_MS) == 1);
        const ssize_t n =
            recv(fd, answer + n_bytes, sizeof(answer) - n_bytes, 0);

        if (n <= 0)
            break;
        n_bytes += (size_t)n;
        fuzz_require(n_bytes < sizeof(answer));
    }
    fuzz_require(n_bytes == 0 || (n_bytes > 9 && !memcmp(answer, "HTTP/", 5)));
}

static void
server_ask(const struct server *server, const uint8_t *bytes, size_t n_bytes)
{
    const struct address *address = &server->address;
    const int fd = socket(address->storage.ss_family, SOCK_STREAM, 0);

    fuzz_require(fd >= 0);
    fuzz_require(connect(fd, (const struct sockaddr *)&address->storage,
                         address->n_bytes) == 0);
    bytes_say(fd, bytes, n_bytes);
    answer_hear(fd);
    close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    if (!servers[0].http) {
        server_start(&servers[0], HTTP_AUDIENCE_ANYBODY);
        server_start(&servers[1], HTTP_AUDIENCE_TOKEN_HOLDERS);
        atexit(servers_stop);
    }
    for (size_t i = 0; i < COUNT_OF(servers); i++)
        server_ask(&servers[i], bytes, n_bytes);
    return 0;
}
