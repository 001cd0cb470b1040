/*
 * rpc/messages/status_messages.h - bodies of hoop.v1.Status and hoop.v1.Health
 */

#ifndef RPC_MESSAGES_STATUS_MESSAGES_H
#define RPC_MESSAGES_STATUS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"

struct pack;

/* gRPC's numbers. */
enum health_serving {
    HEALTH_UNKNOWN = 0,
    HEALTH_SERVING = 1,
    HEALTH_NOT_SERVING = 2,     /* draining */
    HEALTH_SERVICE_UNKNOWN = 3, /* no such service */
};

/* Health/Check: "" asks for the whole coordinator. Needs no job or token. */
struct health_request {
    char service[LIMIT_NAME];
};

struct health_reply {
    uint32_t serving; /* enum health_serving */
};

/* Status/Get: the request has no body. */
struct status_job {
    char name[LIMIT_NAME];
    char state[LIMIT_NAME]; /* one word, "forming", "formed" */
    uint64_t epoch;
    uint32_t size;      /* the world's, 0: nobody has said */
    uint32_t n_members; /* who is there now */
    uint32_t n_groups;
    uint64_t n_keys; /* in its store */
};

struct status_reply {
    char version[LIMIT_NAME];
    uint64_t uptime_ms;
    uint32_t serving; /* enum health_serving */
    size_t n_jobs;
    struct status_job *jobs; /* those that the token may see */
};

void
health_request_encode(const struct health_request *request, struct pack *pack);
enum hoop_status
health_request_decode(struct message_span in,
                      struct health_request *out_request);

void
health_reply_encode(const struct health_reply *reply, struct pack *pack);
enum hoop_status
health_reply_decode(struct message_span in, struct health_reply *out_reply);

void
status_reply_encode(const struct status_reply *reply, struct pack *pack);
enum hoop_status
status_reply_decode(struct message_span in, struct status_reply *out_reply);
void
status_reply_deinit(struct status_reply *reply);

#endif
