/* select/samples.c - measured times of algorithms, which override the model */

#include "select/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

enum {
    LINE_BYTES_MAX = 1024,
};

/* About 18 minutes; no sample takes longer. */
static const uint64_t NS_MAX = (uint64_t)1 << 40;
static const uint64_t SIZE_MAX_BYTES = (uint64_t)1 << 50;

struct sample_parser {
    const char *where;
    unsigned line;
    struct samples *samples;
};

/* Accepts only digits. */
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

/* Returns the next word of a line; "" at its end. */
static char *
line_next_word(char **line)
{
    char *word = "";

    while (*line && *word == '\0')
        word = strsep(line, " \t\r");
    return word;
}

static enum hoop_status
sample_parse_key(const struct sample_parser *sample_parser,
                 char **line,
                 struct sample *sample)
{
    const char *ranks = line_next_word(line);
    const char *nodes = line_next_word(line);
    const char *collective = line_next_word(line);
    const char *bytes = line_next_word(line);
    uint64_t n_ranks = 0;
    uint64_t n_nodes = 0;

    if (!number_parse(ranks, LIMIT_RANKS, &n_ranks) || n_ranks == 0 ||
        !number_parse(nodes, n_ranks, &n_nodes) || n_nodes == 0)
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: a line begins with a number of ranks and of "
                           "their nodes, not '%s %s'",
                           sample_parser->where, sample_parser->line, ranks,
                           nodes);
    if (!registry_parse_collective(collective, &sample->collective))
        return error_raise(HOOP_E_INVALID, "%s:%u: there is no collective '%s'",
                           sample_parser->where, sample_parser->line,
                           collective);
    if (!number_parse(bytes, SIZE_MAX_BYTES, &sample->n_bytes))
        return error_raise(HOOP_E_INVALID, "%s:%u: '%s' is no number of bytes",
                           sample_parser->where, sample_parser->line, bytes);
    sample->n_ranks = (uint32_t)n_ranks;
    sample->n_nodes = (uint32_t)n_nodes;
    return HOOP_OK;
}

/* Takes one "ring=885000". */
static enum hoop_status
sample_parse_time(const struct sample_parser *sample_parser,
                  char *word,
                  struct sample *sample)
{
    size_t n_entries;
    const struct registry_algorithm *first =
        registry_collective_entries(sample->collective, &n_entries);
    char *equals = strchr(word, '=');
    uint64_t ns = 0;

    if (!equals || !number_parse(equals + 1, NS_MAX, &ns) || ns == 0)
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: '%s' is not of the form algorithm=ns",
                           sample_parser->where, sample_parser->line, word);
    *equals = '\0';
    const struct registry_algorithm *entry =
        registry_find_algorithm(sample->collective, word);
    if (!entry || entry - first >= SAMPLE_ENTRIES_MAX)
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: there is no algorithm '%s' for %s",
                           sample_parser->where, sample_parser->line, word,
                           registry_collective_name(sample->collective));
    if (sample->ns[entry - first] > 0)
        return error_raise(HOOP_E_INVALID, "%s:%u: %s is said twice",
                           sample_parser->where, sample_parser->line, word);
    sample->ns[entry - first] = ns;
    return HOOP_OK;
}

static enum hoop_status
sample_append(struct samples *samples, const struct sample *sample)
{
    if (samples->n == samples->capacity) {
        const size_t capacity =
            samples->capacity > 0 ? 2 * samples->capacity : 64;
        struct sample *all =
            reallocarray(samples->all, capacity, sizeof(samples->all[0]));

        if (!all)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu races",
                               capacity);
        samples->all = all;
        samples->capacity = capacity;
    }
    samples->all[samples->n++] = *sample;
    return HOOP_OK;
}

static enum hoop_status
sample_line_parse(struct sample_parser *sample_parser, char *line)
{
    struct sample sample = {0};
    char *word;

    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#')
        return HOOP_OK;
    enum hoop_status status = sample_parse_key(sample_parser, &line, &sample);
    while (status == HOOP_OK && *(word = line_next_word(&line)) != '\0')
        status = sample_parse_time(sample_parser, word, &sample);
    if (status == HOOP_OK)
        status = sample_append(sample_parser->samples, &sample);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Parses one line, without its newline. */
static enum hoop_status
sample_line_copy_and_parse(struct sample_parser *sample_parser,
                           const char *text,
                           size_t n_bytes)
{
    char line[LINE_BYTES_MAX];

    sample_parser->line++;
    if (n_bytes >= sizeof(line) || memchr(text, '\0', n_bytes))
        return error_raise(
            HOOP_E_INVALID, "%s:%u: longer than %zu bytes, or not text",
            sample_parser->where, sample_parser->line, sizeof(line) - 1);
    memcpy(line, text, n_bytes);
    line[n_bytes] = '\0';
    const enum hoop_status status = sample_line_parse(sample_parser, line);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static int
uint64_compare(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int
sample_compare(const void *left, const void *right)
{
    const struct sample *one = left;
    const struct sample *other = right;
    const int orders[] = {
        uint64_compare(one->n_ranks, other->n_ranks),
        uint64_compare(one->n_nodes, other->n_nodes),
        uint64_compare(one->collective, other->collective),
        uint64_compare(one->n_bytes, other->n_bytes),
    };

    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

/* Keeps the text, because other ranks parse it again. */
static enum hoop_status
samples_keep_text(struct samples *samples, const char *text, size_t n_bytes)
{
    samples->text = malloc(n_bytes + 1);
    if (!samples->text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu bytes",
                           n_bytes);
    memcpy(samples->text, text, n_bytes);
    samples->text[n_bytes] = '\0';
    samples->n_bytes = n_bytes;
    return HOOP_OK;
}

enum hoop_status
samples_parse(const char *where,
              const char *text,
              size_t n_bytes,
              struct samples **out_samples)
{
    CLEANUP(samples_destroy)
    struct samples *samples = calloc(1, sizeof(*samples));
    struct sample_parser sample_parser = {.where = where, .samples = samples};
    size_t at = 0;

    if (!samples)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for races");
    if (n_bytes > LIMIT_RACES)
        return error_raise(HOOP_E_INVALID, "%s: more than %d bytes", where,
                           (int)LIMIT_RACES);
    enum hoop_status status = samples_keep_text(samples, text, n_bytes);
    while (status == HOOP_OK && at < n_bytes) {
        const char *newline = memchr(text + at, '\n', n_bytes - at);
        const size_t n_line =
            newline ? (size_t)(newline - text) - at : n_bytes - at;

        status = sample_line_copy_and_parse(&sample_parser, text + at, n_line);
        at += n_line + 1;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    if (samples->n > 0)
        qsort(samples->all, samples->n, sizeof(samples->all[0]),
              sample_compare);
    *out_samples = STEAL(samples);
    return HOOP_OK;
}

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

enum hoop_status
samples_read(const char *path, struct samples **out_samples)
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
    const enum hoop_status status =
        samples_parse(path, text, n_bytes, out_samples);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
samples_destroy(struct samples *samples)
{
    if (!samples)
        return;
    free(samples->all);
    free(samples->text);
    free(samples);
}
