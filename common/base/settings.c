/*
 * base/settings.c - the values of one user's settings
 *
 * Each value keeps its text beside its number, so that errors show what the
 * user wrote.
 */

#include "base/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

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
settings_port_range(const struct settings *settings, enum setting_id id)
{
    const uint64_t number = settings_number(settings, id);

    return (struct port_range){
        .first = (uint16_t)(number & UINT16_MAX),
        .last = (uint16_t)(number >> 16),
    };
}
