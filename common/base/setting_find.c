/*
 * base/setting_find.c - find settings by name, and read lists of name=value
 *
 * An unknown name is answered with a similar one, and a former name with the
 * new one.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/settings.h"
#include "base/spelling.h"

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
    size_t set_at[SETTING_COUNT]; /* counted from 1; 0: not set yet */
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
    if (reader->set_at[id] > 0)
        return error_raise(HOOP_E_INVALID,
                           "%s: %s is given twice, first in settings[%zu]",
                           where, name, reader->set_at[id] - 1);
    reader->set_at[id] = index + 1;
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
