/* tune/races.c - what was measured here: algorithms that ran in turns */

#include "tune/races.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

enum {
    LINE_BYTES_MAX = 1024,
};

/* A quarter of an hour: what takes longer was not measured. */
static const uint64_t NS_MAX = (uint64_t)1 << 40;
static const uint64_t SIZE_MAX_BYTES = (uint64_t)1 << 50;

struct reader {
    const char *where;
    unsigned line;
    struct races *races;
};

/* Digits and nothing else. */
static bool
number_parse(const char *text, uint64_t max, uint64_t *out_number)
{
    uint64_t number = 0;

    if (*text == '\0')
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || number > max)
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
    }
    *out_number = number;
    return number <= max;
}

/* The next word of a line; "" at its end. */
static char *
word_take(char **line)
{
    char *word = "";

    while (*line && *word == '\0')
        word = strsep(line, " \t\r");
    return word;
}

static enum hoop_status
head_take(const struct reader *reader, char **line, struct race *race)
{
    const char *ranks = word_take(line);
    const char *nodes = word_take(line);
    const char *collective = word_take(line);
    const char *bytes = word_take(line);
    uint64_t n_ranks = 0;
    uint64_t n_nodes = 0;

    if (!number_parse(ranks, LIMIT_RANKS, &n_ranks) || n_ranks == 0 ||
        !number_parse(nodes, n_ranks, &n_nodes) || n_nodes == 0)
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: a line begins with a number of ranks and of "
                           "their nodes, not '%s %s'",
                           reader->where, reader->line, ranks, nodes);
    if (!catalog_parse(collective, &race->collective))
        return error_raise(HOOP_E_INVALID, "%s:%u: there is no collective '%s'",
                           reader->where, reader->line, collective);
    if (!number_parse(bytes, SIZE_MAX_BYTES, &race->n_bytes))
        return error_raise(HOOP_E_INVALID, "%s:%u: '%s' is no number of bytes",
                           reader->where, reader->line, bytes);
    race->n_ranks = (uint32_t)n_ranks;
    race->n_nodes = (uint32_t)n_nodes;
    return HOOP_OK;
}

/* One "ring=885000". */
static enum hoop_status
time_take(const struct reader *reader, char *word, struct race *race)
{
    size_t n_entries;
    const struct catalog_entry *first =
        catalog_of(race->collective, &n_entries);
    char *equals = strchr(word, '=');
    uint64_t ns = 0;

    if (!equals || !number_parse(equals + 1, NS_MAX, &ns) || ns == 0)
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: '%s' is not of the form algorithm=ns",
                           reader->where, reader->line, word);
    *equals = '\0';
    const struct catalog_entry *entry = catalog_find(race->collective, word);
    if (!entry || entry - first >= RACE_ENTRIES_MAX)
        return error_raise(
            HOOP_E_INVALID, "%s:%u: there is no algorithm '%s' for %s",
            reader->where, reader->line, word, catalog_name(race->collective));
    if (race->ns[entry - first] > 0)
        return error_raise(HOOP_E_INVALID, "%s:%u: %s is said twice",
                           reader->where, reader->line, word);
    race->ns[entry - first] = ns;
    return HOOP_OK;
}

static enum hoop_status
race_add(struct races *races, const struct race *race)
{
    if (races->n == races->capacity) {
        const size_t capacity = races->capacity > 0 ? 2 * races->capacity : 64;
        struct race *all =
            reallocarray(races->all, capacity, sizeof(races->all[0]));

        if (!all)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu races",
                               capacity);
        races->all = all;
        races->capacity = capacity;
    }
    races->all[races->n++] = *race;
    return HOOP_OK;
}

static enum hoop_status
line_take(struct reader *reader, char *line)
{
    struct race race = {0};
    char *word;

    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#')
        return HOOP_OK;
    enum hoop_status status = head_take(reader, &line, &race);
    while (status == HOOP_OK && *(word = word_take(&line)) != '\0')
        status = time_take(reader, word, &race);
    if (status == HOOP_OK)
        status = race_add(reader->races, &race);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* One line, without its newline. */
static enum hoop_status
line_read(struct reader *reader, const char *text, size_t n_bytes)
{
    char line[LINE_BYTES_MAX];

    reader->line++;
    if (n_bytes >= sizeof(line) || memchr(text, '\0', n_bytes))
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: longer than %zu bytes, or not text",
                           reader->where, reader->line, sizeof(line) - 1);
    memcpy(line, text, n_bytes);
    line[n_bytes] = '\0';
    const enum hoop_status status = line_take(reader, line);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static int
order(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int
race_compare(const void *left, const void *right)
{
    const struct race *one = left;
    const struct race *other = right;
    const int orders[] = {
        order(one->n_ranks, other->n_ranks),
        order(one->n_nodes, other->n_nodes),
        order(one->collective, other->collective),
        order(one->n_bytes, other->n_bytes),
    };

    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

/* Keeps the text, which must be read again where it travels to. */
static enum hoop_status
text_keep(struct races *races, const char *text, size_t n_bytes)
{
    races->text = malloc(n_bytes + 1);
    if (!races->text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu bytes",
                           n_bytes);
    memcpy(races->text, text, n_bytes);
    races->text[n_bytes] = '\0';
    races->n_bytes = n_bytes;
    return HOOP_OK;
}

enum hoop_status
races_parse(const char *where,
            const char *text,
            size_t n_bytes,
            struct races **out_races)
{
    CLEANUP(races_destroy) struct races *races = calloc(1, sizeof(*races));
    struct reader reader = {.where = where, .races = races};
    size_t at = 0;

    if (!races)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for races");
    if (n_bytes > LIMIT_RACES)
        return error_raise(HOOP_E_INVALID, "%s: more than %d bytes", where,
                           (int)LIMIT_RACES);
    enum hoop_status status = text_keep(races, text, n_bytes);
    while (status == HOOP_OK && at < n_bytes) {
        const char *newline = memchr(text + at, '\n', n_bytes - at);
        const size_t n_line =
            newline ? (size_t)(newline - text) - at : n_bytes - at;

        status = line_read(&reader, text + at, n_line);
        at += n_line + 1;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    if (races->n > 0)
        qsort(races->all, races->n, sizeof(races->all[0]), race_compare);
    *out_races = STEAL(races);
    return HOOP_OK;
}

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

enum hoop_status
races_read(const char *path, struct races **out_races)
{
    CLEANUP(stream_close) FILE *stream = fopen(path, "re");
    CLEANUP(free) char *text = malloc(LIMIT_RACES + 1);

    if (!stream)
        return error_raise(HOOP_E_NOT_FOUND, "HOOP_TUNING: cannot open %s: %s",
                           path, strerror(errno));
    if (!text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read %s", path);
    const size_t n_bytes = fread(text, 1, LIMIT_RACES + 1, stream);
    if (ferror(stream))
        return error_raise(HOOP_E_NOT_FOUND, "HOOP_TUNING: cannot read %s: %s",
                           path, strerror(errno));
    const enum hoop_status status = races_parse(path, text, n_bytes, out_races);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
races_destroy(struct races *races)
{
    if (!races)
        return;
    free(races->all);
    free(races->text);
    free(races);
}
