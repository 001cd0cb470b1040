/*
 * hooprun/settings_rows.h - the settings of workers, for the help text
 *
 * docs/man/settings_man.c generates the rows from the table of all settings.
 */

#ifndef HOOPRUN_SETTINGS_ROWS_H
#define HOOPRUN_SETTINGS_ROWS_H

struct settings_row {
    const char *variable; /* "HOOP_CODEC=CODEC" */
    const char *help;
};

/* The last one has no variable. */
extern const struct settings_row settings_rows[];

#endif
