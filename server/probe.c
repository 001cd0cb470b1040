/* probe.c - ask a coordinator whether it serves: a container's health check */

#include "probe.h"

#include <stdlib.h>
#include <string.h>

#include "hoop/coordinator.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/loop.h"
#include "net/tls.h"
#include "rpc/messages/status_messages.h"
#include "rpc/method.h"
#include "rpc/rpc_client.h"
#include "wire/pack.h"

enum {
    PROBE_TIMEOUT_MS = 2500,
};

DEFINE_CLEANUP(struct loop *, loop_destroy)
DEFINE_CLEANUP(struct rpc_client *, rpc_client_destroy)

struct probe {
    struct loop *loop;
    enum hoop_status status;
};

static enum hoop_status
health_answer_check(const struct rpc_answer *answer)
{
    struct health_reply reply;

    if (answer->status != HOOP_OK)
        return error_raise(answer->status, "%s", answer->message);

    const enum hoop_status status = health_reply_decode(answer->body, &reply);
    if (status != HOOP_OK)
        return error_pass(status);
    if (reply.serving != HEALTH_SERVING)
        return error_raise(HOOP_E_UNAVAILABLE, "the coordinator is draining");
    return HOOP_OK;
}

static void
on_answer(void *owner, const struct rpc_answer *answer)
{
    struct probe *probe = owner;

    probe->status = health_answer_check(answer);
    loop_stop(probe->loop);
}

static enum hoop_status
health_request_send(struct rpc_client *client, struct probe *probe)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    health_request_encode(&(struct health_request){""}, &pack);
    enum hoop_status status = pack_take(&pack, &bytes, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        rpc_client_call(client,
                        &(struct rpc_call){
                            .method = method_by_id(METHOD_HEALTH_CHECK)->name,
                            .body = {bytes, n_bytes},
                            .timeout_ms = PROBE_TIMEOUT_MS,
                            .tries_once = true,
                            .on_answer = on_answer,
                            .owner = probe,
                        },
                        NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

static enum hoop_status
probe_client_create(struct loop *loop,
                    const char *address,
                    const struct hoop_coordinator_options *options,
                    struct rpc_client **out_client)
{
    static const struct hoop_coordinator_options plain;
    const struct hoop_coordinator_options *as = options ? options : &plain;
    const struct tls_files files = {as->tls_cert, as->tls_key, as->tls_ca};
    const bool is_sealed = as->tls && strcmp(as->tls, "on") == 0;
    /* The health check needs no token, so none is sent without TLS. */
    const enum hoop_status status = rpc_client_create(
        &(struct rpc_client_options){
            .loop = loop,
            .address = address,
            .token = is_sealed ? as->token : NULL,
            .tls = is_sealed ? &files : NULL,
        },
        out_client);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
coordinator_probe_run(const char *address,
                      const struct hoop_coordinator_options *options)
{
    CLEANUP(loop_destroy) struct loop *loop = NULL;
    CLEANUP(rpc_client_destroy) struct rpc_client *client = NULL;

    enum hoop_status status = loop_create(&loop);
    if (status != HOOP_OK)
        return error_pass(status);
    status = probe_client_create(loop, address, options, &client);
    if (status != HOOP_OK)
        return error_pass(status);

    struct probe probe = {.loop = loop, .status = HOOP_E_UNKNOWN};
    status = health_request_send(client, &probe);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_run(loop);
    return probe.status;
}
