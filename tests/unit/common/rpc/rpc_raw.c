/* tests/unit/common/rpc/rpc_raw.c - a client that does as it is told */

#include "rpc_raw.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "net/address.h"
#include "rpc/sp_stream.h"

int
raw_connect(const struct bench_server *server)
{
    const struct timeval limit = {.tv_sec = BENCH_TIMEOUT_MS / 1000};
    struct address address;

    assert_ok(address_parse(server->address, &address));
    const int fd =
        socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    assert_int_equal(
        connect(fd, (struct sockaddr *)&address.storage, address.n_bytes), 0);
    return fd;
}

void
raw_send(int fd, const void *bytes, size_t n_bytes)
{
    const uint8_t *at = bytes;

    while (n_bytes > 0) {
        const ssize_t n = send(fd, at, n_bytes, MSG_NOSIGNAL);

        assert_true(n > 0);
        at += n;
        n_bytes -= (size_t)n;
    }
}

int
raw_greet(const struct bench_server *server)
{
    uint8_t hello[SP_HELLO_BYTES];
    const int fd = raw_connect(server);

    raw_send(fd, sp_hello_request, SP_HELLO_BYTES);
    assert_int_equal(recv(fd, hello, sizeof(hello), MSG_WAITALL),
                     sizeof(hello));
    assert_memory_equal(hello, sp_hello_reply, sizeof(hello));
    return fd;
}

void
raw_ask(int fd, const struct raw_request *ask)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    uint8_t header[SP_HEADER_BYTES];
    struct envelope_request request = {
        .client = {"a raw client of"},
        .id = ask->id,
        .deadline_ms = ask->deadline_ms,
        .body = {(const uint8_t *)"body", 4},
    };
    size_t n_bytes = 0;

    snprintf(request.method, sizeof(request.method), "%s", ask->method);
    assert_ok(envelope_request_encode(&request, &bytes, &n_bytes));
    sp_header_encode((uint32_t)ask->id, n_bytes, header);
    raw_send(fd, header, sizeof(header));
    raw_send(fd, bytes, n_bytes);
}

struct raw_reply
raw_hear(int fd)
{
    uint8_t header[SP_HEADER_BYTES];
    uint8_t bytes[4096];
    struct envelope_reply reply;
    struct raw_reply heard = {0};
    uint64_t size;

    assert_int_equal(recv(fd, header, sizeof(header), MSG_WAITALL),
                     sizeof(header));
    memcpy(&size, header, sizeof(size));
    memcpy(&heard.sp_id, header + sizeof(size), sizeof(heard.sp_id));
    heard.sp_id = be32toh(heard.sp_id) & SP_ID_MAX;
    const size_t n_bytes = be64toh(size) - SP_ID_BYTES;
    assert_true(n_bytes <= sizeof(bytes));
    assert_int_equal(recv(fd, bytes, n_bytes, MSG_WAITALL), n_bytes);

    assert_ok(
        envelope_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    heard.id = reply.id;
    heard.status = reply.status;
    memcpy(heard.message, reply.message, sizeof(heard.message));
    snprintf(heard.body, sizeof(heard.body), "%.*s", (int)reply.body.n_bytes,
             (const char *)reply.body.bytes);
    return heard;
}

void
assert_closed_by_server(int fd)
{
    char bytes[64];
    ssize_t n;

    do {
        n = recv(fd, bytes, sizeof(bytes), 0);
    } while (n > 0);
    assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}
