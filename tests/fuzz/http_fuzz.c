/*
 * tests/fuzz/http_fuzz.c - any bytes to the port for probes and metrics
 *
 * Through a socket, to the real server: each input is a connection that says
 * it, and no more. Whatever is answered is HTTP, bounded, and ends.
 */

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "http/http.h"
#include "net/address.h"
#include "net/socket.h"

enum {
    ANSWER_MAX = 64 * 1024,
    WAIT_MS = 20000,
};

static struct http *http;
static struct address address;

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

static void
server_stop(void)
{
    http_destroy(http);
}

static void
server_start(void)
{
    const struct http_options options = {
        .listen = "127.0.0.1:0",
        .unready_text = unready_text,
        .write_metrics = write_metrics,
        .audience = HTTP_AUDIENCE_ANYBODY,
    };

    fuzz_require(http_create(&options, &http) == HOOP_OK);
    fuzz_require(address_resolve(http_address(http), &address) == HOOP_OK);
    atexit(server_stop);
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

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    if (!http)
        server_start();

    const int fd = socket(address.storage.ss_family, SOCK_STREAM, 0);
    fuzz_require(fd >= 0);
    fuzz_require(connect(fd, (const struct sockaddr *)&address.storage,
                         address.n_bytes) == 0);
    bytes_say(fd, bytes, n_bytes);
    answer_hear(fd);
    close(fd);
    return 0;
}
