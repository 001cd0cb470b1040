/*
 * options.c - read hoopd's options: command line, environment, file
 *
 * Most options come from the table of settings (base/settings.h). This file
 * lists only the options that are not settings.
 */

#include "options.h"

#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/private_file.h"
#include "base/settings.h"
#include "coordinator.h"
#include "net/address.h"
#include "standby.h"

enum {
    /* The key of a setting's option is this number plus the setting's id. */
    OPTION_KEY_SETTING_FIRST = 1000,
    OPTION_KEY_CHECK = 2000,
    OPTION_KEY_REPAIR,
    OPTION_KEY_UNTIL_EMPTY,
    OPTION_HELP_BYTES_MAX = 256,
    UNTIL_EMPTY_MAX_S = 86400,
};

static const char description[] =
    "The coordinator of hoop: workers join jobs at its address."
    "\v"
    "A setting is taken from the command line, else from the environment, else "
    "from the file of --config. --http none serves no HTTP. On SIGTERM and "
    "SIGINT, hoopd answers waiting requests and ends with exit code 0.";

/* The table for argp, and the texts that it borrows. */
struct option_table {
    struct argp_option rows[SETTING_COUNT + 6];
    char help[SETTING_COUNT][OPTION_HELP_BYTES_MAX];
};

static void
option_table_fill(struct option_table *table)
{
    size_t n_rows = 0;

    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = setting_row((enum setting_id)id);

        if (!(setting->users & SETTING_USER_HOOPD) || !setting->option ||
            setting->is_secret || setting->is_internal)
            continue;
        setting_describe(setting, table->help[id], OPTION_HELP_BYTES_MAX);
        table->rows[n_rows++] = (struct argp_option){
            .name = setting->option,
            .key = OPTION_KEY_SETTING_FIRST + id,
            .arg = setting->placeholder,
            .flags = setting->choices == setting_choices_flags
                         ? OPTION_ARG_OPTIONAL
                         : 0,
            .doc = table->help[id],
        };
    }
    table->rows[n_rows++] = (struct argp_option){
        .name = "data-repair",
        .key = OPTION_KEY_REPAIR,
        .doc = "keep what can be read of damaged data in --data-dir, say what "
               "is lost, and exit; the damaged file stays beside the new one",
    };
    table->rows[n_rows++] = (struct argp_option){
        .name = "until-empty",
        .key = OPTION_KEY_UNTIL_EMPTY,
        .arg = "SECONDS",
        .flags = OPTION_ARG_OPTIONAL,
        .doc = "write the address to standard output, and end when the last "
               "member has left; if standard input is a pipe, not before it "
               "is closed, else also if no member has joined within 60 s, or "
               "SECONDS",
    };
    table->rows[n_rows++] =
        (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
    table->rows[n_rows++] =
        (struct argp_option){.key = 'v', .flags = OPTION_HIDDEN};
    table->rows[n_rows] = (struct argp_option){
        .name = "check",
        .key = OPTION_KEY_CHECK,
        .arg = "HOST:PORT",
        .flags = OPTION_ARG_OPTIONAL,
        .doc = "ask the coordinator there, or at --listen, whether it "
               "serves; exit code 0 or 1",
    };
}

static void
option_set_setting(struct argp_state *state,
                   enum setting_id id,
                   const char *text)
{
    struct options *options = state->input;
    char where[LIMIT_NAME];

    snprintf(where, sizeof(where), "--%s", setting_row(id)->option);
    const struct setting_input input = {SETTING_FROM_CALLER, where,
                                        text ? text : "on"};
    if (settings_set(options->settings, id, &input) != HOOP_OK)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0, "%s", error_text());
}

static void
option_set_check(struct argp_state *state, const char *address)
{
    struct options *options = state->input;

    options->task = OPTIONS_TASK_CHECK;
    if (address)
        snprintf(options->check, sizeof(options->check), "%s", address);
}

static void
option_set_until_empty(struct argp_state *state, const char *text)
{
    struct options *options = state->input;
    char *end = NULL;

    options->until_empty_s = IDLE_SHUTDOWN_LIMIT_S;
    if (!text)
        return;
    const unsigned long seconds = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || seconds == 0 ||
        seconds > UNTIL_EMPTY_MAX_S)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--until-empty: '%s' is no number of seconds from 1 to %d",
                     text, UNTIL_EMPTY_MAX_S);
    options->until_empty_s = (uint32_t)seconds;
}

static error_t
option_parse(int key, char *text, struct argp_state *state)
{
    const struct options *options = state->input;

    if (key >= OPTION_KEY_SETTING_FIRST &&
        key < OPTION_KEY_SETTING_FIRST + SETTING_COUNT) {
        option_set_setting(
            state, (enum setting_id)(key - OPTION_KEY_SETTING_FIRST), text);
        return 0;
    }
    if (key == 'h')
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    if (key == 'v') {
        printf("%s\n", argp_program_version);
        exit(EXIT_SUCCESS);
    }
    if (key == OPTION_KEY_CHECK) {
        option_set_check(state, text);
        return 0;
    }
    if (key == OPTION_KEY_REPAIR) {
        ((struct options *)state->input)->task = OPTIONS_TASK_REPAIR;
        return 0;
    }
    if (key == OPTION_KEY_UNTIL_EMPTY) {
        option_set_until_empty(state, text);
        return 0;
    }
    /* Accept "--check ADDR" as well as "--check=ADDR". */
    if (key == ARGP_KEY_ARG && options->task == OPTIONS_TASK_CHECK &&
        state->arg_num == 0) {
        option_set_check(state, text);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static enum hoop_status
command_line_read(int argc, char **argv, struct options *options)
{
    static char version[LIMIT_NAME];
    CLEANUP(free) struct option_table *table = calloc(1, sizeof(*table));

    if (!table)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the options");
    option_table_fill(table);
    snprintf(version, sizeof(version), "hoopd %s", version_text);
    argp_program_version = version;
    argp_err_exit_status = OPTIONS_EXIT_USAGE;
    const struct argp parser = {
        .options = table->rows,
        .parser = option_parse,
        .doc = description,
    };
    argp_parse(&parser, argc, argv, 0, NULL, options);
    return HOOP_OK;
}

/* Prefer a token to a token file, unless the file is named by a source of
 * higher priority, such as the command line. */
static enum hoop_status
token_setting_resolve(struct options *options)
{
    const struct settings *settings = options->settings;
    const char *text = settings_text(settings, SETTING_TOKEN);
    const char *path = settings_text(settings, SETTING_TOKEN_FILE);

    if (path && (!text || settings_origin(settings, SETTING_TOKEN) <
                              settings_origin(settings, SETTING_TOKEN_FILE))) {
        const enum hoop_status status =
            token_file_read(path, sizeof(options->token), options->token);

        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    if (text)
        snprintf(options->token, sizeof(options->token), "%s", text);
    return HOOP_OK;
}

/* Read the file of settings. If it sets the token, it must be as private as a
 * token file. */
static enum hoop_status
config_file_read(struct options *options, const char *path)
{
    int fd = -1;

    enum hoop_status status = settings_read_file(options->settings, path);
    if (status == HOOP_OK && settings_text(options->settings, SETTING_TOKEN) &&
        settings_origin(options->settings, SETTING_TOKEN) == SETTING_FROM_FILE)
        status = private_file_open("file of settings, with a token in it,",
                                   path, &fd);
    if (fd >= 0)
        close(fd);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
setting_sources_read(int argc, char **argv, struct options *options)
{
    enum hoop_status status = command_line_read(argc, argv, options);
    if (status != HOOP_OK)
        return error_pass(status);
    status = settings_read_environment(options->settings);
    if (status != HOOP_OK)
        return error_pass(status);

    const char *path = settings_text(options->settings, SETTING_CONFIG);
    if (path)
        status = config_file_read(options, path);
    /* Configure the log first, because reading the token file may log. */
    log_configure(
        (enum log_level)settings_number(options->settings, SETTING_LOG_LEVEL),
        (enum log_format)settings_number(options->settings,
                                         SETTING_LOG_FORMAT));
    if (status == HOOP_OK)
        status = token_setting_resolve(options);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static uint32_t
setting_u32(const struct options *options, enum setting_id id)
{
    return (uint32_t)settings_number(options->settings, id);
}

/* Set the addresses to listen on; those not given get defaults. */
static void
default_addresses_fill(struct options *options)
{
    struct hoop_coordinator_options *coordinator = &options->coordinator;
    const bool is_public = options_require_authentication(coordinator) ||
                           options_allow_anybody(coordinator);
    const char *http = settings_text(options->settings, SETTING_HTTP);

    coordinator->listen = settings_text(options->settings, SETTING_LISTEN);
    if (!coordinator->listen)
        coordinator->listen = is_public ? "0.0.0.0:4667" : "localhost:4667";
    if (!http)
        http = is_public ? "0.0.0.0:4668" : "localhost:4668";
    coordinator->http = strcmp(http, "none") != 0 ? http : NULL;
}

static void
coordinator_options_fill(struct options *options)
{
    options->coordinator = (struct hoop_coordinator_options){
        .token = options->token[0] ? options->token : NULL,
        .world_size = setting_u32(options, SETTING_WORLD_SIZE),
        .world_size_min = setting_u32(options, SETTING_WORLD_SIZE_MIN),
        .settle_ms = setting_u32(options, SETTING_SETTLE),
        .lease_ms = setting_u32(options, SETTING_LEASE),
        .data_dir = settings_text(options->settings, SETTING_DATA_DIR),
        .durability = (enum hoop_durability)settings_number(options->settings,
                                                            SETTING_DURABILITY),
        .connections_per_address =
            setting_u32(options, SETTING_CONNECTIONS_PER_ADDRESS),
        .tls = setting_u32(options, SETTING_TLS) ? "on" : "off",
        .tls_cert = settings_text(options->settings, SETTING_TLS_CERT),
        .tls_key = settings_text(options->settings, SETTING_TLS_KEY),
        .tls_ca = settings_text(options->settings, SETTING_TLS_CA),
        .http_tls = setting_u32(options, SETTING_HTTP_TLS) ? "on" : "off",
        .http_tls_cert =
            settings_text(options->settings, SETTING_HTTP_TLS_CERT),
        .http_tls_key = settings_text(options->settings, SETTING_HTTP_TLS_KEY),
        .insecure_open =
            setting_u32(options, SETTING_INSECURE_OPEN) % 2 ? "on" : "off",
    };
    default_addresses_fill(options);
    options->is_standby = setting_u32(options, SETTING_STANDBY) != 0;
    options->log_level =
        (enum log_level)settings_number(options->settings, SETTING_LOG_LEVEL);
    options->log_format =
        (enum log_format)settings_number(options->settings, SETTING_LOG_FORMAT);
}

/* Let a check without an address go to the address where this hoopd would
 * listen. */
static enum hoop_status
check_address_fill(struct options *options)
{
    struct address_list list;

    if (options->task != OPTIONS_TASK_CHECK || options->check[0])
        return HOOP_OK;

    const enum hoop_status status =
        address_resolve_listen(options->coordinator.listen, &list);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct address *first = &list.items[0];
    if (address_is_any(first))
        snprintf(options->check, sizeof(options->check), "%s:%u",
                 first->storage.ss_family == AF_INET6 ? "[::1]" : "127.0.0.1",
                 address_port(first));
    else
        address_format(first, options->check);
    return HOOP_OK;
}

enum hoop_status
options_init(int argc, char **argv, struct options *options)
{
    *options = (struct options){.task = OPTIONS_TASK_SERVE};

    enum hoop_status status =
        settings_create(SETTING_USER_HOOPD, &options->settings);
    if (status != HOOP_OK)
        return error_pass(status);
    status = setting_sources_read(argc, argv, options);
    if (status != HOOP_OK)
        return error_pass(status);
    coordinator_options_fill(options);
    if (options->is_standby &&
        (!options->coordinator.data_dir ||
         options->coordinator.durability == HOOP_DURABLE_MEMORY))
        return error_raise(HOOP_E_INVALID,
                           "a standby needs the data of the one that it "
                           "stands by for: give both the same --data-dir, "
                           "and neither --durability memory");
    if (options->task == OPTIONS_TASK_REPAIR && !options->coordinator.data_dir)
        return error_raise(HOOP_E_INVALID,
                           "--data-repair needs the folder that it is about: "
                           "give --data-dir");
    status = check_address_fill(options);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

void
options_deinit(struct options *options)
{
    settings_destroy(options->settings);
    explicit_bzero(options->token, sizeof(options->token));
}
