/*
 * base/settings.h - every setting of hoop, in one table
 *
 * A setting has a key in the configuration file, an environment variable, a
 * long option, a type, bounds and a line of help. Its value comes from, in
 * falling order: the caller or the command line, the environment, the file,
 * the default. Sources may be read in any order: the stronger one stays.
 *
 * The table also feeds --help and the man pages, so neither can forget one.
 */

#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

enum setting_id {
    /* Workers (libhoop). */
    SETTING_COORDINATOR,
    SETTING_JOB,
    SETTING_TOKEN,      /* hoopd, too */
    SETTING_TOKEN_FILE, /* hoopd, too */
    SETTING_RANK,
    SETTING_WORLD_SIZE, /* hoopd, too */
    SETTING_JOIN_TIMEOUT,
    SETTING_TIMEOUT,
    SETTING_FAILURE_TIMEOUT,
    SETTING_LATE_WARNING,
    SETTING_WAIT_NOTICE,
    SETTING_ENDINGS,
    SETTING_ON_FAILURE,
    SETTING_ADVERTISE,
    SETTING_INTERFACE,
    SETTING_PORT,
    SETTING_CODEC,
    SETTING_WIRE_DTYPE,
    SETTING_CHECK,
    SETTING_CHECKSUM,
    SETTING_TRANSPORT,
    SETTING_CMA,
    SETTING_TLS,
    SETTING_TLS_CERT,
    SETTING_TLS_KEY,
    SETTING_TLS_CA,
    SETTING_STREAMS,
    SETTING_NODE,
    SETTING_ALGORITHM,
    SETTING_TUNING,
    SETTING_LOG,
    SETTING_LOG_FORMAT, /* hoopd, too */
    SETTING_DEBUG_SPIN,
    SETTING_DEBUG_LINK,
    SETTING_DEBUG_FAULT, /* hoopd reads the variable by itself */

    /* hoopd. */
    SETTING_LISTEN,
    SETTING_HTTP,
    SETTING_HTTP_TLS,
    SETTING_HTTP_TLS_CERT,
    SETTING_HTTP_TLS_KEY,
    SETTING_INSECURE_OPEN,
    SETTING_WORLD_SIZE_MIN,
    SETTING_SETTLE,
    SETTING_LEASE,
    SETTING_DATA_DIR,
    SETTING_DURABILITY,
    SETTING_STANDBY,
    SETTING_CONNECTIONS_PER_ADDRESS,
    SETTING_CONFIG,
    SETTING_LOG_LEVEL,

    SETTING_COUNT,
};

enum setting_type {
    SETTING_TYPE_TEXT,
    SETTING_TYPE_UINT,
    SETTING_TYPE_DURATION, /* "10", "2.5s", "500ms", "5m", "1h"; in ms */
    SETTING_TYPE_CHOICE,   /* index into choices */
    SETTING_TYPE_PORTS,    /* "5000", "5000-5063"; settings_ports() */
};

/* Ports from the first to the last one; 0, 0: any. */
struct port_range {
    uint16_t first;
    uint16_t last;
};

/* Bits of setting.users. */
enum setting_user {
    SETTING_USER_WORKER = 1,
    SETTING_USER_HOOPD = 2,
};

/* Weakest first. */
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
    const char *placeholder;    /* of the value in --help: "SECONDS" */
    const char *help;           /* one line, no full stop */
    const char *default_text;   /* NULL: not set */
    const char *default_in_ci;  /* instead, when CI is set; NULL: the same */
    const char *const *choices; /* ends with NULL; for SETTING_TYPE_CHOICE */
    uint64_t min;               /* of the number */
    uint64_t max;               /* of the number, or bytes of a text */
    enum setting_type type;
    unsigned users;
    const char *former; /* variable that it was before; NULL: none */
    bool is_secret;   /* no option of hoopd's: others can read a command line */
    bool is_internal; /* for tests and debugging, or between programs of hoop:
                         in CONTRIBUTING.md, not in the man pages */
};

/* A value as it was written, and what to call the place in an error. */
struct setting_input {
    enum setting_origin origin;
    const char *where; /* "--lease", "HOOP_LEASE", "hoop.conf:3" */
    const char *text;
};

struct settings;

/* The row of a setting; id is below SETTING_COUNT. Static. */
const struct setting *
setting_row(enum setting_id id);

/*
 * "one line of help (default 10; HOOP_LEASE)", for --help; cut to n_bytes.
 */
void
setting_describe(const struct setting *setting, char *text, size_t n_bytes);

/* "auto, tcp or shm" of a choice, else "". */
void
setting_describe_choices(const struct setting *setting,
                         char *text,
                         size_t n_bytes);

/* "workers", "hoopd", "workers and hoopd". Static. */
const char *
setting_users_name(unsigned users);

/*
 * Which setting of user's a name means: "join_timeout".
 * Handle: HOOP_E_INVALID (the text begins with where, names the name and, where
 * there is one, the setting that is meant, or what its name is now).
 */
enum hoop_status
setting_find(const char *where,
             const char *name,
             enum setting_user user,
             enum setting_id *out_id);

/*
 * Read a text as the setting's type and check its bounds.
 * Handle: HOOP_E_INVALID (the text names the place, the value and what is
 * expected).
 */
enum hoop_status
setting_parse(const struct setting *setting,
              const struct setting_input *input,
              uint64_t *out_number);

/*
 * All settings of one user, at their defaults. *out_settings is the caller's.
 * Handle: none (HOOP_E_EXHAUSTED).
 */
enum hoop_status
settings_create(enum setting_user user, struct settings **out_settings);

/* NULL is fine. Wipes the token. */
void
settings_destroy(struct settings *settings);

DEFINE_CLEANUP(struct settings *, settings_destroy)

/*
 * Take one value, unless a stronger origin has set it already. An empty text
 * is refused. The text is copied.
 *
 * Handle: HOOP_E_INVALID (the text names the place, the value and what is
 * expected).
 */
enum hoop_status
settings_set(struct settings *settings,
             enum setting_id id,
             const struct setting_input *input);

/*
 * The caller's number (milliseconds for durations), already in its type.
 * Handle: HOOP_E_INVALID (out of bounds).
 */
enum hoop_status
settings_set_number(struct settings *settings,
                    enum setting_id id,
                    uint64_t number);

/*
 * Take the variables of this user's settings; empty ones count as not set.
 * With CI set, defaults are those for CI.
 *
 * Handle: HOOP_E_INVALID (also: a variable by its former name). Thread: while
 * nobody calls setenv().
 */
enum hoop_status
settings_read_environment(struct settings *settings);

/*
 * Take the caller's list of texts "name=value", ended by NULL; NULL: none. They
 * replace what the caller has set before, and are copied.
 *
 * Handle: HOOP_E_INVALID (the text names the item; unknown name, bad value,
 * twice the same name).
 */
enum hoop_status
settings_read_list(struct settings *settings, const char *const *list);

/*
 * Take a file of lines `key = value`; # begins a comment line.
 *
 * Handle: HOOP_E_NOT_FOUND (cannot be opened), HOOP_E_INVALID (the text
 * names file:line: unknown key, bad value, twice the same key, not a line).
 */
enum hoop_status
settings_read_file(struct settings *settings, const char *path);

/* The same from memory; name stands for the path in errors. */
enum hoop_status
settings_read_text(struct settings *settings,
                   const char *name,
                   const char *text,
                   size_t n_bytes);

enum setting_user
settings_user(const struct settings *settings);

/* Whether anything but the default has set it. */
bool
settings_is_set(const struct settings *settings, enum setting_id id);

/* Which kind of source its value comes from. */
enum setting_origin
settings_origin(const struct settings *settings, enum setting_id id);

/* As written; NULL when neither set nor given a default. Borrowed. */
const char *
settings_text(const struct settings *settings, enum setting_id id);

/* A uint, milliseconds of a duration, or the index of a choice; else 0. */
uint64_t
settings_number(const struct settings *settings, enum setting_id id);

/* The value of a SETTING_TYPE_PORTS. */
struct port_range
settings_ports(const struct settings *settings, enum setting_id id);

#endif
