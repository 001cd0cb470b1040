/* base/spelling.c - warn about misspelt environment variables */

#include "base/spelling.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"

enum {
    NAME_MAX_BYTES = 64, /* longer names are not compared */
    WARNINGS_MAX = 8,
    TEXT_MAX_BYTES = 256,
};

static const char prefix[] = "HOOP_";

/* Known variables that are not in the settings table. */
static const char *const others[] = {
    "HOOP_LOCAL_RANK", /* set by hooprun for its workers */
    "HOOP_PROGRESS",   /* set by hooprun for hoop-perf and the examples */
    "HOOP_RSH",        /* read by hooprun */
    "HOOP_TORCH_AS",   /* read by hoop_torch */
};

/* Prefixes of variables of hoop's own tests and measurements. */
static const char *const families[] = {"HOOP_TEST_", "HOOP_REQUIRE_",
                                       "HOOP_PERF_"};

/* Parts of names that Kubernetes sets in a pod for a service called hoop or
 * hoop-x. */
static const char *const services[] = {"_SERVICE_HOST", "_SERVICE_PORT",
                                       "_PORT_"};

enum {
    KNOWN = SETTING_COUNT + COUNT_OF(others),
};

/* Return the known name at index; NULL: that setting has no variable. */
static const char *
known_name(size_t index)
{
    if (index < SETTING_COUNT)
        return setting_row((enum setting_id)index)->environment;
    return others[index - SETTING_COUNT];
}

static bool
variable_is_known(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    }
    for (size_t i = 0; i < KNOWN; i++) {
        const char *known = known_name(i);

        if (known && strcmp(name, known) == 0)
            return true;
    }
    return false;
}

static bool
variable_is_of_kubernetes(const char *name, const char *value)
{
    for (size_t i = 0; i < COUNT_OF(services); i++) {
        if (strstr(name, services[i]))
            return true;
    }
    return strncmp(value, "tcp://", 6) == 0 || strncmp(value, "udp://", 6) == 0;
}

static unsigned
min_unsigned(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Return how many letters must be inserted, deleted, replaced or swapped with a
 * neighbour. Both texts are shorter than NAME_MAX_BYTES. */
static unsigned
edit_distance(const char *a, const char *b)
{
    unsigned rows[3][NAME_MAX_BYTES];
    const size_t n_a = strlen(a);
    const size_t n_b = strlen(b);

    for (unsigned j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= n_a; i++) {
        unsigned *const row = rows[i % 3];
        const unsigned *const above = rows[(i + 2) % 3];
        const unsigned *const before = rows[(i + 1) % 3];

        row[0] = i;
        for (unsigned j = 1; j <= n_b; j++) {
            row[j] = min_unsigned(above[j], row[j - 1]) + 1;
            row[j] =
                min_unsigned(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_unsigned(row[j], before[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

const char *
spelling_nearest(const char *word, const char *const *names, size_t n_names)
{
    const char *nearest = NULL;
    unsigned best = (unsigned)strlen(word) / 3 + 1;

    if (strlen(word) >= NAME_MAX_BYTES)
        return NULL;
    for (size_t i = 0; i < n_names; i++) {
        const bool is_short = names[i] && strlen(names[i]) < NAME_MAX_BYTES;
        const unsigned n = is_short ? edit_distance(word, names[i]) : best;

        if (n < best) {
            best = n;
            nearest = names[i];
        }
    }
    return nearest;
}

/* Return the known variable most similar to name, compared without the common
 * prefix. */
static const char *
nearest_variable(const char *name)
{
    const size_t n_prefix = sizeof(prefix) - 1;
    const char *names[KNOWN];

    for (size_t i = 0; i < KNOWN; i++)
        names[i] = known_name(i) ? known_name(i) + n_prefix : NULL;

    const char *nearest = spelling_nearest(name + n_prefix, names, KNOWN);
    return nearest ? nearest - n_prefix : NULL;
}

/* Return the present name of a renamed variable; NULL: it was not renamed. */
static const char *
renamed_variable_find(const char *name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if (setting->former && strcmp(name, setting->former) == 0)
            return setting->environment;
    }
    return NULL;
}

/* Returns whether fn was called. */
static bool
variable_spelling_check(const char *variable, spelling_fn *fn, void *owner)
{
    const char *value = strchr(variable, '=');
    char name[NAME_MAX_BYTES];
    char text[TEXT_MAX_BYTES];

    if (strncmp(variable, prefix, sizeof(prefix) - 1) != 0 || !value ||
        value - variable >= NAME_MAX_BYTES)
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)(value - variable), variable);
    if (variable_is_known(name) || variable_is_of_kubernetes(name, value + 1))
        return false;

    const char *present = renamed_variable_find(name);
    const char *nearest = nearest_variable(name);
    if (present)
        snprintf(text, sizeof(text), "%s is named %s now", name, present);
    else
        snprintf(text, sizeof(text), "%s is not a setting of hoop%s%s%s", name,
                 nearest ? "; do you mean " : "", nearest ? nearest : "",
                 nearest ? "?" : "");
    fn(owner, text);
    return true;
}

size_t
spelling_check(const char *const *variables, spelling_fn *fn, void *owner)
{
    size_t n_told = 0;

    for (; variables && *variables && n_told < WARNINGS_MAX; variables++)
        n_told += variable_spelling_check(*variables, fn, owner);
    return n_told;
}

static void
warning_write(void *owner, const char *text)
{
    (void)owner;
    log_write(LOG_WARNING, "settings", "%s", text);
}

static void
environment_spelling_warn(void)
{
    const char *level = getenv("HOOP_LOG");

    if (level && (strcmp(level, "off") == 0 || strcmp(level, "error") == 0))
        return;
    spelling_check((const char *const *)environ, warning_write, NULL);
}

void
spelling_warn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, environment_spelling_warn);
}
