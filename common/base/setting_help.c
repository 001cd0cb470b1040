/* base/setting_help.c - describe a setting in words */

#include <stdio.h>

#include "base/limits.h"
#include "base/settings.h"

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
    char choices[LIMIT_CHOICES];
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
