/* session/terms.c - the terms on which a session joins, from all sources */

#include "session/terms.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/settings.h"
#include "base/token_file.h"
#include "session/launcher.h"
#include "tune/tuner.h"

enum {
    /* In a world of more ranks only the first of them give notice of a wait as
     * soon as they may. */
    NOTICE_SIZE = 64,
    NOTICE_RANKS = 8,
    NOTICE_DELAY = 10,
};

static enum hoop_status
option_set(struct settings *settings, enum setting_id id, const char *text)
{
    if (!text)
        return HOOP_OK;
    return settings_set(settings, id,
                        &(struct setting_input){
                            .origin = SETTING_FROM_CALLER,
                            .where = setting_row(id)->name,
                            .text = text,
                        });
}

static enum hoop_status
texts_set(struct settings *settings, const struct hoop_join_options *options)
{
    const struct {
        enum setting_id id;
        const char *text;
    } rows[] = {
        {SETTING_COORDINATOR, options->coordinator},
        {SETTING_JOB, options->job},
        {SETTING_TOKEN, options->token},
        {SETTING_TOKEN_FILE, options->token_file},
        {SETTING_ADVERTISE, options->advertise},
        {SETTING_INTERFACE, options->interface},
        {SETTING_CODEC, options->codec},
        {SETTING_WIRE_DTYPE, options->wire_dtype},
        {SETTING_CHECK, options->check},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const enum hoop_status status =
            option_set(settings, rows[i].id, rows[i].text);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
numbers_set(struct settings *settings, const struct hoop_join_options *options)
{
    const struct {
        enum setting_id id;
        uint32_t number; /* 0: not said */
    } rows[] = {
        {SETTING_WORLD_SIZE, options->world_size},
        {SETTING_JOIN_TIMEOUT, options->join_timeout_ms},
        {SETTING_TIMEOUT, options->op_timeout_ms},
        {SETTING_PORT, options->port},
    };
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; i < COUNT_OF(rows) && status == HOOP_OK; i++) {
        if (rows[i].number > 0)
            status = settings_set_number(settings, rows[i].id, rows[i].number);
    }
    if (status == HOOP_OK && options->rank)
        status = settings_set_number(settings, SETTING_RANK, *options->rank);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static const char *
environment_lookup(void *owner, const char *name)
{
    (void)owner;
    return getenv(name);
}

/* The launcher's word, where it agrees with what has been said already. */
static enum hoop_status
launcher_apply(const struct settings *settings, struct terms *terms)
{
    const bool has_rank = settings_is_set(settings, SETTING_RANK);
    const bool has_size = settings_is_set(settings, SETTING_WORLD_SIZE);
    struct launcher launcher;

    if (!launcher_find(environment_lookup, NULL, &launcher))
        return HOOP_OK;
    if (has_rank && terms->rank >= launcher.size)
        return HOOP_OK;
    if (has_size && terms->world_size != launcher.size)
        return HOOP_OK;
    if (!has_rank && launcher.rank >= launcher.size)
        return error_raise(
            HOOP_E_INVALID,
            "%s=%u is not below %s=%u: ranks begin with 0; correct that, or "
            "set HOOP_RANK",
            launcher.rank_variable, launcher.rank, launcher.size_variable,
            launcher.size);
    if (!has_rank) {
        terms->rank = launcher.rank;
        terms->prefers_rank = true;
    }
    if (!has_size)
        terms->world_size = launcher.size;
    return HOOP_OK;
}

static void
text_take(const struct settings *settings,
          enum setting_id id,
          size_t n_bytes,
          char *out_text)
{
    const char *text = settings_text(settings, id);

    snprintf(out_text, n_bytes, "%s", text ? text : "");
}

static void
texts_take(const struct settings *settings, struct terms *terms)
{
    text_take(settings, SETTING_COORDINATOR, sizeof(terms->coordinator),
              terms->coordinator);
    text_take(settings, SETTING_JOB, sizeof(terms->job), terms->job);
    terms->root[0] = '\0';
    text_take(settings, SETTING_TOKEN, sizeof(terms->token), terms->token);
    text_take(settings, SETTING_ADVERTISE, sizeof(terms->advertise),
              terms->advertise);
    text_take(settings, SETTING_INTERFACE, sizeof(terms->interface),
              terms->interface);
    text_take(settings, SETTING_NODE, sizeof(terms->node), terms->node);
    text_take(settings, SETTING_ALGORITHM, sizeof(terms->algorithms),
              terms->algorithms);
    text_take(settings, SETTING_DEBUG_LINK, sizeof(terms->link), terms->link);
    text_take(settings, SETTING_ENDINGS, sizeof(terms->endings),
              terms->endings);
    text_take(settings, SETTING_DEBUG_FAULT, sizeof(terms->faults),
              terms->faults);
    text_take(settings, SETTING_TLS_CERT, sizeof(terms->tls_cert),
              terms->tls_cert);
    text_take(settings, SETTING_TLS_KEY, sizeof(terms->tls_key),
              terms->tls_key);
    text_take(settings, SETTING_TLS_CA, sizeof(terms->tls_ca), terms->tls_ca);
    text_take(settings, SETTING_TUNING, sizeof(terms->tuning), terms->tuning);
}

/* Nobody who silences the log wants to be warned; by itself the log is silent,
 * but a job that seems to hang is worth a line. */
static uint32_t
warning_of(const struct settings *settings, enum setting_id id)
{
    const bool is_silenced =
        settings_is_set(settings, SETTING_LOG) &&
        settings_number(settings, SETTING_LOG) < LOG_WARNING;

    return is_silenced ? 0 : (uint32_t)settings_number(settings, id);
}

/* Where many ranks wait for the same, the first of each host say it first. Who
 * does not know whether it is one of them may be the only one there. */
static void
wait_notice_delay(struct terms *terms)
{
    uint32_t local_rank = 0;

    if (terms->world_size > NOTICE_SIZE && terms->rank >= NOTICE_RANKS &&
        launcher_find_local(environment_lookup, NULL, &local_rank) &&
        local_rank >= NOTICE_RANKS &&
        terms->wait_notice_ms <= UINT32_MAX / NOTICE_DELAY)
        terms->wait_notice_ms *= NOTICE_DELAY;
}

static void
numbers_take(const struct settings *settings, struct terms *terms)
{
    terms->rank = settings_is_set(settings, SETTING_RANK)
                      ? (uint32_t)settings_number(settings, SETTING_RANK)
                      : RENDEZVOUS_RANK_ANY;
    terms->world_size = (uint32_t)settings_number(settings, SETTING_WORLD_SIZE);
    /* Under hooprun, which gives all of them a rank. */
    terms->prefers_rank = settings_is_set(settings, SETTING_ENDINGS);
    terms->membership = 0;
    terms->size_min = 0;
    terms->settle_ms = 0;
    terms->join_timeout_ms =
        (uint32_t)settings_number(settings, SETTING_JOIN_TIMEOUT);
    terms->op_timeout_ms = (uint32_t)settings_number(settings, SETTING_TIMEOUT);
    terms->failure_timeout_ms =
        (uint32_t)settings_number(settings, SETTING_FAILURE_TIMEOUT);
    terms->is_failure_timeout_fixed =
        settings_is_set(settings, SETTING_FAILURE_TIMEOUT);
    terms->late_warning_ms = warning_of(settings, SETTING_LATE_WARNING);
    terms->wait_notice_ms = warning_of(settings, SETTING_WAIT_NOTICE);
    terms->on_failure =
        (enum comm_remedy)settings_number(settings, SETTING_ON_FAILURE);
    terms->ports = settings_ports(settings, SETTING_PORT);
    terms->codec = (enum codec_id)settings_number(settings, SETTING_CODEC);
    terms->loss =
        (enum codec_loss)settings_number(settings, SETTING_WIRE_DTYPE);
    terms->checking =
        (enum engine_checking)settings_number(settings, SETTING_CHECK);
    terms->shm_negotiation =
        (enum shm_mode)settings_number(settings, SETTING_TRANSPORT);
    terms->attaching = (enum cma_mode)settings_number(settings, SETTING_CMA);
    terms->is_encrypted = settings_number(settings, SETTING_TLS) != 0;
    terms->is_summing = settings_number(settings, SETTING_CHECKSUM) != 0;
    terms->n_streams = (unsigned)settings_number(settings, SETTING_STREAMS);
    terms->spinning =
        (enum engine_spinning)settings_number(settings, SETTING_DEBUG_SPIN);
    terms->log_level = (enum log_level)settings_number(settings, SETTING_LOG);
    terms->log_format =
        (enum log_format)settings_number(settings, SETTING_LOG_FORMAT);
}

/* A token given by itself is preferred to one in a file. */
static enum hoop_status
token_take(const struct settings *settings, struct terms *terms)
{
    const char *path = settings_text(settings, SETTING_TOKEN_FILE);

    if (terms->token[0] || !path)
        return HOOP_OK;
    return token_file_read(path, sizeof(terms->token), terms->token);
}

static enum hoop_status
terms_check(const struct terms *terms)
{
    if (!terms->coordinator[0])
        return error_raise(
            HOOP_E_INVALID,
            "no coordinator to join: set "
            "HOOP_COORDINATOR=host:port, or options.coordinator");
    if (terms->world_size > 0 && terms->rank != RENDEZVOUS_RANK_ANY &&
        terms->rank >= terms->world_size)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is not below the world size, %u: correct "
                           "HOOP_RANK or HOOP_WORLD_SIZE, or what the program "
                           "says instead",
                           terms->rank, terms->world_size);
    const struct tuner_options options = {
        .algorithms = terms->algorithms,
        .link = terms->link,
        .races = terms->tuning,
    };
    const enum hoop_status status = tuner_check(&options);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
sources_read(struct settings *settings, const struct hoop_join_options *options)
{
    enum hoop_status status = HOOP_OK;

    if (options)
        status = texts_set(settings, options);
    if (status == HOOP_OK && options)
        status = numbers_set(settings, options);
    /* After the members, so that it wins over them. */
    if (status == HOOP_OK && options)
        status = settings_read_list(settings, options->settings);
    if (status == HOOP_OK)
        status = settings_read_environment(settings);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
terms_resolve(const struct hoop_join_options *options, struct terms *out_terms)
{
    CLEANUP(settings_destroy) struct settings *settings = NULL;
    struct terms terms;

    enum hoop_status status = settings_create(SETTING_USER_WORKER, &settings);
    if (status == HOOP_OK)
        status = sources_read(settings, options);
    if (status != HOOP_OK)
        return error_pass(status);

    texts_take(settings, &terms);
    numbers_take(settings, &terms);
    status = launcher_apply(settings, &terms);
    wait_notice_delay(&terms);
    /* The file may be on rank 0's host only. */
    if (terms.rank > 0 && terms.rank != RENDEZVOUS_RANK_ANY)
        terms.tuning[0] = '\0';
    if (status == HOOP_OK)
        status = token_take(settings, &terms);
    if (status == HOOP_OK)
        status = terms_check(&terms);
    if (status == HOOP_OK)
        *out_terms = terms;
    terms_deinit(&terms);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

const char *
terms_job_name(const struct terms *terms)
{
    return terms->root[0] ? terms->root : terms->job;
}

struct tls_files
terms_tls(const struct terms *terms)
{
    return (struct tls_files){
        .certificate = terms->tls_cert,
        .key = terms->tls_key,
        .ca = terms->tls_ca,
    };
}

void
terms_deinit(struct terms *terms)
{
    explicit_bzero(terms->token, sizeof(terms->token));
}

void
terms_log(const struct terms *terms)
{
    static atomic_bool is_configured;

    if (terms->log_level != LOG_OFF && !atomic_exchange(&is_configured, true))
        log_configure(terms->log_level, terms->log_format);
}
