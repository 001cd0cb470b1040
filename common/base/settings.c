/*
 * base/settings.c - the values of one user's settings
 *
 * Each value keeps its text beside its number, so that errors show what the
 * user wrote. Then follow the words of the choices, the search by name with the
 * lists of name=value, and the texts for help.
 */

#include "base/settings.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/spelling.h"

struct setting_value {
    enum setting_origin origin;
    bool is_present; /* set, or has a default */
    uint64_t number;
    char text[LIMIT_SETTING];
};

struct settings {
    enum setting_user user;
    struct setting_value values[SETTING_COUNT];
};

enum hoop_status
settings_set(struct settings *settings,
             enum setting_id id,
             const struct setting_input *input)
{
    const struct setting *setting = setting_row(id);
    struct setting_value *value = &settings->values[id];
    uint64_t number = 0;

    assert(setting->users & settings->user);
    /* Check the value even if another has priority, so that a wrong line is
     * reported. */
    const enum hoop_status status = setting_parse(setting, input, &number);
    if (status != HOOP_OK)
        return error_pass(status);

    if (value->is_present && input->origin < value->origin)
        return HOOP_OK;
    value->origin = input->origin;
    value->is_present = true;
    value->number = number;
    snprintf(value->text, sizeof(value->text), "%s", input->text);
    return HOOP_OK;
}

enum hoop_status
settings_set_number(struct settings *settings,
                    enum setting_id id,
                    uint64_t number)
{
    const char *suffix =
        setting_row(id)->type == SETTING_TYPE_DURATION ? "ms" : "";
    char text[LIMIT_NAME];

    snprintf(text, sizeof(text), "%" PRIu64 "%s", number, suffix);
    const enum hoop_status status =
        settings_set(settings, id,
                     &(struct setting_input){
                         .origin = SETTING_FROM_CALLER,
                         .where = setting_row(id)->name,
                         .text = text,
                     });
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
setting_set_default(struct settings *settings,
                    enum setting_id id,
                    const char *text)
{
    if (!text)
        return HOOP_OK;

    const enum hoop_status status =
        settings_set(settings, id,
                     &(struct setting_input){
                         .origin = SETTING_FROM_DEFAULT,
                         .where = "default",
                         .text = text,
                     });
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
settings_create(enum setting_user user, struct settings **out_settings)
{
    CLEANUP(settings_destroy)
    struct settings *settings = calloc(1, sizeof(*settings));

    if (!settings)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the settings");

    settings->user = user;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if (!(setting->users & user))
            continue;
        const enum hoop_status status = setting_set_default(
            settings, (enum setting_id)i, setting->default_text);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_settings = STEAL(settings);
    return HOOP_OK;
}

void
settings_destroy(struct settings *settings)
{
    if (!settings)
        return;

    explicit_bzero(settings, sizeof(*settings));
    free(settings);
}

static enum hoop_status
setting_read_variable(struct settings *settings, enum setting_id id)
{
    const char *name = setting_row(id)->environment;
    const char *former = setting_row(id)->former;
    const char *text = name ? getenv(name) : NULL;

    if (former && getenv(former) && *getenv(former))
        return error_raise(HOOP_E_INVALID, "%s is named %s now", former, name);
    if (!text || !*text)
        return HOOP_OK;

    const enum hoop_status status =
        settings_set(settings, id,
                     &(struct setting_input){
                         .origin = SETTING_FROM_ENVIRONMENT,
                         .where = name,
                         .text = text,
                     });
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
settings_read_environment(struct settings *settings)
{
    const char *ci = getenv("CI");

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const enum setting_id id = (enum setting_id)i;
        const struct setting *setting = setting_row(id);
        enum hoop_status status = HOOP_OK;

        if (!(setting->users & settings->user))
            continue;
        if (ci && *ci)
            status = setting_set_default(settings, id, setting->default_in_ci);
        if (status == HOOP_OK)
            status = setting_read_variable(settings, id);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum setting_user
settings_user(const struct settings *settings)
{
    return settings->user;
}

bool
settings_is_set(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].origin != SETTING_FROM_DEFAULT;
}

enum setting_origin
settings_origin(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].origin;
}

const char *
settings_text(const struct settings *settings, enum setting_id id)
{
    const struct setting_value *value = &settings->values[id];

    return value->is_present ? value->text : NULL;
}

uint64_t
settings_number(const struct settings *settings, enum setting_id id)
{
    return settings->values[id].number;
}

struct port_range
port_range_from_number(uint64_t number)
{
    return (struct port_range){
        .first = (uint16_t)(number & UINT16_MAX),
        .last = (uint16_t)(number >> 16),
    };
}

struct port_range
settings_port_range(const struct settings *settings, enum setting_id id)
{
    return port_range_from_number(settings_number(settings, id));
}

/* The words of the settings that have a fixed set of choices; the enums are in
 * base/config.h. */

/* In the order of enum log_level and enum log_format (base/log.h). */
const char *const setting_choices_log_levels[] = {
    "off", "error", "warning", "info", "debug", NULL,
};
const char *const setting_choices_log_formats[] = {"text", "json", NULL};

/* In the order of enum codec_id. */
const char *const setting_choices_codecs[] = {"none", "zstd", "planes", "auto",
                                              NULL};

/* In the order of enum codec_loss. */
const char *const setting_choices_wire_dtypes[] = {"none", "bf16", "fp16",
                                                   "int8", NULL};

/* In the order of enum engine_call_checking. */
const char *const setting_choices_checks[] = {"frames", "full", NULL};

/* In the order of enum comm_failure_policy. */
const char *const setting_choices_remedies[] = {"error", "retry", NULL};

/* false, true */
const char *const setting_choices_switches[] = {"off", "on", NULL};

/* Odd indexes mean true. Also for settings that are options without a value. */
const char *const setting_choices_flags[] = {"off", "on", "0", "1", NULL};

/* In the order of enum shm_mode. */
const char *const setting_choices_transports[] = {"auto", "tcp", "shm", NULL};

/* In the order of enum cma_mode. */
const char *const setting_choices_attaching[] = {"auto", "off", "on", NULL};

_Static_assert(LIMIT_STREAMS == 8, "the largest of these choices");
/* The index is the number of streams; auto is 0. */
const char *const setting_choices_streams[] = {
    "auto", "1", "2", "3", "4", "5", "6", "7", "8", NULL,
};

/* In the order of enum engine_spinning. */
const char *const setting_choices_spins[] = {"auto", "never", "always", NULL};

/* In the order of enum hoop_durability (hoop/coordinator.h). */
const char *const setting_choices_durabilities[] = {"disk", "process", "memory",
                                                    NULL};

/*
 * Find settings by name, and read lists of name=value. An unknown name is
 * answered with a similar one, and a former name with the new one.
 */

static const char prefix[] = "HOOP_";

/* Skip the prefix of "HOOP_TIMEOUT", in upper or lower case. */
static const char *
hoop_prefix_skip(const char *name)
{
    const size_t n_bytes = sizeof(prefix) - 1;

    return strncasecmp(name, prefix, n_bytes) == 0 ? name + n_bytes : name;
}

static enum hoop_status
unknown_name_raise(const char *where, const char *name, enum setting_user user)
{
    const char *page = user == SETTING_USER_HOOPD ? "hoopd(8)" : "hoop(7)";
    const char *names[SETTING_COUNT];
    char word[LIMIT_NAME];

    snprintf(word, sizeof(word), "%s", hoop_prefix_skip(name));
    for (char *at = word; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        names[i] = setting->users & user ? setting->name : NULL;
    }

    const char *nearest = spelling_nearest(word, names, SETTING_COUNT);
    if (nearest)
        return error_raise(HOOP_E_INVALID,
                           "%s: unknown setting '%s'; do you mean '%s'?", where,
                           name, nearest);
    return error_raise(HOOP_E_INVALID,
                       "%s: unknown setting '%s'; %s lists what there is",
                       where, name, page);
}

enum hoop_status
setting_find(const char *where,
             const char *name,
             enum setting_user user,
             enum setting_id *out_id)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);
        const char *former = setting->former;

        if (former &&
            strcasecmp(hoop_prefix_skip(name), hoop_prefix_skip(former)) == 0)
            return error_raise(HOOP_E_INVALID, "%s: '%s' is named '%s' now",
                               where, name, setting->name);
        if (strcmp(name, setting->name) != 0)
            continue;
        if (!(setting->users & user))
            return error_raise(HOOP_E_INVALID,
                               "%s: '%s' is a setting of %s, not of %s", where,
                               name, setting_users_name(setting->users),
                               setting_users_name(user));
        *out_id = (enum setting_id)i;
        return HOOP_OK;
    }
    return unknown_name_raise(where, name, user);
}

/* The caller's list, and where in it each setting was set. */
struct list_reader {
    struct settings *settings;
    size_t set_at_index[SETTING_COUNT]; /* counted from 1; 0: not set yet */
};

/* Read the item at index, counted from 0; where names it in errors. */
static enum hoop_status
list_item_apply(struct list_reader *reader,
                size_t index,
                const char *where,
                const char *item)
{
    const char *equals = strchr(item, '=');
    const size_t n_bytes = equals ? (size_t)(equals - item) : 0;
    enum setting_id id = SETTING_COUNT;
    char name[LIMIT_NAME];

    if (!equals || n_bytes >= sizeof(name))
        return error_raise(HOOP_E_INVALID,
                           "%s: an item is name=value, with a name of less "
                           "than %zu bytes",
                           where, sizeof(name));
    snprintf(name, sizeof(name), "%.*s", (int)n_bytes, item);

    const enum hoop_status status =
        setting_find(where, name, settings_user(reader->settings), &id);
    if (status != HOOP_OK)
        return error_pass(status);
    if (reader->set_at_index[id] > 0)
        return error_raise(HOOP_E_INVALID,
                           "%s: %s is given twice, first in settings[%zu]",
                           where, name, reader->set_at_index[id] - 1);
    reader->set_at_index[id] = index + 1;
    return settings_set(reader->settings, id,
                        &(struct setting_input){
                            .origin = SETTING_FROM_CALLER,
                            .where = where,
                            .text = equals + 1,
                        });
}

enum hoop_status
settings_read_list(struct settings *settings, const char *const *list)
{
    struct list_reader reader = {.settings = settings};
    char where[LIMIT_NAME];

    for (size_t i = 0; list && list[i]; i++) {
        snprintf(where, sizeof(where), "options.settings[%zu]", i);
        const enum hoop_status status =
            list_item_apply(&reader, i, where, list[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Describe a setting for --help and the man pages. */

const char *
setting_users_name(unsigned users)
{
    return users == SETTING_USER_HOOPD    ? "hoopd"
           : users == SETTING_USER_WORKER ? "workers"
                                          : "workers and hoopd";
}

void
setting_describe_choices(const struct setting *setting,
                         char *text,
                         size_t n_bytes)
{
    size_t n_used = 0;

    text[0] = '\0';
    for (size_t i = 0; setting->choices && setting->choices[i]; i++) {
        const char *before = i == 0                    ? ""
                             : setting->choices[i + 1] ? ", "
                                                       : " or ";
        const int n = snprintf(text + n_used, n_bytes - n_used, "%s%s", before,
                               setting->choices[i]);

        if (n < 0 || (size_t)n >= n_bytes - n_used)
            return;
        n_used += (size_t)n;
    }
}

void
setting_describe(const struct setting *setting, char *text, size_t n_bytes)
{
    char choices[LIMIT_SETTING_CHOICES_TEXT];
    char fallback[LIMIT_NAME] = "";

    setting_describe_choices(setting, choices, sizeof(choices));
    if (setting->default_in_ci)
        snprintf(fallback, sizeof(fallback), "default %s, in CI %s; ",
                 setting->default_text, setting->default_in_ci);
    else if (setting->default_text)
        snprintf(fallback, sizeof(fallback), "default %s; ",
                 setting->default_text);

    snprintf(text, n_bytes, "%s%s%s (%s%s)", setting->help,
             *choices ? ": " : "", choices, fallback, setting->environment);
}
