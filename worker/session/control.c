/*
 * session/control.c - a client of the coordinator that is not a member of a job
 *
 * The calling thread runs the loop for the length of a call.
 */

#include "session/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/role.h"
#include "base/settings.h"
#include "base/token_file.h"
#include "net/loop.h"
#include "net/tls.h"
#include "rpc/rpc_client.h"
#include "session/config.h"
#include "session/session.h"
#include "wire/pack.h"

enum {
    CONTROL_TIMEOUT_MS = 5000,
    /* The answer to a long poll comes at its deadline, and may arrive later. */
    POLL_GRACE_MS = 1000,
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
    control->first_timeout_ms = timeout_ms ? timeout_ms : CONTROL_TIMEOUT_MS;
    control->timeout_ms = control->first_timeout_ms;
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
            timeout_ms ? timeout_ms : control->first_timeout_ms;
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
        .grace_ms = is_poll ? POLL_GRACE_MS : 0,
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
