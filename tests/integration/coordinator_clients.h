/*
 * tests/integration/coordinator_clients.h - many real clients of a coordinator
 *
 * All clients use one loop with one thread. Every call blocks its caller, so
 * several calls at once need several threads, see joiner_start().
 */

#ifndef TESTS_INTEGRATION_COORDINATOR_CLIENTS_H
#define TESTS_INTEGRATION_COORDINATOR_CLIENTS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "integration/daemon.h"
#include "rpc/messages/message.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"
#include "rpc/method.h"
#include "rpc/rpc_client.h"
#include "wire/pack.h"

struct loop;

struct coordinator_clients {
    struct loop *loop;
    pthread_t thread;
    size_t n_clients;
    struct rpc_client **clients;
};

struct coordinator_clients_options {
    const char *address;
    const char *job;
    const char *token;
    size_t n_clients;
};

/* The clients use TLS if HOOP_TLS is on. */
void
coordinator_clients_open(struct coordinator_clients *coordinator_clients,
                         const struct coordinator_clients_options *options);
void
coordinator_clients_close(struct coordinator_clients *coordinator_clients);

/* Makes a call with the body in pack, or without a body if pack is NULL. It
 * takes the contents of pack. The caller frees out_answer->body. */
struct coordinator_clients_answer {
    uint8_t *body;
    size_t n_body;
    char text[LIMIT_ERROR_TEXT];
};
enum hoop_status
coordinator_clients_call(struct rpc_client *client,
                         enum method_id method,
                         struct pack *pack,
                         struct coordinator_clients_answer *out_answer);

/* A joiner joins in a thread of its own. */
struct joiner {
    struct rpc_client *client;
    struct join_request request;
    pthread_t thread;
    enum hoop_status status;
    char text[LIMIT_ERROR_TEXT];
    struct join_reply reply;
};

/* Requests world_size ranks; fields may be changed before the start. */
void
joiner_init(struct joiner *joiner,
            struct rpc_client *client,
            uint32_t world_size);
void
joiner_start(struct joiner *joiner);
enum hoop_status
joiner_wait(struct joiner *joiner);
void
joiner_deinit(struct joiner *joiner);

/* Runs n_joiners joins at once. All of them must succeed. */
void
joiners_run(struct joiner *joiners, size_t n_joiners);

/* This has a hoopd and a job of two members, each of which has a client. The
 * other clients only make calls. */
struct joined_pair {
    struct daemon daemon;
    struct coordinator_clients coordinator_clients;
    struct joiner joiners[2];
};

struct joined_pair_options {
    const char *const *arguments; /* of hoopd, see daemon_start() */
    const char *job;
    size_t n_clients;
};

void
joined_pair_start(struct joined_pair *joined_pair,
                  const struct joined_pair_options *options);
void
joined_pair_stop(struct joined_pair *joined_pair);

/* Each of these makes one call. It must succeed unless the function returns a
 * status. */
struct store_text {
    const char *key;
    const char *value;
};
uint64_t
store_set(struct rpc_client *client, const struct store_text *text);
enum hoop_status
member_leave(const struct joiner *joiner);
enum hoop_status
member_renew(const struct joiner *joiner);

#endif
