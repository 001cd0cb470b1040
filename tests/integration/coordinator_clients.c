/* tests/integration/coordinator_clients.c - many real clients of a
 * coordinator */

#include "integration/coordinator_clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "check.h"
#include "net/loop.h"
#include "net/tls.h"

enum {
    CALL_MS = 20000,
};

static void *
thread_run(void *owner)
{
    struct coordinator_clients *coordinator_clients = owner;

    loop_run(coordinator_clients->loop);
    return NULL;
}

/* Workers use TLS with the token if it is on, and so do these clients. */
static const struct tls_files *
files_of_setting(void)
{
    static const struct tls_files none;
    const char *setting = getenv("HOOP_TLS");

    return setting && strcmp(setting, "on") == 0 ? &none : NULL;
}

void
coordinator_clients_open(struct coordinator_clients *coordinator_clients,
                         const struct coordinator_clients_options *options)
{
    coordinator_clients->n_clients = options->n_clients;
    coordinator_clients->clients =
        calloc(options->n_clients, sizeof(*coordinator_clients->clients));
    assert_non_null(coordinator_clients->clients);
    assert_ok(loop_create(&coordinator_clients->loop));
    for (size_t i = 0; i < options->n_clients; i++) {
        const struct rpc_client_options client = {
            .loop = coordinator_clients->loop,
            .address = options->address,
            .job = options->job,
            .token = options->token,
            .tls = files_of_setting(),
        };
        assert_ok(rpc_client_create(&client, &coordinator_clients->clients[i]));
    }
    assert_int_equal(pthread_create(&coordinator_clients->thread, NULL,
                                    thread_run, coordinator_clients),
                     0);
}

void
coordinator_clients_close(struct coordinator_clients *coordinator_clients)
{
    loop_stop(coordinator_clients->loop);
    pthread_join(coordinator_clients->thread, NULL);
    for (size_t i = 0; i < coordinator_clients->n_clients; i++)
        rpc_client_destroy(coordinator_clients->clients[i]);
    free(coordinator_clients->clients);
    loop_destroy(coordinator_clients->loop);
}

enum hoop_status
coordinator_clients_call(struct rpc_client *client,
                         enum method_id method,
                         struct pack *pack,
                         struct coordinator_clients_answer *out_answer)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    *out_answer = (struct coordinator_clients_answer){0};
    if (pack)
        assert_ok(pack_take(pack, &bytes, &n_bytes));
    const struct rpc_call call = {
        .method = method_by_id(method)->name,
        .body = {bytes, n_bytes},
        .timeout_ms = CALL_MS,
    };
    const enum hoop_status status = rpc_client_call_wait(
        client, &call, &out_answer->body, &out_answer->n_body);
    snprintf(out_answer->text, sizeof(out_answer->text), "%s", error_text());
    return status;
}

void
joiner_init(struct joiner *joiner,
            struct rpc_client *client,
            uint32_t world_size)
{
    *joiner = (struct joiner){
        .client = client,
        .request =
            {
                .protocol = RENDEZVOUS_PROTOCOL,
                .rank = RENDEZVOUS_RANK_ANY,
                .world_size = world_size,
                .deadline_ms = CALL_MS / 2,
                .pid = 4711,
                .host = "testhost",
                .host_id = "testhost",
                .address = "127.0.0.1:7000",
            },
    };
    assert_ok(random_fill(&joiner->request.incarnation,
                          sizeof(joiner->request.incarnation)));
}

static void *
joiner_run(void *owner)
{
    struct joiner *joiner = owner;
    CLEANUP(pack_deinit) struct pack pack;
    struct coordinator_clients_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_request_encode(&joiner->request, &pack);
    joiner->status = coordinator_clients_call(
        joiner->client, METHOD_RENDEZVOUS_JOIN, &pack, &answer);
    if (joiner->status == HOOP_OK)
        joiner->status = join_reply_decode(
            (struct message_span){answer.body, answer.n_body}, &joiner->reply);
    memcpy(joiner->text, answer.text, sizeof(joiner->text));
    free(answer.body);
    return NULL;
}

void
joiner_start(struct joiner *joiner)
{
    assert_int_equal(pthread_create(&joiner->thread, NULL, joiner_run, joiner),
                     0);
}

enum hoop_status
joiner_wait(struct joiner *joiner)
{
    pthread_join(joiner->thread, NULL);
    return joiner->status;
}

void
joiner_deinit(struct joiner *joiner)
{
    join_reply_deinit(&joiner->reply);
}

void
joiners_run(struct joiner *joiners, size_t n_joiners)
{
    for (size_t i = 0; i < n_joiners; i++)
        joiner_start(&joiners[i]);
    for (size_t i = 0; i < n_joiners; i++) {
        if (joiner_wait(&joiners[i]) != HOOP_OK)
            fail_msg("join %zu failed: %s", i, joiners[i].text);
    }
}

void
joined_pair_start(struct joined_pair *joined_pair,
                  const struct joined_pair_options *options)
{
    struct coordinator_clients *clients = &joined_pair->coordinator_clients;

    daemon_start(&joined_pair->daemon, options->arguments);
    coordinator_clients_open(clients,
                             &(struct coordinator_clients_options){
                                 .address = joined_pair->daemon.address,
                                 .job = options->job,
                                 .token = "secret",
                                 .n_clients = options->n_clients});
    for (size_t i = 0; i < 2; i++)
        joiner_init(&joined_pair->joiners[i], clients->clients[i], 2);
    joiners_run(joined_pair->joiners, 2);
}

void
joined_pair_stop(struct joined_pair *joined_pair)
{
    joiner_deinit(&joined_pair->joiners[0]);
    joiner_deinit(&joined_pair->joiners[1]);
    coordinator_clients_close(&joined_pair->coordinator_clients);
    daemon_stop(&joined_pair->daemon);
}

uint64_t
store_set(struct rpc_client *client, const struct store_text *text)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(store_reply_deinit) struct store_reply reply = {0};
    struct store_set_request request = {
        .value = {(const uint8_t *)text->value, strlen(text->value)},
    };
    struct coordinator_clients_answer answer;

    snprintf(request.key, sizeof(request.key), "%s", text->key);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_set_request_encode(&request, &pack);
    assert_ok(
        coordinator_clients_call(client, METHOD_STORE_SET, &pack, &answer));
    assert_ok(store_reply_decode(
        (struct message_span){answer.body, answer.n_body}, &reply));
    free(answer.body);
    return reply.revision;
}

static enum hoop_status
member_call(const struct joiner *joiner, enum method_id method)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct coordinator_clients_answer answer;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    /* As members of an earlier version say it. */
    pack_array(&pack, 2);
    pack_uint(&pack, joiner->reply.epoch);
    pack_uint(&pack, joiner->request.incarnation);
    const enum hoop_status status =
        coordinator_clients_call(joiner->client, method, &pack, &answer);
    free(answer.body);
    return status;
}

enum hoop_status
member_leave(const struct joiner *joiner)
{
    return member_call(joiner, METHOD_RENDEZVOUS_LEAVE);
}

enum hoop_status
member_renew(const struct joiner *joiner)
{
    return member_call(joiner, METHOD_RENDEZVOUS_RENEW);
}
