/*
 * session/control.c - a client of the coordinator that is not a member of a job
 *
 * The calling thread runs the loop for the length of a call.
 */

#include "session/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/private_file.h"
#include "base/role.h"
#include "base/settings.h"
#include "net/loop.h"
#include "net/tls.h"
#include "rpc/rpc_client.h"
#include "session/config.h"
#include "session/session.h"
#include "wire/pack.h"

enum {
    CONTROL_TIMEOUT_MS = 5000,
    /* The answer to a long poll comes at its deadline, and may arrive later. */
    LONG_POLL_GRACE_MS = 1000,
};

/* One option of the caller. */
struct control_setting {
    enum setting_id id;
    const char *where;
    const char *text;
};

static enum hoop_status
control_setting_apply(struct settings *settings,
                      const struct control_setting *setting)
{
    if (!setting->text)
        return HOOP_OK;
    return settings_set(settings, setting->id,
                        &(struct setting_input){
                            .origin = SETTING_FROM_CALLER,
                            .where = setting->where,
                            .text = setting->text,
                        });
}

static enum hoop_status
control_options_to_settings(const struct hoop_control_options *options,
                            struct settings *settings)
{
    const struct control_setting given[] = {
        {SETTING_COORDINATOR, "options.coordinator", options->coordinator},
        {SETTING_JOB, "options.job", options->job},
        {SETTING_TOKEN, "options.token", options->token},
        {SETTING_TOKEN_FILE, "options.token_file", options->token_file},
    };

    for (size_t i = 0; i < COUNT_OF(given); i++) {
        const enum hoop_status status =
            control_setting_apply(settings, &given[i]);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    enum hoop_status status = settings_read_list(settings, options->settings);
    if (status == HOOP_OK)
        status = settings_read_environment(settings);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A token that is set directly takes precedence over a token file, whichever
 * source each comes from. */
static enum hoop_status
settings_read_token(const struct settings *settings, char token[LIMIT_TOKEN])
{
    const char *text = settings_text(settings, SETTING_TOKEN);
    const char *path = settings_text(settings, SETTING_TOKEN_FILE);

    token[0] = '\0';
    if (text) {
        snprintf(token, LIMIT_TOKEN, "%s", text);
        return HOOP_OK;
    }
    if (!path)
        return HOOP_OK;
    return token_file_read(path, LIMIT_TOKEN, token);
}

/* Where to connect and as whom. control_client_create() copies all of it. */
struct control_config {
    const char *coordinator;
    const char *job;
    const char *token;
    const struct tls_files *tls; /* NULL: no TLS */
};

static enum hoop_status
control_client_create(struct hoop_control *control,
                      const struct control_config *config)
{
    snprintf(control->coordinator, sizeof(control->coordinator), "%s",
             config->coordinator);
    snprintf(control->job, sizeof(control->job), "%s", config->job);
    enum hoop_status status = loop_create(&control->loop);
    if (status == HOOP_OK)
        status = rpc_client_create(
            &(struct rpc_client_options){
                .loop = control->loop,
                .address = control->coordinator,
                .job = control->job,
                .token = config->token,
                .tls = config->tls,
            },
            &control->client);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
control_client_from_settings(struct hoop_control *control,
                             const struct settings *settings)
{
    const struct tls_files files = {
        .certificate = settings_text(settings, SETTING_TLS_CERT),
        .key = settings_text(settings, SETTING_TLS_KEY),
        .ca = settings_text(settings, SETTING_TLS_CA),
    };
    char token[LIMIT_TOKEN];
    const struct control_config config = {
        .coordinator = settings_text(settings, SETTING_COORDINATOR),
        .job = settings_text(settings, SETTING_JOB),
        .token = token,
        .tls = settings_number(settings, SETTING_TLS) ? &files : NULL,
    };

    if (!config.coordinator)
        return error_raise(HOOP_E_INVALID,
                           "which coordinator? Say host:port, or set "
                           "HOOP_COORDINATOR");
    enum hoop_status status = settings_read_token(settings, token);
    if (status == HOOP_OK)
        status = control_client_create(control, &config);
    explicit_bzero(token, sizeof(token));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

DEFINE_CLEANUP(struct hoop_control *, hoop_control_destroy)

/* timeout_ms is 0 for the default. */
static enum hoop_status
control_alloc(uint32_t timeout_ms, struct hoop_control **out_control)
{
    struct hoop_control *control = calloc(1, sizeof(*control));

    if (!control)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a control");
    control->default_timeout_ms = timeout_ms ? timeout_ms : CONTROL_TIMEOUT_MS;
    control->timeout_ms = control->default_timeout_ms;
    *out_control = control;
    return HOOP_OK;
}

enum hoop_status
hoop_control_create(const struct hoop_control_options *options,
                    hoop_control_t **out_control)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    static const struct hoop_control_options none = {0};
    CLEANUP(settings_destroy) struct settings *settings = NULL;
    CLEANUP(hoop_control_destroy) struct hoop_control *control = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_control)
        return error_raise(HOOP_E_INVALID, "out_control is NULL");
    if (!options)
        options = &none;
    enum hoop_status status = control_alloc(options->timeout_ms, &control);
    if (status == HOOP_OK)
        status = settings_create(SETTING_USER_WORKER, &settings);
    if (status == HOOP_OK)
        status = control_options_to_settings(options, settings);
    if (status == HOOP_OK)
        status = control_client_from_settings(control, settings);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_control = STEAL(control);
    return HOOP_OK;
}

enum hoop_status
hoop_session_control(hoop_session_t *session, hoop_control_t **out_control)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    CLEANUP(hoop_control_destroy) struct hoop_control *control = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!session || !out_control)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           session ? "out_control" : "session");
    const struct config *config = session_config(session);
    const struct tls_files files = config_tls_files(config);
    enum hoop_status status = control_alloc(0, &control);
    if (status == HOOP_OK)
        status = control_client_create(
            control, &(struct control_config){
                         .coordinator = config->coordinator,
                         .job = config_job_name(config),
                         .token = config->token,
                         .tls = config->is_encrypted ? &files : NULL,
                     });
    if (status != HOOP_OK)
        return error_pass(status);
    *out_control = STEAL(control);
    return HOOP_OK;
}

void
hoop_control_set_timeout(hoop_control_t *control, uint32_t timeout_ms)
{
    if (control)
        control->timeout_ms =
            timeout_ms ? timeout_ms : control->default_timeout_ms;
}

/* Find the token that others are derived from. Handle: HOOP_E_NOT_FOUND (none
 * is set). */
static enum hoop_status
parent_token_find(const struct hoop_control_options *options,
                  char token[LIMIT_TOKEN])
{
    CLEANUP(settings_destroy) struct settings *settings = NULL;

    enum hoop_status status = settings_create(SETTING_USER_WORKER, &settings);
    if (status == HOOP_OK)
        status = control_options_to_settings(options, settings);
    if (status == HOOP_OK)
        status = settings_read_token(settings, token);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!token[0])
        return error_raise(HOOP_E_NOT_FOUND,
                           "no token to make another of: set HOOP_TOKEN or "
                           "HOOP_TOKEN_FILE, or name a file");
    return HOOP_OK;
}

enum hoop_status
hoop_control_token(const struct hoop_control_options *options,
                   const char *role_text,
                   struct hoop_control_token_text *out_token)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    static const struct hoop_control_options none = {0};
    char secret[LIMIT_TOKEN] = "";
    char token[LIMIT_TOKEN] = "";
    enum role role = ROLE_WORKER;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!role_text || !out_token)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           role_text ? "out_token" : "role");
    enum hoop_status status = role_parse(role_text, &role);
    if (status == HOOP_OK)
        status = parent_token_find(options ? options : &none, secret);
    if (status == HOOP_OK)
        status = role_derive_token(role, secret, token);
    if (status == HOOP_OK)
        memcpy(out_token->text, token, sizeof(token));
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(token, sizeof(token));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
control_answer_deinit(struct control_answer *answer)
{
    free(answer->items);
    jobs_reply_deinit(&answer->jobs);
    job_reply_deinit(&answer->job);
    groups_reply_deinit(&answer->groups);
    store_reply_deinit(&answer->store);
    store_watch_reply_deinit(&answer->watch);
    why_reply_deinit(&answer->why);
    free(answer->body);
    *answer = (struct control_answer){0};
}

void
hoop_control_destroy(hoop_control_t *control)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!control)
        return;

    rpc_client_destroy(control->client);
    loop_destroy(control->loop);
    control_answer_deinit(&control->answer);
    free(control);
}

const char *
hoop_control_coordinator(const hoop_control_t *control)
{
    return control ? control->coordinator : NULL;
}

const char *
hoop_control_job_name(const hoop_control_t *control)
{
    return control ? control->job : NULL;
}

static enum hoop_status
control_answer_keep_body(struct hoop_control *control,
                         const struct rpc_answer *answer)
{
    if (answer->status != HOOP_OK)
        return error_raise(answer->status, "%s", answer->message);
    if (answer->body.n_bytes == 0)
        return HOOP_OK;

    uint8_t *copy = malloc(answer->body.n_bytes);
    if (!copy)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the answer");
    memcpy(copy, answer->body.bytes, answer->body.n_bytes);
    control->answer.body = copy;
    control->answer.n_body = answer->body.n_bytes;
    return HOOP_OK;
}

static void
control_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct hoop_control *control = owner;

    control->status = control_answer_keep_body(control, answer);
    loop_stop(control->loop);
}

enum hoop_status
control_check_argument(const struct hoop_control *control,
                       const void *argument,
                       const char *name)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!control)
        return error_raise(HOOP_E_INVALID, "control is NULL");
    if (!argument)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    return HOOP_OK;
}

enum hoop_status
control_call(struct hoop_control *control,
             enum method_id method,
             struct pack *pack)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    enum hoop_status status = HOOP_OK;

    if (pack)
        status = pack_take(pack, &bytes, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);

    const bool is_poll =
        method == METHOD_STORE_WAIT || method == METHOD_STORE_WATCH;
    const struct rpc_call call = {
        .method = method_by_id(method)->name,
        .body = {bytes, n_bytes},
        .timeout_ms = control->timeout_ms,
        .grace_ms = is_poll ? LONG_POLL_GRACE_MS : 0,
        .is_poll = is_poll,
        /* A health check asks whether the coordinator serves now; a later try
         * would not answer that. */
        .tries_once = method == METHOD_HEALTH_CHECK,
        .on_answer = control_on_answer,
        .owner = control,
    };
    uint64_t id = 0;
    status = rpc_client_call(control->client, &call, &id);
    if (status != HOOP_OK)
        return error_pass(status);

    /* The arguments may be borrowed from the last answer. They have been packed
     * by now, so that answer can be freed. */
    control_answer_deinit(&control->answer);
    status = loop_run_interruptible(control->loop);
    if (status != HOOP_OK) {
        rpc_client_cancel(control->client, id);
        return error_pass(status);
    }
    if (control->status != HOOP_OK)
        return error_pass(control->status);
    return HOOP_OK;
}

struct message_span
control_answer_body(const struct hoop_control *control)
{
    return (struct message_span){control->answer.body, control->answer.n_body};
}

void *
control_answer_alloc_items(struct hoop_control *control,
                           size_t n_items,
                           size_t n_bytes)
{
    control->answer.items = calloc(n_items > 0 ? n_items : 1, n_bytes);
    if (!control->answer.items)
        (void)error_raise(HOOP_E_EXHAUSTED, "no memory for the answer");
    return control->answer.items;
}

/* Queries by operators about jobs and their ranks. */

enum hoop_status
hoop_control_health(hoop_control_t *control)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct health_reply reply;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    enum hoop_status status =
        control_check_argument(control, control, "control");
    if (status != HOOP_OK)
        return error_pass(status);
    health_request_encode(&(struct health_request){""}, &pack);
    status = control_call(control, METHOD_HEALTH_CHECK, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = health_reply_decode(control_answer_body(control), &reply);
    if (status != HOOP_OK)
        return error_pass(status);
    if (reply.serving != HEALTH_SERVING)
        return error_raise(HOOP_E_UNAVAILABLE, "%s is draining",
                           control->coordinator);
    return HOOP_OK;
}

static struct hoop_control_job
control_job_from_line(const struct job_summary *line)
{
    return (struct hoop_control_job){
        .name = line->name,
        .state = line->state,
        .epoch = line->epoch,
        .size = line->size,
        .n_members = line->n_members,
        .n_lost = line->n_lost,
        .n_left = line->n_left,
        .age_ms = line->age_ms,
    };
}

enum hoop_status
hoop_control_status(hoop_control_t *control,
                    const struct hoop_control_overview **out_overview)
{
    enum hoop_status status =
        control_check_argument(control, out_overview, "out_overview");
    if (status != HOOP_OK)
        return error_pass(status);
    const struct jobs_reply *reply = &control->answer.jobs;
    status = control_call(control, METHOD_STATUS_JOBS, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        jobs_reply_decode(control_answer_body(control), &control->answer.jobs);
    if (status != HOOP_OK)
        return error_pass(status);

    struct hoop_control_job *jobs =
        control_answer_alloc_items(control, reply->n_jobs, sizeof(*jobs));
    if (!jobs)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < reply->n_jobs; i++)
        jobs[i] = control_job_from_line(&reply->jobs[i]);
    control->answer.overview = (struct hoop_control_overview){
        .version = reply->version,
        .serving = reply->serving == HEALTH_SERVING ? "serving" : "draining",
        .uptime_ms = reply->uptime_ms,
        .clock_ms = reply->clock_ms,
        .n_jobs = reply->n_jobs,
        .jobs = jobs,
    };
    *out_overview = &control->answer.overview;
    return HOOP_OK;
}

static struct hoop_control_rank
control_rank_from_member(const struct job_member *member)
{
    return (struct hoop_control_rank){
        .rank = member->rank,
        .pid = member->pid,
        .incarnation = member->incarnation,
        .host = member->host,
        .address = member->address,
        .state = member->state,
        .lease_left_ms = member->lease_left_ms,
        .reason = member->reason,
        .given_up_revision = member->given_up_revision,
    };
}

static struct hoop_control_activity
control_activity_from_reply(const struct rank_activity *activity)
{
    return (struct hoop_control_activity){
        .silence = activity->silence,
        .call = activity->call,
        .communicator = activity->communicator,
        .waits_for = activity->waits_for,
        .number = activity->number,
        .age_ms = activity->age_ms,
        .n_calls = activity->n_calls,
    };
}

static struct hoop_control_rank_totals
control_totals_from_reply(const struct rank_totals *totals)
{
    return (struct hoop_control_rank_totals){
        .calls = totals->calls,
        .bytes_sent = totals->bytes_sent,
        .bytes_received = totals->bytes_received,
        .wait_us = totals->wait_collective_us + totals->wait_message_us,
        .failures = totals->failures_timeout + totals->failures_lost +
                    totals->failures_mismatch + totals->failures_cancelled +
                    totals->failures_other,
    };
}

static enum hoop_status
job_status_query(struct hoop_control *control,
                 const struct job_request *request)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    job_request_encode(request, &pack);
    enum hoop_status status = control_call(control, METHOD_STATUS_JOB, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        job_reply_decode(control_answer_body(control), &control->answer.job);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
control_roster_fill(struct hoop_control *control,
                    const struct job_reply *reply,
                    struct hoop_control_rank *ranks,
                    struct control_rank_parts *parts)
{
    for (size_t i = 0; i < reply->n_members; i++) {
        ranks[i] = control_rank_from_member(&reply->members[i]);
        if (reply->activities) {
            parts[i].activity =
                control_activity_from_reply(&reply->activities[i]);
            ranks[i].activity = &parts[i].activity;
        }
        if (reply->totals) {
            parts[i].totals = control_totals_from_reply(&reply->totals[i]);
            ranks[i].totals = &parts[i].totals;
        }
    }
    control->answer.roster = (struct hoop_control_roster){
        .job = control_job_from_line(&reply->line),
        .membership_epoch = reply->membership_epoch,
        .revision = reply->revision,
        .n_groups = reply->n_groups,
        .n_keys = reply->n_keys,
        .n_store_bytes = reply->n_store_bytes,
        .n_waiters = reply->n_waiters,
        .n_ranks = reply->n_members,
        .ranks = ranks,
        .missing = reply->missing,
        .hosts = reply->hosts,
    };
}

static enum hoop_status
control_roster_query(struct hoop_control *control,
                     const struct job_request *request,
                     const struct hoop_control_roster **out_roster)
{
    const struct job_reply *reply = &control->answer.job;
    enum hoop_status status =
        control_check_argument(control, out_roster, "out_roster");
    if (status == HOOP_OK)
        status = job_status_query(control, request);
    if (status != HOOP_OK)
        return error_pass(status);

    /* One allocation holds the ranks and, behind them, their parts. */
    struct hoop_control_rank *ranks = control_answer_alloc_items(
        control, reply->n_members,
        sizeof(*ranks) + sizeof(struct control_rank_parts));
    if (!ranks)
        return error_pass(HOOP_E_EXHAUSTED);
    control_roster_fill(
        control, reply, ranks,
        (struct control_rank_parts *)(ranks + reply->n_members));
    *out_roster = &control->answer.roster;
    return HOOP_OK;
}

enum hoop_status
hoop_control_ranks(hoop_control_t *control,
                   const struct hoop_control_roster **out_roster)
{
    const enum hoop_status status =
        control_roster_query(control, &(struct job_request){0}, out_roster);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_control_totals(hoop_control_t *control,
                    const struct hoop_control_roster **out_roster)
{
    const enum hoop_status status = control_roster_query(
        control, &(struct job_request){.totals = 1}, out_roster);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_control_activities(hoop_control_t *control,
                        const struct hoop_control_roster **out_roster)
{
    const enum hoop_status status = control_roster_query(
        control, &(struct job_request){.asks = 1}, out_roster);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
groups_list_query(struct hoop_control *control, const char *after)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct group_key_request request = {0};

    if (after)
        snprintf(request.key, sizeof(request.key), "%s", after);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_key_request_encode(&request, &pack);
    enum hoop_status status = control_call(control, METHOD_GROUPS_LIST, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = groups_reply_decode(control_answer_body(control),
                                 &control->answer.groups);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

enum hoop_status
hoop_control_groups(hoop_control_t *control,
                    const char *after,
                    const struct hoop_control_group_list **out_groups)
{
    enum hoop_status status =
        control_check_argument(control, out_groups, "out_groups");
    if (status != HOOP_OK)
        return error_pass(status);
    const struct groups_reply *reply = &control->answer.groups;
    status = groups_list_query(control, after);
    if (status != HOOP_OK)
        return error_pass(status);

    struct hoop_control_group *groups =
        control_answer_alloc_items(control, reply->n_groups, sizeof(*groups));
    if (!groups)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < reply->n_groups; i++)
        groups[i] = (struct hoop_control_group){
            .key = reply->groups[i].key,
            .communicator = reply->groups[i].communicator,
            .n_ranks = reply->groups[i].n_ranks,
            .ranks = reply->groups[i].ranks,
            .n_joined = reply->groups[i].n_joined,
        };
    control->answer.group_list = (struct hoop_control_group_list){
        .n_more = reply->n_more,
        .n_groups = reply->n_groups,
        .groups = groups,
    };
    *out_groups = &control->answer.group_list;
    return HOOP_OK;
}
