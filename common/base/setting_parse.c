/*
 * base/setting_parse.c - parse the text of a setting, and a file of settings
 *
 * A value is checked against its bounds. Errors name the place, the value and
 * what is expected.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"

/* Return the complaint; NULL if the number is within its bounds. */
static const char *
number_bounds_complaint(const struct setting *setting, uint64_t number)
{
    return number < setting->min   ? "too small"
           : number > setting->max ? "too large"
                                   : NULL;
}

static enum hoop_status
bounds_raise(const struct setting *setting,
             const struct setting_input *input,
             const char *complaint)
{
    const char *unit = setting->type == SETTING_TYPE_DURATION ? " ms" : "";

    return error_raise(HOOP_E_INVALID,
                       "%s: '%s' is %s for %s: %" PRIu64 "%s to %" PRIu64
                       "%s are allowed",
                       input->where, input->text, complaint, setting->name,
                       setting->min, unit, setting->max, unit);
}

static enum hoop_status
format_raise(const struct setting *setting,
             const struct setting_input *input,
             const char *expected)
{
    return error_raise(HOOP_E_INVALID, "%s: '%s' is no value for %s: give %s",
                       input->where, input->text, setting->name, expected);
}

/*
 * Read digits at *at and advance past them. Saturates, so that the bounds
 * refuse an overflow. Returns false without a digit.
 */
static bool
digits_read(const char **at, uint64_t *out_number)
{
    const char *start = *at;
    uint64_t number = 0;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        const unsigned digit = (unsigned)(**at - '0');

        number = number > (UINT64_MAX - digit) / 10 ? UINT64_MAX
                                                    : number * 10 + digit;
    }
    *out_number = number;
    return *at != start;
}

static enum hoop_status
uint_parse(const struct setting *setting,
           const struct setting_input *input,
           uint64_t *out_number)
{
    const char *at = input->text;

    if (!digits_read(&at, out_number) || *at)
        return format_raise(setting, input, "a whole number");

    const char *complaint = number_bounds_complaint(setting, *out_number);
    return complaint ? bounds_raise(setting, input, complaint) : HOOP_OK;
}

/* Return the milliseconds of a unit, 0 if it is unknown. */
static uint64_t
unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {
        {"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000},
    };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ms;
    }
    return 0;
}

/* Read the decimals after the point as thousandths; further digits are
 * dropped. */
static bool
thousandths_read(const char **at, uint64_t *out_thousandths)
{
    uint64_t weight = 100;
    uint64_t sum = 0;
    const char *start = *at;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        sum += weight * (uint64_t)(**at - '0');
        weight /= 10;
    }
    *out_thousandths = sum;
    return *at != start;
}

static enum hoop_status
duration_parse(const struct setting *setting,
               const struct setting_input *input,
               uint64_t *out_number)
{
    static const char expected[] = "seconds, or a number with ms, s, m or h";
    const char *at = input->text;
    uint64_t whole;
    uint64_t thousandths = 0;

    if (!digits_read(&at, &whole))
        return format_raise(setting, input, expected);
    if (*at == '.') {
        at++;
        if (!thousandths_read(&at, &thousandths))
            return format_raise(setting, input, expected);
    }

    const uint64_t ms = unit_ms(at);
    if (ms == 0)
        return format_raise(setting, input, expected);

    const uint64_t number = whole > UINT64_MAX / ms - 1
                                ? UINT64_MAX
                                : whole * ms + thousandths * ms / 1000;
    const char *complaint = number_bounds_complaint(setting, number);
    if (complaint)
        return bounds_raise(setting, input, complaint);
    *out_number = number;
    return HOOP_OK;
}

/* The first port is in the lower 16 bits, the last one above them. */
static enum hoop_status
ports_parse(const struct setting *setting,
            const struct setting_input *input,
            uint64_t *out_number)
{
    static const char expected[] = "a port, or a range such as 5000-5063";
    const char *at = input->text;
    uint64_t first;
    uint64_t last;

    if (!digits_read(&at, &first))
        return format_raise(setting, input, expected);
    last = first;
    const bool is_range = *at == '-';
    if (is_range) {
        at++;
        if (!digits_read(&at, &last))
            return format_raise(setting, input, expected);
    }
    if (*at || (is_range && (first == 0 || last < first)))
        return format_raise(setting, input, expected);

    const char *complaint = number_bounds_complaint(setting, last);
    if (complaint)
        return bounds_raise(setting, input, complaint);
    *out_number = first | last << 16;
    return HOOP_OK;
}

static bool
choice_is_known(const struct setting *setting, const char *text)
{
    for (size_t i = 0; setting->choices[i]; i++) {
        if (strcmp(text, setting->choices[i]) == 0)
            return true;
    }
    return false;
}

/*
 * Refuse a value such as "bf16+zstd", which HOOP_CODEC accepted before
 * conversions had a setting of their own. HOOP_OK if it is none of these.
 */
static enum hoop_status
former_codec_raise(const struct setting_input *input)
{
    const struct setting *codec = setting_row(SETTING_CODEC);
    const struct setting *dtype = setting_row(SETTING_WIRE_DTYPE);
    const bool is_variable = input->origin == SETTING_FROM_ENVIRONMENT;
    const char *codec_name = is_variable ? codec->environment : codec->name;
    const char *dtype_name = is_variable ? dtype->environment : dtype->name;

    for (size_t i = 1; dtype->choices[i]; i++) {
        const size_t n_bytes = strlen(dtype->choices[i]);
        const char *rest = input->text + n_bytes;

        if (strncmp(input->text, dtype->choices[i], n_bytes) != 0)
            continue;
        if (!*rest)
            return error_raise(HOOP_E_INVALID, "%s: '%s' is %s=%s now",
                               input->where, input->text, dtype_name,
                               dtype->choices[i]);
        if (*rest == '+' && choice_is_known(codec, rest + 1))
            return error_raise(HOOP_E_INVALID,
                               "%s: '%s' is %s=%s and %s=%s now", input->where,
                               input->text, codec_name, rest + 1, dtype_name,
                               dtype->choices[i]);
    }
    return HOOP_OK;
}

static enum hoop_status
choice_parse(const struct setting *setting,
             const struct setting_input *input,
             uint64_t *out_number)
{
    char choices[LIMIT_SETTING_CHOICES_TEXT];

    for (size_t i = 0; setting->choices[i]; i++) {
        if (strcmp(input->text, setting->choices[i]) == 0) {
            *out_number = i;
            return HOOP_OK;
        }
    }
    if (setting == setting_row(SETTING_CODEC)) {
        const enum hoop_status status = former_codec_raise(input);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    setting_describe_choices(setting, choices, sizeof(choices));
    return format_raise(setting, input, choices);
}

static enum hoop_status
number_parse(const struct setting *setting,
             const struct setting_input *input,
             uint64_t *out_number)
{
    switch (setting->type) {
    case SETTING_TYPE_TEXT:
        *out_number = 0;
        return HOOP_OK;
    case SETTING_TYPE_UINT:
        return uint_parse(setting, input, out_number);
    case SETTING_TYPE_DURATION:
        return duration_parse(setting, input, out_number);
    case SETTING_TYPE_CHOICE:
        return choice_parse(setting, input, out_number);
    case SETTING_TYPE_PORTS:
        return ports_parse(setting, input, out_number);
    }
    return error_raise(HOOP_E_INTERNAL, "setting %s has no type",
                       setting->name);
}

static enum hoop_status
setting_text_check(const struct setting *setting,
                   const struct setting_input *input)
{
    const size_t n_bytes = strlen(input->text);
    const size_t n_max = setting->type == SETTING_TYPE_TEXT
                             ? (size_t)setting->max
                             : (size_t)LIMIT_NAME;

    if (n_bytes == 0)
        return error_raise(HOOP_E_INVALID, "%s: %s has no value", input->where,
                           setting->name);
    if (n_bytes > n_max)
        return error_raise(HOOP_E_INVALID,
                           "%s: the value of %s has %zu bytes, more than %zu",
                           input->where, setting->name, n_bytes, n_max);
    return HOOP_OK;
}

enum hoop_status
setting_parse(const struct setting *setting,
              const struct setting_input *input,
              uint64_t *out_number)
{
    enum hoop_status status = setting_text_check(setting, input);
    if (status != HOOP_OK)
        return error_pass(status);

    status = number_parse(setting, input, out_number);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/*
 * Read a file of lines `key = value`. It is deliberately simple: no sections,
 * no quotes, no continued lines. The value is the text after the = without
 * surrounding blanks. Errors name the line.
 */

struct file_reader {
    struct settings *settings;
    unsigned line;
    char where[LIMIT_SETTING + 16];      /* the current line, for errors */
    unsigned set_at_line[SETTING_COUNT]; /* line number; 0: not set yet */
};

struct file_text {
    const char *path;
    mode_t mode;
    size_t n_bytes;
    char bytes[LIMIT_SETTINGS_FILE];
};

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Remove blanks at both ends of text, in place. */
static char *
text_trim(char *text)
{
    size_t n_bytes = strlen(text);

    while (n_bytes > 0 && is_blank(text[n_bytes - 1]))
        text[--n_bytes] = '\0';
    while (is_blank(*text))
        text++;
    return text;
}

static enum hoop_status
file_value_apply(struct file_reader *reader,
                 enum setting_id id,
                 const char *value)
{
    if (reader->set_at_line[id])
        return error_raise(HOOP_E_INVALID, "%s: %s is set on line %u, too",
                           reader->where, setting_row(id)->name,
                           reader->set_at_line[id]);
    reader->set_at_line[id] = reader->line;

    const enum hoop_status status =
        settings_set(reader->settings, id,
                     &(struct setting_input){
                         .origin = SETTING_FROM_FILE,
                         .where = reader->where,
                         .text = value,
                     });
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
file_line_apply(struct file_reader *reader, char *line)
{
    enum setting_id id = SETTING_COUNT;
    char *key = text_trim(line);

    if (*key == '\0' || *key == '#')
        return HOOP_OK;

    char *equals = strchr(key, '=');
    if (!equals)
        return error_raise(HOOP_E_INVALID,
                           "%s: a line is 'key = value' or a # comment",
                           reader->where);
    *equals = '\0';
    key = text_trim(key);

    enum hoop_status status =
        setting_find(reader->where, key, settings_user(reader->settings), &id);
    if (status != HOOP_OK)
        return error_pass(status);

    status = file_value_apply(reader, id, text_trim(equals + 1));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Read one line of n_bytes without its newline. */
static enum hoop_status
file_line_read(struct file_reader *reader, const char *bytes, size_t n_bytes)
{
    char line[LIMIT_SETTING + LIMIT_NAME];

    if (n_bytes >= sizeof(line) || memchr(bytes, '\0', n_bytes))
        return error_raise(HOOP_E_INVALID,
                           "%s: longer than %zu bytes, or not text",
                           reader->where, sizeof(line) - 1);
    memcpy(line, bytes, n_bytes);
    line[n_bytes] = '\0';

    const enum hoop_status status = file_line_apply(reader, line);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
settings_read_text(struct settings *settings,
                   const char *name,
                   const char *text,
                   size_t n_bytes)
{
    struct file_reader reader = {.settings = settings};
    size_t at = 0;

    while (at < n_bytes) {
        const char *newline = memchr(text + at, '\n', n_bytes - at);
        const size_t n_line =
            newline ? (size_t)(newline - text) - at : n_bytes - at;

        reader.line++;
        snprintf(reader.where, sizeof(reader.where), "%s:%u", name,
                 reader.line);
        const enum hoop_status status =
            file_line_read(&reader, text + at, n_line);
        if (status != HOOP_OK)
            return error_pass(status);
        at += n_line + 1;
    }
    return HOOP_OK;
}

static void
fd_close_at(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static enum hoop_status
file_bytes_read(int fd, struct file_text *text)
{
    while (text->n_bytes < sizeof(text->bytes)) {
        const ssize_t n = read(fd, text->bytes + text->n_bytes,
                               sizeof(text->bytes) - text->n_bytes);

        if (n == 0)
            return HOOP_OK;
        if (n < 0 && errno != EINTR)
            return error_raise(HOOP_E_NOT_FOUND, "cannot read %s: %s",
                               text->path, strerror(errno));
        text->n_bytes += n < 0 ? 0 : (size_t)n;
    }
    return error_raise(HOOP_E_INVALID, "%s has %zu bytes or more", text->path,
                       sizeof(text->bytes));
}

/* Read a small file completely into text, whose path is set. */
static enum hoop_status
settings_file_read(struct file_text *text)
{
    CLEANUP(fd_close) int fd = open(text->path, O_RDONLY | O_CLOEXEC);
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot open %s: %s", text->path,
                           strerror(errno));
    text->mode = about.st_mode;

    const enum hoop_status status = file_bytes_read(fd, text);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
settings_read_file(struct settings *settings, const char *path)
{
    struct file_text text = {.path = path};

    enum hoop_status status = settings_file_read(&text);
    if (status != HOOP_OK)
        return error_pass(status);

    status = settings_read_text(settings, path, text.bytes, text.n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
