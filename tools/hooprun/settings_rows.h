/*
 * hooprun/settings_rows.h - what workers can be told
 *
 * docs/man/settings_man.c makes the rows of the table of all settings.
 */

#ifndef HOOPRUN_SETTINGS_ROWS_H
#define HOOPRUN_SETTINGS_ROWS_H

struct settings_row {
    const char *variable; /* "HOOP_CODEC=CODEC" */
    const char *help;
};

/* Up to one without a variable. */
extern const struct settings_row settings_rows[];

#endif
