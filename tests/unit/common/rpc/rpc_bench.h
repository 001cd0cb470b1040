/* tests/unit/common/rpc/rpc_bench.h - a server and a client on one loop each
 *
 * The server has its own thread, as in hoopd; the test's thread runs the
 * client's loop, or blocks in rpc_client_call_wait() beside a second thread.
 */

#ifndef TESTS_RPC_BENCH_H
#define TESTS_RPC_BENCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "net/loop.h"
#include "net/tls.h"
#include "rpc/rpc_client.h"
#include "rpc/rpc_server.h"
#include "rpc/rpc_tls.h"

enum {
    BENCH_PARKED_MAX = 2048,
    BENCH_TIMEOUT_MS = 8000,
};

/* This is a small service. Store/Add counts. Store/Wait parks until Store/Set
 * releases it. Store/Delete is never answered. The other methods echo. A client
 * that calls Store/Add is admitted. */
struct bench_server {
    struct loop *loop;
    struct rpc_server *server;
    pthread_t thread;
    size_t n_requests_max;    /* before start */
    uint64_t auth_timeout_ms; /* before start */
    const char *secret;       /* before start; NULL: "secret"; empty: none */
    struct rpc_tls *rpc_tls;  /* before start; NULL: as bench_tls */
    char address[64];
    atomic_uint n_added;   /* how often Store/Add was applied */
    atomic_uint n_handled; /* requests of any method */
    atomic_uint n_parked;
    atomic_uint n_abandoned;
    atomic_uint n_gone;      /* connections */
    atomic_uint barrier;     /* replies wait until it is reached */
    atomic_bool is_doubtful; /* clients get answers, but none is believed */
    atomic_uint role;        /* the role of the last caller */
    struct bench_parked {
        struct rpc_request *request;
        uint8_t bytes[64]; /* the beginning of the body */
        size_t n_bytes;
    } parked[BENCH_PARKED_MAX];
};

/* Clients use these files, and so do servers without a TLS context. NULL is
 * plain. The token of the clients is "secret". */
extern const struct tls_files *bench_tls;

/* Starts a server; port 0 is any. Afterwards server->address has the port. */
void
bench_server_start(struct bench_server *bench, uint16_t port);
/* Kills the server, so that no client gets a reply. */
void
bench_server_stop(struct bench_server *bench);
uint16_t
bench_server_port(const struct bench_server *bench);
/* Reads the counters in the server's own thread. */
struct rpc_server_counters
bench_server_counters(struct bench_server *bench);
/* Releases the replies that wait for number. */
void
bench_server_release(struct bench_server *bench, uint64_t number);
/* Drains the server within timeout_ms. Returns when that is done. */
void
bench_server_drain(struct bench_server *bench, uint64_t timeout_ms);

/* Waits until *counter is at least n. */
void
bench_wait_for(atomic_uint *counter, unsigned n);

/* Waits until the server has recognised n repeated requests. */
void
bench_wait_until_repeated(struct bench_server *server, uint64_t n);

/* The loop of this client has a thread. */
struct bench_client {
    struct loop *loop;
    struct rpc_client *client;
    pthread_t thread;
};

void
bench_client_start(struct bench_client *bench, const char *address);
void
bench_client_start_as(struct bench_client *bench,
                      const char *address,
                      const char *token,
                      const struct tls_files *tls);
void
bench_client_stop(struct bench_client *bench);

/* Makes a blocking call with a text as body. The answer's text goes to
 * out[64]. */
enum hoop_status
bench_call(struct bench_client *bench,
           const char *method,
           const char *text,
           char out[64]);

#endif
