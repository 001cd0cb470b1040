/*
 * select/samples.c - measured times of algorithms, which override the model
 *
 * Three parts: samples replace choices in a table, are kept in a file for later
 * jobs, and are parsed from text.
 */

#include "select/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algorithms/registry.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"

/*
 * Let measured times replace the model's choices.
 *
 * A size that was measured stands for the sizes up to the geometric mean
 * with the next measured size, but for none that is more than four times as
 * large or as small.
 */

enum {
    SAMPLE_SIZE_RATIO_MAX = 4,
    /* MAJORITY_NUMERATOR of MAJORITY_DENOMINATOR samples must be faster. */
    MAJORITY_NUMERATOR = 3,
    MAJORITY_DENOMINATOR = 4,
};

/* The samples of one number of ranks and nodes, collective and size. */
struct sample_set {
    const struct sample *samples;
    size_t n;
    /* What the ranks of the communicator share. */
    const struct plan_shm_region *shm_region;
};

static bool
samples_are_comparable(const struct sample *one, const struct sample *other)
{
    return one->n_ranks == other->n_ranks && one->n_nodes == other->n_nodes &&
           one->collective == other->collective &&
           one->n_bytes == other->n_bytes;
}

/* Returns the set that begins at samples->all[first]. */
static struct sample_set
sample_set_at(const struct samples *samples, size_t first)
{
    struct sample_set sample_set = {&samples->all[first], 1, NULL};

    while (first + sample_set.n < samples->n &&
           samples_are_comparable(sample_set.samples,
                                  &sample_set.samples[sample_set.n]))
        sample_set.n++;
    return sample_set;
}

static bool
sample_set_is_faster(const struct sample_set *sample_set,
                     size_t one,
                     size_t other)
{
    size_t n_both = 0;
    size_t n_won = 0;

    for (size_t i = 0; i < sample_set->n; i++) {
        const uint64_t *ns = sample_set->samples[i].ns;

        n_both += ns[one] > 0 && ns[other] > 0;
        n_won += ns[one] > 0 && ns[one] < ns[other];
    }
    return n_both >= SAMPLES_MIN &&
           n_won * MAJORITY_DENOMINATOR >= n_both * MAJORITY_NUMERATOR;
}

/* Compares each algorithm with the best so far, which is at first holder. */
static const struct registry_algorithm *
fastest_algorithm_of_set(const struct sample_set *sample_set,
                         const struct registry_algorithm *holder,
                         enum tuning_table_form form)
{
    size_t n_entries;
    const struct registry_algorithm *first = registry_collective_entries(
        sample_set->samples->collective, &n_entries);

    for (size_t i = 0; i < n_entries && i < SAMPLE_ENTRIES_MAX; i++) {
        const size_t held = (size_t)(holder - first);
        const bool may =
            (form == TABLE_FORM_EVEN_BLOCKS || !first[i].is_even_only) &&
            plan_shm_region_can_run(sample_set->shm_region, first[i].algorithm);

        if (may && held < SAMPLE_ENTRIES_MAX &&
            sample_set_is_faster(sample_set, i, held))
            holder = &first[i];
    }
    return holder;
}

static uint64_t
geometric_mean_of(uint64_t below, uint64_t above)
{
    const double product = (double)below * (double)above;

    while (above - below > 1) {
        const uint64_t middle = below + (above - below) / 2;

        if ((double)middle * (double)middle < product)
            below = middle;
        else
            above = middle;
    }
    return below;
}

/* The samples [first, end) of one number of ranks and nodes and one
 * collective. */
struct sample_range {
    const struct samples *samples;
    size_t first;
    size_t end;
    const struct plan_shm_region *shm_region;
};

static struct sample_range
sample_range_at(const struct samples *samples, size_t first)
{
    const struct sample *sample = &samples->all[first];
    size_t end = first + 1;

    while (end < samples->n && samples->all[end].n_ranks == sample->n_ranks &&
           samples->all[end].n_nodes == sample->n_nodes &&
           samples->all[end].collective == sample->collective)
        end++;
    return (struct sample_range){
        .samples = samples, .first = first, .end = end};
}

/* A rule for the sizes that the set at index at stands for, without entry. */
static struct tuning_rule
rule_for_size_of_set(const struct sample_range *sample_range,
                     size_t at,
                     const struct sample_set *sample_set)
{
    const struct sample *all = sample_range->samples->all;
    const uint64_t n_bytes = all[at].n_bytes;
    struct tuning_rule rule = {n_bytes / SAMPLE_SIZE_RATIO_MAX,
                               n_bytes * SAMPLE_SIZE_RATIO_MAX, NULL};

    if (at > sample_range->first) {
        const uint64_t middle = geometric_mean_of(all[at - 1].n_bytes, n_bytes);

        if (rule.after_bytes < middle)
            rule.after_bytes = middle;
    }
    if (at + sample_set->n < sample_range->end) {
        const uint64_t middle =
            geometric_mean_of(n_bytes, all[at + sample_set->n].n_bytes);

        if (rule.up_to_bytes > middle)
            rule.up_to_bytes = middle;
    }
    return rule;
}

static void
table_row_apply_samples(const struct sample_range *sample_range,
                        enum tuning_table_form form,
                        struct table *table)
{
    const struct sample *all = sample_range->samples->all;
    const enum collective_kind collective = all[sample_range->first].collective;

    for (size_t at = sample_range->first; at < sample_range->end;) {
        struct sample_set sample_set = sample_set_at(sample_range->samples, at);
        struct tuning_rule rule =
            rule_for_size_of_set(sample_range, at, &sample_set);
        const struct registry_algorithm *holder = tuning_table_find_algorithm(
            table, collective, form, all[at].n_bytes);

        sample_set.shm_region = sample_range->shm_region;
        rule.entry = fastest_algorithm_of_set(&sample_set, holder, form);
        if (rule.entry != holder)
            tuning_table_row_apply_rule(&table->rows[collective][form], &rule);
        at += sample_set.n;
    }
}

void
samples_apply(const struct samples *samples,
              const struct plan_nodes *nodes,
              const struct plan_shm_region *shm_region,
              struct table *table)
{
    for (size_t at = 0; at < samples->n;) {
        struct sample_range sample_range = sample_range_at(samples, at);

        sample_range.shm_region = shm_region;
        if (samples->all[at].n_ranks == nodes->n_ranks &&
            samples->all[at].n_nodes == nodes->n_nodes) {
            table_row_apply_samples(&sample_range, TABLE_FORM_EVEN_BLOCKS,
                                    table);
            table_row_apply_samples(&sample_range, TABLE_FORM_UNEVEN_BLOCKS,
                                    table);
        }
        at = sample_range.end;
    }
}

size_t
samples_count_for_nodes(const struct samples *samples,
                        const struct plan_nodes *nodes)
{
    size_t n_most = 0;

    for (size_t at = 0; samples && at < samples->n;) {
        const struct sample_set sample_set = sample_set_at(samples, at);
        const bool is_alike = sample_set.samples->n_ranks == nodes->n_ranks &&
                              sample_set.samples->n_nodes == nodes->n_nodes;

        if (is_alike && sample_set.n > n_most)
            n_most = sample_set.n;
        at += sample_set.n;
    }
    return n_most;
}

/* Keep the samples of this machine for later jobs. */

enum {
    LINE_BYTES = 512,
};

static const char CPUINFO_PATH[] = "/proc/cpuinfo";
static const char CPUINFO_MODEL_KEY[] = "model name";

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

static void
digest_add_text(struct digest *digest, const char *text)
{
    digest_add(digest, text, strlen(text) + 1);
}

/* Adds the model of the first processor; the others are assumed to be the
 * same. */
static void
digest_add_processor_model(struct digest *digest)
{
    CLEANUP(stream_close) FILE *stream = fopen(CPUINFO_PATH, "re");
    char line[LINE_BYTES] = "";

    while (stream && fgets(line, sizeof(line), stream)) {
        if (strncmp(line, CPUINFO_MODEL_KEY, strlen(CPUINFO_MODEL_KEY)) != 0)
            continue;
        digest_add_text(digest, line);
        return;
    }
}

/* Samples of other algorithms would say nothing about these. */
static void
digest_add_algorithm_names(struct digest *digest)
{
    size_t n_entries;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (size_t i = 0; i < n_entries; i++)
        digest_add_text(digest, entries[i].algorithm->name);
}

static enum hoop_status
machine_signature_make(const char *transport, uint64_t *out_signature)
{
    CLEANUP(digest_destroy) struct digest *digest = NULL;
    const long n_processors = sysconf(_SC_NPROCESSORS_ONLN);

    const enum hoop_status status = digest_create(&digest);
    if (status != HOOP_OK)
        return error_pass(status);
    digest_add_processor_model(digest);
    digest_add(digest, &n_processors, sizeof(n_processors));
    digest_add_text(digest, transport);
    digest_add_algorithm_names(digest);
    *out_signature = digest_value(digest);
    return HOOP_OK;
}

enum hoop_status
sample_store_path(const char *transport, char **out_path)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const bool is_said = cache && cache[0] == '/';
    uint64_t signature = 0;

    if (!is_said && (!home || home[0] != '/'))
        return error_raise(HOOP_E_NOT_FOUND,
                           "HOOP_TUNING=auto: neither XDG_CACHE_HOME nor HOME "
                           "is the path of a folder to keep times in");
    const enum hoop_status status =
        machine_signature_make(transport, &signature);
    if (status != HOOP_OK)
        return error_pass(status);
    if (asprintf(out_path, "%s%s/hoop/tuning-%016" PRIx64 ".txt",
                 is_said ? cache : home, is_said ? "" : "/.cache",
                 signature) < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a path");
    return HOOP_OK;
}

struct samples *
sample_store_read(const char *path)
{
    struct samples *samples = NULL;

    if (samples_read(path, &samples) == HOOP_OK)
        return samples;
    log_debug("tune", "no measurements are stored: %s", error_text());
    return NULL;
}

/* Folders that exist are fine; if one cannot be made, opening the file
 * fails. */
static void
parent_folders_create(const char *path)
{
    CLEANUP(free) char *folder = strdup(path);

    for (char *at = folder; at && (at = strchr(at + 1, '/'));) {
        *at = '\0';
        (void)!mkdir(folder, S_IRWXU);
        *at = '/';
    }
}

static bool
file_write_all(int fd, const char *text, size_t n_bytes)
{
    while (n_bytes > 0) {
        const ssize_t n = write(fd, text, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

enum hoop_status
sample_store_write(const char *path, const char *text, size_t n_bytes)
{
    CLEANUP(free) char *made = NULL;

    if (asprintf(&made, "%s.XXXXXX", path) < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a path");
    parent_folders_create(path);
    const int fd = mkostemp(made, O_CLOEXEC);
    if (fd < 0)
        return error_raise(HOOP_E_UNAVAILABLE, "cannot write beside %s: %s",
                           path, strerror(errno));
    const bool is_written = file_write_all(fd, text, n_bytes);
    if (close(fd) == 0 && is_written && rename(made, path) == 0)
        return HOOP_OK;
    (void)error_raise(HOOP_E_UNAVAILABLE, "cannot write %s: %s", path,
                      strerror(errno));
    unlink(made);
    return error_pass(HOOP_E_UNAVAILABLE);
}

/* Parse samples from text. */

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
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for %zu measurements", capacity);
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
        return error_raise(HOOP_E_EXHAUSTED, "no memory for measurements");
    if (n_bytes > LIMIT_SAMPLE_FILE_BYTES)
        return error_raise(HOOP_E_INVALID, "%s: more than %d bytes", where,
                           (int)LIMIT_SAMPLE_FILE_BYTES);
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

enum hoop_status
samples_read(const char *path, struct samples **out_samples)
{
    CLEANUP(stream_close) FILE *stream = fopen(path, "re");
    CLEANUP(free) char *text = malloc(LIMIT_SAMPLE_FILE_BYTES + 1);

    if (!stream)
        return error_raise(HOOP_E_NOT_FOUND, "HOOP_TUNING: cannot open %s: %s",
                           path, strerror(errno));
    if (!text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read %s", path);
    const size_t n_bytes = fread(text, 1, LIMIT_SAMPLE_FILE_BYTES + 1, stream);
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
