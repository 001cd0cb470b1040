/*
 * tests/unit/common/rpc/rpc_raw.h - a client that does as it is told
 *
 * On a blocking socket; what goes wrong fails the test.
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

/* Connected, and no more. */
int
raw_connect(const struct bench_server *server);
/* With both hellos said. */
int
raw_greet(const struct bench_server *server);

void
raw_send(int fd, const void *bytes, size_t n_bytes);
void
raw_ask(int fd, const struct raw_request *ask);
struct raw_reply
raw_hear(int fd);

/* Nothing but the end comes; closes fd. */
void
assert_closed_by_server(int fd);

#endif
