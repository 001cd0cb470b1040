/*
 * docs/man/settings_man.c - prints the settings of one user for a man page
 *
 * settings_man worker|hoopd, in scdoc's language. What the table of
 * base/settings.h says is all there is to say; hence no list is kept by hand.
 */

#include <stdio.h>
#include <string.h>

#include "base/settings.h"

/* scdoc takes _ and * for emphasis. */
static void
text_print(const char *text)
{
    for (; *text; text++) {
        if (strchr("_*\\", *text))
            putchar('\\');
        putchar(*text);
    }
}

/* Of "... (default 60; HOOP_X)" or "... (HOOP_X)": the variable is the
 * heading. */
static void
variable_omit(char *description, const char *variable)
{
    char *end = description + strlen(description) - strlen(variable) - 1;

    if (end[-1] == '(')
        end[-2] = '\0';
    else
        strcpy(&end[-2], ")");
}

static void
setting_print(const struct setting *setting, enum setting_user user)
{
    char description[512];

    setting_describe(setting, description, sizeof(description));
    if (user == SETTING_USER_HOOPD) {
        printf("*--%s*=_%s_", setting->option, setting->placeholder);
    } else {
        variable_omit(description, setting->environment);
        printf("*%s*=_%s_", setting->environment, setting->placeholder);
    }
    printf("\n\t");
    text_print(description);
    printf("\n\n");
}

int
main(int n_arguments, char **arguments)
{
    const enum setting_user user =
        n_arguments == 2 && strcmp(arguments[1], "hoopd") == 0
            ? SETTING_USER_HOOPD
            : SETTING_USER_WORKER;

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if (setting->users & user)
            setting_print(setting, user);
    }
    return 0;
}
