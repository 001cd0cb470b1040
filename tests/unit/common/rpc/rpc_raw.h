/*
 * tests/unit/common/rpc/rpc_raw.h - a client that sends what a test says
 *
 * It uses a blocking socket. Any error fails the test.
 */

#ifndef TESTS_RPC_RAW_H
#define TESTS_RPC_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/envelope.h"
#include "rpc_bench.h"

struct raw_request {
    const char *method;
    uint64_t id;
    uint64_t deadline_ms;
};

struct raw_reply {
    uint32_t sp_id;
    uint64_t id;
    enum hoop_status status;
    char message[LIMIT_ERROR_TEXT];
    char body[64];
};

/* Connects, without a hello. */
int
raw_connect(const struct bench_server *server);
/* Connects and exchanges the hellos. */
int
raw_greet(const struct bench_server *server);

void
raw_send(int fd, const void *bytes, size_t n_bytes);
void
raw_ask(int fd, const struct raw_request *ask);
struct raw_reply
raw_hear(int fd);

/* Checks that the server only closes the connection. Closes fd. */
void
assert_closed_by_server(int fd);

#endif
