/* tests/unit/common/rpc/messages/bodies.c - decode and encode */

#include "bodies.h"

#include <string.h>

#include "base/cleanup.h"
#include "rpc/messages/auth_messages.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"

static enum hoop_status
join_request_again(struct message_span in, struct pack *pack)
{
    struct join_request body;

    const enum hoop_status status = join_request_decode(in, &body);
    if (status == HOOP_OK)
        join_request_encode(&body, pack);
    return status;
}

static enum hoop_status
member_request_again(struct message_span in, struct pack *pack)
{
    struct member_request body;

    const enum hoop_status status = member_request_decode(in, &body);
    if (status == HOOP_OK)
        member_request_encode(&body, pack);
    return status;
}

static enum hoop_status
renew_request_again(struct message_span in, struct pack *pack)
{
    struct renew_request body;

    const enum hoop_status status = renew_request_decode(in, &body);
    if (status == HOOP_OK)
        renew_request_encode(&body, pack);
    return status;
}

static enum hoop_status
lease_reply_again(struct message_span in, struct pack *pack)
{
    struct lease_reply body;

    const enum hoop_status status = lease_reply_decode(in, &body);
    if (status == HOOP_OK)
        lease_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
report_request_again(struct message_span in, struct pack *pack)
{
    struct report_request body;

    const enum hoop_status status = report_request_decode(in, &body);
    if (status == HOOP_OK)
        report_request_encode(&body, pack);
    return status;
}

static enum hoop_status
watch_request_again(struct message_span in, struct pack *pack)
{
    struct watch_request body;

    const enum hoop_status status = watch_request_decode(in, &body);
    if (status == HOOP_OK)
        watch_request_encode(&body, pack);
    return status;
}

static enum hoop_status
store_set_request_again(struct message_span in, struct pack *pack)
{
    struct store_set_request body;

    const enum hoop_status status = store_set_request_decode(in, &body);
    if (status == HOOP_OK)
        store_set_request_encode(&body, pack);
    return status;
}

static enum hoop_status
store_add_request_again(struct message_span in, struct pack *pack)
{
    struct store_add_request body;

    const enum hoop_status status = store_add_request_decode(in, &body);
    if (status == HOOP_OK)
        store_add_request_encode(&body, pack);
    return status;
}

static enum hoop_status
store_swap_request_again(struct message_span in, struct pack *pack)
{
    struct store_swap_request body;

    const enum hoop_status status = store_swap_request_decode(in, &body);
    if (status == HOOP_OK)
        store_swap_request_encode(&body, pack);
    return status;
}

static enum hoop_status
store_list_request_again(struct message_span in, struct pack *pack)
{
    struct store_list_request body;

    const enum hoop_status status = store_list_request_decode(in, &body);
    if (status == HOOP_OK)
        store_list_request_encode(&body, pack);
    return status;
}

static enum hoop_status
store_watch_request_again(struct message_span in, struct pack *pack)
{
    struct store_watch_request body;

    const enum hoop_status status = store_watch_request_decode(in, &body);
    if (status == HOOP_OK)
        store_watch_request_encode(&body, pack);
    return status;
}

static enum hoop_status
group_key_request_again(struct message_span in, struct pack *pack)
{
    struct group_key_request body;

    const enum hoop_status status = group_key_request_decode(in, &body);
    if (status == HOOP_OK)
        group_key_request_encode(&body, pack);
    return status;
}

static enum hoop_status
health_request_again(struct message_span in, struct pack *pack)
{
    struct health_request body;

    const enum hoop_status status = health_request_decode(in, &body);
    if (status == HOOP_OK)
        health_request_encode(&body, pack);
    return status;
}

static enum hoop_status
health_reply_again(struct message_span in, struct pack *pack)
{
    struct health_reply body;

    const enum hoop_status status = health_reply_decode(in, &body);
    if (status == HOOP_OK)
        health_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
join_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(join_reply_deinit) struct join_reply body = {0};

    const enum hoop_status status = join_reply_decode(in, &body);
    if (status == HOOP_OK)
        join_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
watch_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(watch_reply_deinit) struct watch_reply body = {0};

    const enum hoop_status status = watch_reply_decode(in, &body);
    if (status == HOOP_OK)
        watch_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
store_keys_request_again(struct message_span in, struct pack *pack)
{
    CLEANUP(store_keys_request_deinit) struct store_keys_request body = {0};

    const enum hoop_status status = store_keys_request_decode(in, &body);
    if (status == HOOP_OK)
        store_keys_request_encode(&body, pack);
    return status;
}

static enum hoop_status
store_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(store_reply_deinit) struct store_reply body = {0};

    const enum hoop_status status = store_reply_decode(in, &body);
    if (status == HOOP_OK)
        store_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
store_watch_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(store_watch_reply_deinit) struct store_watch_reply body = {0};

    const enum hoop_status status = store_watch_reply_decode(in, &body);
    if (status == HOOP_OK)
        store_watch_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
group_create_request_again(struct message_span in, struct pack *pack)
{
    CLEANUP(group_create_request_deinit) struct group_create_request body = {0};

    const enum hoop_status status = group_create_request_decode(in, &body);
    if (status == HOOP_OK)
        group_create_request_encode(&body, pack);
    return status;
}

static enum hoop_status
groups_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(groups_reply_deinit) struct groups_reply body = {0};

    const enum hoop_status status = groups_reply_decode(in, &body);
    if (status == HOOP_OK)
        groups_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
jobs_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(jobs_reply_deinit) struct jobs_reply body = {0};

    const enum hoop_status status = jobs_reply_decode(in, &body);
    if (status == HOOP_OK)
        jobs_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
job_request_again(struct message_span in, struct pack *pack)
{
    struct job_request body;

    const enum hoop_status status = job_request_decode(in, &body);
    if (status == HOOP_OK)
        job_request_encode(&body, pack);
    return status;
}

static enum hoop_status
job_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(job_reply_deinit) struct job_reply body = {0};

    const enum hoop_status status = job_reply_decode(in, &body);
    if (status == HOOP_OK)
        job_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
group_join_request_again(struct message_span in, struct pack *pack)
{
    CLEANUP(group_join_request_deinit) struct group_join_request body = {0};

    const enum hoop_status status = group_join_request_decode(in, &body);
    if (status == HOOP_OK)
        group_join_request_encode(&body, pack);
    return status;
}

static enum hoop_status
group_join_reply_again(struct message_span in, struct pack *pack)
{
    struct group_join_reply body;

    const enum hoop_status status = group_join_reply_decode(in, &body);
    if (status == HOOP_OK)
        group_join_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
group_leave_request_again(struct message_span in, struct pack *pack)
{
    CLEANUP(group_leave_request_deinit) struct group_leave_request body = {0};

    const enum hoop_status status = group_leave_request_decode(in, &body);
    if (status == HOOP_OK)
        group_leave_request_encode(&body, pack);
    return status;
}

static enum hoop_status
group_agree_request_again(struct message_span in, struct pack *pack)
{
    struct group_agree_request body;

    const enum hoop_status status = group_agree_request_decode(in, &body);
    if (status == HOOP_OK)
        group_agree_request_encode(&body, pack);
    return status;
}

static enum hoop_status
group_agree_reply_again(struct message_span in, struct pack *pack)
{
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply body = {0};

    const enum hoop_status status = group_agree_reply_decode(in, &body);
    if (status == HOOP_OK)
        group_agree_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
auth_challenge_request_again(struct message_span in, struct pack *pack)
{
    struct auth_challenge_request body;

    const enum hoop_status status = auth_challenge_request_decode(in, &body);
    if (status == HOOP_OK)
        auth_challenge_request_encode(&body, pack);
    return status;
}

static enum hoop_status
auth_challenge_reply_again(struct message_span in, struct pack *pack)
{
    struct auth_challenge_reply body;

    const enum hoop_status status = auth_challenge_reply_decode(in, &body);
    if (status == HOOP_OK)
        auth_challenge_reply_encode(&body, pack);
    return status;
}

static enum hoop_status
auth_prove_request_again(struct message_span in, struct pack *pack)
{
    struct auth_prove_request body;

    const enum hoop_status status = auth_prove_request_decode(in, &body);
    if (status == HOOP_OK)
        auth_prove_request_encode(&body, pack);
    return status;
}

static enum hoop_status
group_awaited_request_again(struct message_span in, struct pack *pack)
{
    struct group_awaited_request body;

    const enum hoop_status status = group_awaited_request_decode(in, &body);
    if (status == HOOP_OK)
        group_awaited_request_encode(&body, pack);
    return status;
}

static enum hoop_status
group_awaited_reply_again(struct message_span in, struct pack *pack)
{
    struct group_awaited_reply body;

    const enum hoop_status status = group_awaited_reply_decode(in, &body);
    if (status == HOOP_OK)
        group_awaited_reply_encode(&body, pack);
    return status;
}

const struct body bodies[] = {
    {"join_request", join_request_again},
    {"member_request", member_request_again},
    {"lease_reply", lease_reply_again},
    {"report_request", report_request_again},
    {"watch_request", watch_request_again},
    {"store_set_request", store_set_request_again},
    {"store_add_request", store_add_request_again},
    {"store_swap_request", store_swap_request_again},
    {"store_list_request", store_list_request_again},
    {"store_watch_request", store_watch_request_again},
    {"group_key_request", group_key_request_again},
    {"health_request", health_request_again},
    {"health_reply", health_reply_again},
    {"join_reply", join_reply_again},
    {"watch_reply", watch_reply_again},
    {"store_keys_request", store_keys_request_again},
    {"store_reply", store_reply_again},
    {"store_watch_reply", store_watch_reply_again},
    {"group_create_request", group_create_request_again},
    {"groups_reply", groups_reply_again},
    {"jobs_reply", jobs_reply_again},
    {"job_reply", job_reply_again},
    {"group_join_request", group_join_request_again},
    {"group_join_reply", group_join_reply_again},
    {"group_leave_request", group_leave_request_again},
    {"group_agree_request", group_agree_request_again},
    {"group_agree_reply", group_agree_reply_again},
    {"auth_challenge_request", auth_challenge_request_again},
    {"auth_challenge_reply", auth_challenge_reply_again},
    {"auth_prove_request", auth_prove_request_again},
    {"renew_request", renew_request_again},
    {"job_request", job_request_again},
    {"group_awaited_request", group_awaited_request_again},
    {"group_awaited_reply", group_awaited_reply_again},
};

const size_t n_bodies = COUNT_OF(bodies);

const struct body *
body_find(const char *name)
{
    for (size_t i = 0; i < n_bodies; i++) {
        if (strcmp(bodies[i].name, name) == 0)
            return &bodies[i];
    }
    return NULL;
}
