/* session/join_notice.c - messages to standard error while a join waits */

#include "session/join_notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "net/loop.h"
#include "rpc/method.h"
#include "rpc/rpc_client.h"
#include "wire/pack.h"

enum {
    JOINED_QUERY_TIMEOUT_MS =
        1000, /* for the coordinator's answer to who has joined */
};

struct join_notice {
    const struct config *config;
    struct rpc_client *client;
    const char *refusal;
    struct wait_notice wait;
    struct loop_timer *timer;
    uint64_t question; /* id of the call that asks who has joined */
};

void
join_notice_describe_unreachable(const struct config *config,
                                 const char *trouble,
                                 char out_text[LIMIT_ERROR_TEXT])
{
    snprintf(out_text, LIMIT_ERROR_TEXT, "waiting for hoopd at %s: %.700s",
             config->coordinator, trouble[0] ? trouble : "no answer yet");
}

/* "2 of 4 are here: hosts a, b". */
static void
joined_members_describe(const struct job_reply *job,
                        char out_text[LIMIT_ERROR_TEXT])
{
    const struct job_summary *line = &job->line;
    const bool has_range = job->size_min > 0 && job->size_min < line->size;
    const char *plural = strchr(job->hosts, ',') ? "s" : "";
    char size[48] = "";

    if (has_range)
        snprintf(size, sizeof(size), " of %u to %u", job->size_min, line->size);
    else if (line->size > 0)
        snprintf(size, sizeof(size), " of %u", line->size);
    snprintf(out_text, LIMIT_ERROR_TEXT, "%u%s %s here%s%s%s%s",
             line->n_members, size, line->n_members == 1 ? "is" : "are",
             job->hosts[0] ? ": host" : "", job->hosts[0] ? plural : "",
             job->hosts[0] ? " " : "", job->hosts);
}

/* An older coordinator does not say who is missing. */
static void
missing_members_describe(const struct job_reply *job,
                         char out_text[LIMIT_ERROR_TEXT])
{
    const struct job_summary *line = &job->line;

    if (line->size == 0)
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "nobody has given a world size yet: set HOOP_WORLD_SIZE, or "
                 "world_size in the options of hoop_join(), for one rank at "
                 "least, or start hoopd with --world-size");
    else if (job->missing[0])
        snprintf(out_text, LIMIT_ERROR_TEXT, "waiting for %s", job->missing);
    else
        snprintf(out_text, LIMIT_ERROR_TEXT, "waiting for others");
}

void
join_notice_describe_job(const struct config *config,
                         const struct job_reply *job,
                         char out_text[LIMIT_ERROR_TEXT])
{
    char missing[LIMIT_ERROR_TEXT];
    char members[LIMIT_ERROR_TEXT];
    char rank[32] = "";

    if (config->rank != RENDEZVOUS_RANK_ANY)
        snprintf(rank, sizeof(rank), " as rank %u", config->rank);
    missing_members_describe(job, missing);
    joined_members_describe(job, members);
    snprintf(out_text, LIMIT_ERROR_TEXT, "joined job '%s'%s; %.350s; %.350s",
             config_job_name(config), rank, missing, members);
}

void
join_notice_describe_refusal(const struct config *config,
                             const char *refusal,
                             char out_text[LIMIT_ERROR_TEXT])
{
    snprintf(out_text, LIMIT_ERROR_TEXT, "waiting to join job '%s': %.700s",
             config_job_name(config), refusal);
}

void
join_notice_describe_no_answer(const struct config *config,
                               const char *why,
                               char out_text[LIMIT_ERROR_TEXT])
{
    if (why[0])
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "waiting for job '%s' to form; hoopd at %s does not say who "
                 "has come: %.500s",
                 config_job_name(config), config->coordinator, why);
    else
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "waiting for hoopd at %s: it is connected, but does not "
                 "answer",
                 config->coordinator);
}

static void
join_notice_schedule(struct join_notice *notice)
{
    const int left_ms = wait_notice_left_ms(&notice->wait);

    if (left_ms >= 0)
        loop_timer_start(notice->timer, (uint64_t)left_ms);
}

/* If the job has formed and has not refused the join, this process waits to be
 * admitted when the job grows. */
static void
join_notice_print_job(struct join_notice *notice, const struct job_reply *job)
{
    char text[LIMIT_ERROR_TEXT];

    if (strcmp(job->line.state, "forming") == 0)
        join_notice_describe_job(notice->config, job, text);
    else if (notice->refusal[0])
        join_notice_describe_refusal(notice->config, notice->refusal, text);
    else
        snprintf(text, sizeof(text),
                 "joined job '%s', which is to grow; waiting for its members, "
                 "or for others who come to it",
                 config_job_name(notice->config));
    wait_notice_log(&notice->wait, text);
}

static void
join_notice_print_trouble(struct join_notice *notice,
                          const struct rpc_answer *answer)
{
    const char *trouble = rpc_client_disconnect_reason(notice->client);
    char text[LIMIT_ERROR_TEXT];

    if (trouble)
        join_notice_describe_unreachable(notice->config, trouble, text);
    else if (answer->status == HOOP_E_TIMEOUT)
        join_notice_describe_no_answer(notice->config, "", text);
    else if (notice->refusal[0])
        join_notice_describe_refusal(notice->config, notice->refusal, text);
    else
        join_notice_describe_no_answer(notice->config, answer->message, text);
    wait_notice_log(&notice->wait, text);
}

static void
join_notice_on_answer(void *owner, const struct rpc_answer *answer)
{
    CLEANUP(job_reply_deinit) struct job_reply job = {0};
    struct join_notice *notice = owner;
    struct rpc_answer known = *answer;

    notice->question = 0;
    if (known.status == HOOP_OK) {
        known.status = job_reply_decode(answer->body, &job);
        known.message = error_text();
    }
    if (known.status == HOOP_OK)
        join_notice_print_job(notice, &job);
    else
        join_notice_print_trouble(notice, &known);
    join_notice_schedule(notice);
}

static enum hoop_status
joined_members_query_send(struct join_notice *notice)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_MEMBERS)->name,
        .timeout_ms = JOINED_QUERY_TIMEOUT_MS,
        .on_answer = join_notice_on_answer,
        .owner = notice,
    };

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    job_request_encode(&(struct job_request){.is_brief = 1}, &pack);
    enum hoop_status status = pack_take(&pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    status = rpc_client_call(notice->client, &call, &notice->question);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
join_notice_on_timer(void *owner)
{
    struct join_notice *notice = owner;
    const char *trouble = rpc_client_disconnect_reason(notice->client);
    char text[LIMIT_ERROR_TEXT];

    if (!trouble && joined_members_query_send(notice) == HOOP_OK)
        return;
    join_notice_describe_unreachable(notice->config,
                                     trouble ? trouble : error_text(), text);
    wait_notice_log(&notice->wait, text);
    join_notice_schedule(notice);
}

/* For members of a job that grows, the timeout is an argument of the call. */
static const char *
join_timeout_setting_name(const struct config *config)
{
    return config->place.membership ? "the timeout of hoop_comm_grow()"
                                    : "HOOP_JOIN_TIMEOUT";
}

struct join_notice *
join_notice_create(const struct rendezvous *rendezvous, const char *refusal)
{
    const struct config *config = rendezvous->config;
    CLEANUP(join_notice_destroy) struct join_notice *notice = NULL;

    if (config->wait_notice_ms == 0)
        return NULL;
    notice = calloc(1, sizeof(*notice));
    if (!notice)
        return NULL;
    notice->config = config;
    notice->client = rendezvous->client;
    notice->refusal = refusal;
    if (loop_timer_create(rendezvous->loop, join_notice_on_timer, notice,
                          &notice->timer) != HOOP_OK) {
        log_debug("session", "a join will not tell: %s", error_text());
        return NULL;
    }
    wait_notice_begin(&notice->wait, config->wait_notice_ms,
                      join_timeout_setting_name(config),
                      config->join_timeout_ms);
    join_notice_schedule(notice);
    return STEAL(notice);
}

void
join_notice_destroy(struct join_notice *notice)
{
    if (!notice)
        return;
    rpc_client_cancel(notice->client, notice->question);
    loop_timer_destroy(notice->timer);
    free(notice);
}
