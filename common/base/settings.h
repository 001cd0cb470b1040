/*
 * base/settings.h - all settings, in one table
 *
 * A setting has a key in the configuration file, an environment variable, a
 * long option, a type, bounds and a line of help. Its value comes from, in
 * order of decreasing priority: the caller or the command line, the
 * environment, the file, the default. Sources may be read in any order: the one
 * with the higher priority wins.
 *
 * The table also produces --help and the man pages, so that they cannot miss a
 * setting.
 */

#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/config.h"

enum setting_type {
    SETTING_TYPE_TEXT,
    SETTING_TYPE_UINT,
    SETTING_TYPE_DURATION, /* "10", "2.5s", "500ms", "5m", "1h"; in ms */
    SETTING_TYPE_CHOICE,   /* index into choices */
    SETTING_TYPE_PORTS,    /* "5000", "5000-5063"; settings_port_range() */
};

/* Bits of setting.users. */
enum setting_user {
    SETTING_USER_WORKER = 1,
    SETTING_USER_HOOPD = 2,
};

/* Lowest priority first. */
enum setting_origin {
    SETTING_FROM_DEFAULT,
    SETTING_FROM_FILE,
    SETTING_FROM_ENVIRONMENT,
    SETTING_FROM_CALLER, /* the command line, or the options of a call */
};

struct setting {
    const char *name;           /* key in the file: "join_timeout" */
    const char *environment;    /* "HOOP_JOIN_TIMEOUT"; NULL: none */
    const char *option;         /* "join-timeout", without the dashes */
    const char *placeholder;    /* placeholder of the value in --help:
                                   "SECONDS" */
    const char *help;           /* one line, no full stop */
    const char *default_text;   /* NULL: not set */
    const char *default_in_ci;  /* used instead if CI is set; NULL: the same */
    const char *const *choices; /* ends with NULL; for SETTING_TYPE_CHOICE */
    uint64_t min;               /* of the number */
    uint64_t max;               /* of the number, or bytes of a text */
    enum setting_type type;
    unsigned users;
    size_t field;       /* of workers: its offset in struct config */
    const char *former; /* former name of the variable; NULL: none */
    bool is_secret;     /* not an option of hoopd, because others can read a
                         command line */
    /* For tests, debugging or communication between hoop's programs:
     * documented in CONTRIBUTING.md, not in the man pages. */
    bool is_internal;
};

/* A value as written, and the name of its place for errors. */
struct setting_input {
    enum setting_origin origin;
    const char *where; /* "--lease", "HOOP_LEASE", "hoop.conf:3" */
    const char *text;
};

struct settings;

/* Return the row of a setting; id is below SETTING_COUNT. Static. */
const struct setting *
setting_row(enum setting_id id);

/*
 * Write "one line of help (default 10; HOOP_LEASE)" for --help, cut to n_bytes.
 */
void
setting_describe(const struct setting *setting, char *text, size_t n_bytes);

/* Write "auto, tcp or shm" for a choice, else "". */
void
setting_describe_choices(const struct setting *setting,
                         char *text,
                         size_t n_bytes);

/* Return "workers", "hoopd" or "workers and hoopd". Static. */
const char *
setting_users_name(unsigned users);

/*
 * Find the setting of user with a name such as "join_timeout".
 * Handle: HOOP_E_INVALID (the text begins with where, and names the unknown
 * name and a similar setting, or the new name of a renamed one).
 */
enum hoop_status
setting_find(const char *where,
             const char *name,
             enum setting_user user,
             enum setting_id *out_id);

/*
 * Parse a text as the setting's type and check its bounds.
 * Handle: HOOP_E_INVALID (the text names the place, the value and what is
 * expected).
 */
enum hoop_status
setting_parse(const struct setting *setting,
              const struct setting_input *input,
              uint64_t *out_number);

/*
 * Create all settings of a user with their defaults. The caller destroys
 * *out_settings.
 */
enum hoop_status
settings_create(enum setting_user user, struct settings **out_settings);

/* Erases the token. NULL is allowed. */
void
settings_destroy(struct settings *settings);

DEFINE_CLEANUP(struct settings *, settings_destroy)

/*
 * Set a value, unless one with a higher priority is set already. An empty text
 * is refused. The text is copied.
 * Handle: HOOP_E_INVALID (the text names the place, the value and what is
 * expected).
 */
enum hoop_status
settings_set(struct settings *settings,
             enum setting_id id,
             const struct setting_input *input);

/*
 * Set a number from the caller, in milliseconds for durations.
 * Handle: HOOP_E_INVALID (out of bounds).
 */
enum hoop_status
settings_set_number(struct settings *settings,
                    enum setting_id id,
                    uint64_t number);

/*
 * Read the variables of this user's settings; empty ones count as not set. If
 * CI is set, the defaults for CI apply.
 * Handle: HOOP_E_INVALID (also a variable with its former name). Thread: while
 * no other thread calls setenv().
 */
enum hoop_status
settings_read_environment(struct settings *settings);

/*
 * Read the caller's list of texts "name=value", which ends with NULL; the list
 * may be NULL. They override what the caller has set before, and are copied.
 * Handle: HOOP_E_INVALID (unknown name, bad value or repeated name; the text
 * names the item).
 */
enum hoop_status
settings_read_list(struct settings *settings, const char *const *list);

/*
 * Read a file of lines `key = value`; # begins a comment line.
 * Handle: HOOP_E_NOT_FOUND (cannot be opened), HOOP_E_INVALID (unknown key, bad
 * value, repeated key or not a setting; the text names file:line).
 */
enum hoop_status
settings_read_file(struct settings *settings, const char *path);

/* As settings_read_file(), from memory; name replaces the path in errors. */
enum hoop_status
settings_read_text(struct settings *settings,
                   const char *name,
                   const char *text,
                   size_t n_bytes);

enum setting_user
settings_user(const struct settings *settings);

/* Return whether a source other than the default has set it. */
bool
settings_is_set(const struct settings *settings, enum setting_id id);

/* Which kind of source its value comes from. */
enum setting_origin
settings_origin(const struct settings *settings, enum setting_id id);

/* Return the text as written; NULL if it is not set and has no default.
 * Borrowed. */
const char *
settings_text(const struct settings *settings, enum setting_id id);

/* Return a number, a duration in milliseconds or the index of a choice; 0
 * otherwise. */
uint64_t
settings_number(const struct settings *settings, enum setting_id id);

/* Return the range that the number of a SETTING_TYPE_PORTS stands for. */
struct port_range
port_range_from_number(uint64_t number);

/* Return the value of a SETTING_TYPE_PORTS. */
struct port_range
settings_port_range(const struct settings *settings, enum setting_id id);

/*
 * The words of the settings with a fixed set of choices. The number of such a
 * setting is the index of its word in the list, which ends with NULL.
 */

extern const char *const setting_choices_log_levels[];
extern const char *const setting_choices_log_formats[];
extern const char *const setting_choices_codecs[];
extern const char *const setting_choices_wire_dtypes[];
extern const char *const setting_choices_checks[];
extern const char *const setting_choices_remedies[];
extern const char *const setting_choices_switches[];
extern const char *const setting_choices_flags[];
extern const char *const setting_choices_transports[];
extern const char *const setting_choices_attaching[];
extern const char *const setting_choices_streams[];
extern const char *const setting_choices_spins[];
extern const char *const setting_choices_durabilities[];

#endif
