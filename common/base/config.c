/*
 * base/config.c - the values of a worker's settings, each in its field
 *
 * Which field belongs to a setting is said by the setting's row
 * (base/setting_table.c).
 */

#include "base/config.h"

#include <stdio.h>
#include <string.h>

#include "base/settings.h"

_Static_assert(sizeof(enum codec_id) == sizeof(uint32_t) &&
                   sizeof(enum shm_mode) == sizeof(uint32_t),
               "a choice has the size of a number");

/* Write a value into its field; text is NULL if the setting has no value. */
static void
config_set_field(struct config *config,
                 const struct setting *setting,
                 const char *text,
                 uint64_t number)
{
    char *field = (char *)config + setting->field;
    const uint32_t narrow = (uint32_t)number;
    const bool is_on = number != 0;
    const struct port_range ports = port_range_from_number(number);

    switch (setting->type) {
    case SETTING_TYPE_TEXT:
        snprintf(field, setting->max + 1, "%s", text ? text : "");
        return;
    case SETTING_TYPE_PORTS:
        memcpy(field, &ports, sizeof(ports));
        return;
    case SETTING_TYPE_UINT:
    case SETTING_TYPE_DURATION:
    case SETTING_TYPE_CHOICE:
        if (setting->choices == setting_choices_switches)
            memcpy(field, &is_on, sizeof(is_on));
        else
            memcpy(field, &narrow, sizeof(narrow));
        return;
    }
}

static bool
setting_has_field(const struct setting *setting)
{
    return (setting->users & SETTING_USER_WORKER) != 0;
}

void
config_init_from_settings(struct config *config,
                          const struct settings *settings)
{
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const enum setting_id id = (enum setting_id)i;
        const struct setting *setting = setting_row(id);

        if (setting_has_field(setting))
            config_set_field(config, setting, settings_text(settings, id),
                             settings_number(settings, id));
    }
}

void
config_deinit(struct config *config)
{
    explicit_bzero(config->token, sizeof(config->token));
}
