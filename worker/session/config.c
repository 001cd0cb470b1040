/* session/config.c - resolves the configuration with which a session joins */

#include "session/config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/private_file.h"
#include "base/settings.h"
#include "select/tuner.h"
#include "session/launcher.h"

enum {
    /* In a world of more than NOTICE_ALL_RANKS_WORLD_MAX ranks, only the
     * first NOTICE_RANKS_PER_HOST of each host give notice of a wait at
     * once; the others wait NOTICE_DELAY_FACTOR times longer. */
    NOTICE_ALL_RANKS_WORLD_MAX = 64,
    NOTICE_RANKS_PER_HOST = 8,
    NOTICE_DELAY_FACTOR = 10,
};

static enum hoop_status
settings_set_from_option(struct settings *settings,
                         enum setting_id id,
                         const char *text)
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
settings_set_option_texts(struct settings *settings,
                          const struct hoop_join_options *options)
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
            settings_set_from_option(settings, rows[i].id, rows[i].text);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
settings_set_option_numbers(struct settings *settings,
                            const struct hoop_join_options *options)
{
    const struct {
        enum setting_id id;
        uint32_t number; /* 0: not set */
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

/* Use the launcher's rank and size where they contradict no setting. */
static enum hoop_status
config_apply_launcher(const struct settings *settings, struct config *config)
{
    const bool has_rank = settings_is_set(settings, SETTING_RANK);
    const bool has_size = settings_is_set(settings, SETTING_WORLD_SIZE);
    struct launcher launcher;

    if (!launcher_detect(environment_lookup, NULL, &launcher))
        return HOOP_OK;
    if (has_rank && config->rank >= launcher.size)
        return HOOP_OK;
    if (has_size && config->world_size != launcher.size)
        return HOOP_OK;
    if (!has_rank && launcher.rank >= launcher.size)
        return error_raise(
            HOOP_E_INVALID,
            "%s=%u is not below %s=%u: ranks begin with 0; correct that, or "
            "set HOOP_RANK",
            launcher.rank_variable, launcher.rank, launcher.size_variable,
            launcher.size);
    if (!has_rank) {
        config->rank = launcher.rank;
        config->place.prefers_rank = true;
    }
    if (!has_size)
        config->world_size = launcher.size;
    return HOOP_OK;
}

/* A user who turns the log off does not want warnings. By default the log is
 * off, too, but then a job that seems to hang is worth a message. */
static void
config_silence_warnings(const struct settings *settings, struct config *config)
{
    if (settings_is_set(settings, SETTING_LOG) &&
        config->log.level < LOG_WARNING) {
        config->late_warning_ms = 0;
        config->wait_notice_ms = 0;
    }
}

/* Where many ranks wait for the same, only the first of each host give notice
 * at once. A rank that does not know its number on the host may be the only one
 * there, and gives notice at once. */
static void
config_scale_wait_notice(struct config *config)
{
    uint32_t local_rank = 0;

    if (config->world_size > NOTICE_ALL_RANKS_WORLD_MAX &&
        config->rank >= NOTICE_RANKS_PER_HOST &&
        launcher_local_rank(environment_lookup, NULL, &local_rank) &&
        local_rank >= NOTICE_RANKS_PER_HOST &&
        config->wait_notice_ms <= UINT32_MAX / NOTICE_DELAY_FACTOR)
        config->wait_notice_ms *= NOTICE_DELAY_FACTOR;
}

/* Read what all sources together say. */
static void
config_read_settings(const struct settings *settings, struct config *config)
{
    config_init_from_settings(config, settings);
    if (!settings_is_set(settings, SETTING_RANK))
        config->rank = RENDEZVOUS_RANK_ANY;
    /* HOOP_ENDINGS is set by hooprun, which gives every worker a rank. */
    config->place.prefers_rank = settings_is_set(settings, SETTING_ENDINGS);
    config->is_failure_timeout_fixed =
        settings_is_set(settings, SETTING_FAILURE_TIMEOUT);
    config_silence_warnings(settings, config);
}

/* A token that is set directly takes precedence over a token file. */
static enum hoop_status
config_read_token(struct config *config)
{
    if (config->token[0] || !config->token_file[0])
        return HOOP_OK;
    return token_file_read(config->token_file, sizeof(config->token),
                           config->token);
}

static enum hoop_status
config_check(const struct config *config)
{
    if (!config->coordinator[0])
        return error_raise(
            HOOP_E_INVALID,
            "no coordinator to join: set "
            "HOOP_COORDINATOR=host:port, or options.coordinator");
    if (config->world_size > 0 && config->rank != RENDEZVOUS_RANK_ANY &&
        config->rank >= config->world_size)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is not below the world size, %u: correct "
                           "HOOP_RANK or HOOP_WORLD_SIZE, or what the program "
                           "says instead",
                           config->rank, config->world_size);
    const enum hoop_status status = tuner_config_check(config);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
settings_read_all_sources(struct settings *settings,
                          const struct hoop_join_options *options)
{
    enum hoop_status status = HOOP_OK;

    if (options)
        status = settings_set_option_texts(settings, options);
    if (status == HOOP_OK && options)
        status = settings_set_option_numbers(settings, options);
    /* The list comes after the members of options, so that it overrides
     * them. */
    if (status == HOOP_OK && options)
        status = settings_read_list(settings, options->settings);
    if (status == HOOP_OK)
        status = settings_read_environment(settings);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
config_resolve(const struct hoop_join_options *options,
               struct config *out_config)
{
    CLEANUP(settings_destroy) struct settings *settings = NULL;
    struct config config;

    enum hoop_status status = settings_create(SETTING_USER_WORKER, &settings);
    if (status == HOOP_OK)
        status = settings_read_all_sources(settings, options);
    if (status != HOOP_OK)
        return error_pass(status);

    config_read_settings(settings, &config);
    status = config_apply_launcher(settings, &config);
    config_scale_wait_notice(&config);
    /* The file may exist on rank 0's host only. */
    if (config.rank > 0 && config.rank != RENDEZVOUS_RANK_ANY)
        config.tuning[0] = '\0';
    if (status == HOOP_OK)
        status = config_read_token(&config);
    if (status == HOOP_OK)
        status = config_check(&config);
    if (status == HOOP_OK)
        *out_config = config;
    config_deinit(&config);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

const char *
config_job_name(const struct config *config)
{
    return config->place.root[0] ? config->place.root : config->job;
}

void
config_apply_log(const struct config *config)
{
    static atomic_bool is_configured;

    if (config->log.level != LOG_OFF && !atomic_exchange(&is_configured, true))
        log_configure(config->log.level, config->log.format);
}
