/*
 * docs/man/settings_man.c - prints the settings of one user for a reader
 *
 * settings_man worker|hoopd, in scdoc's language for a man page; settings_man
 * rows: a worker's as C, for hooprun --settings. What the table of
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

/* Texts of the table have neither quotes nor backslashes. */
static void
row_print(const struct setting *setting)
{
    char description[512];

    setting_describe(setting, description, sizeof(description));
    variable_omit(description, setting->environment);
    printf("    {\"%s=%s\",\n     \"%s\"},\n", setting->environment,
           setting->placeholder, description);
}

static void
rows_print(void)
{
    printf("/* settings_rows.c - made by docs/man/settings_man.c */\n\n"
           "#include \"hooprun/settings_rows.h\"\n\n"
           "const struct settings_row settings_rows[] = {\n");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if ((setting->users & SETTING_USER_WORKER) && !setting->is_internal)
            row_print(setting);
    }
    printf("    {0},\n};\n");
}

static void
page_print(enum setting_user user)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if (!(setting->users & user) || setting->is_internal ||
            (setting->is_secret && user == SETTING_USER_HOOPD))
            continue;
        setting_print(setting, user);
    }
}

int
main(int n_arguments, char **arguments)
{
    const char *what = n_arguments == 2 ? arguments[1] : "worker";

    if (strcmp(what, "rows") == 0)
        rows_print();
    else
        page_print(strcmp(what, "hoopd") == 0 ? SETTING_USER_HOOPD
                                              : SETTING_USER_WORKER);
    return 0;
}
