/*
 * base/settings_file.c - a file of lines `key = value`
 *
 * Small on purpose: no sections, no quotes, no continued lines. The value is
 * what stands after the = without the blanks around it. Errors name the line.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"

struct file_reader {
    struct settings *settings;
    const char *name; /* of the file */
    unsigned line;
    unsigned set_on[SETTING_COUNT]; /* line, 0: not yet */
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

/* Cut blanks at both ends of text, in place. */
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
key_find(const struct file_reader *reader,
         const char *key,
         enum setting_id *out_id)
{
    const enum setting_user user = settings_user(reader->settings);

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if (strcmp(key, setting->name) != 0)
            continue;
        if (!(setting->users & user))
            return error_raise(
                HOOP_E_INVALID, "%s:%u: '%s' is a setting of %s, not of %s",
                reader->name, reader->line, key,
                setting_users_name(setting->users), setting_users_name(user));
        *out_id = (enum setting_id)i;
        return HOOP_OK;
    }
    return error_raise(HOOP_E_INVALID, "%s:%u: unknown setting '%s'",
                       reader->name, reader->line, key);
}

static enum hoop_status
value_take(struct file_reader *reader, enum setting_id id, const char *value)
{
    char where[LIMIT_SETTING + 16];

    if (reader->set_on[id])
        return error_raise(HOOP_E_INVALID, "%s:%u: %s is set on line %u, too",
                           reader->name, reader->line, setting_row(id)->name,
                           reader->set_on[id]);
    reader->set_on[id] = reader->line;

    snprintf(where, sizeof(where), "%s:%u", reader->name, reader->line);
    const enum hoop_status status =
        settings_set(reader->settings, id,
                     &(struct setting_input){
                         .origin = SETTING_FROM_FILE,
                         .where = where,
                         .text = value,
                     });
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
line_take(struct file_reader *reader, char *line)
{
    enum setting_id id = SETTING_COUNT;
    char *key = text_trim(line);

    if (*key == '\0' || *key == '#')
        return HOOP_OK;

    char *equals = strchr(key, '=');
    if (!equals)
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: a line is 'key = value' or a # comment",
                           reader->name, reader->line);
    *equals = '\0';
    key = text_trim(key);

    enum hoop_status status = key_find(reader, key, &id);
    if (status != HOOP_OK)
        return error_pass(status);

    status = value_take(reader, id, text_trim(equals + 1));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* One line of n_bytes, without its newline. */
static enum hoop_status
line_read(struct file_reader *reader, const char *bytes, size_t n_bytes)
{
    char line[LIMIT_SETTING + LIMIT_NAME];

    if (n_bytes >= sizeof(line) || memchr(bytes, '\0', n_bytes))
        return error_raise(HOOP_E_INVALID,
                           "%s:%u: longer than %zu bytes, or not text",
                           reader->name, reader->line, sizeof(line) - 1);
    memcpy(line, bytes, n_bytes);
    line[n_bytes] = '\0';

    const enum hoop_status status = line_take(reader, line);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
settings_read_text(struct settings *settings,
                   const char *name,
                   const char *text,
                   size_t n_bytes)
{
    struct file_reader reader = {.settings = settings, .name = name};
    size_t at = 0;

    while (at < n_bytes) {
        const char *newline = memchr(text + at, '\n', n_bytes - at);
        const size_t n_line =
            newline ? (size_t)(newline - text) - at : n_bytes - at;

        reader.line++;
        const enum hoop_status status = line_read(&reader, text + at, n_line);
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
bytes_read(int fd, struct file_text *text)
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

/* The whole of a small file into text, whose path is set. */
static enum hoop_status
file_read(struct file_text *text)
{
    CLEANUP(fd_close) int fd = open(text->path, O_RDONLY | O_CLOEXEC);
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot open %s: %s", text->path,
                           strerror(errno));
    text->mode = about.st_mode;

    const enum hoop_status status = bytes_read(fd, text);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
settings_read_file(struct settings *settings, const char *path)
{
    struct file_text text = {.path = path};

    enum hoop_status status = file_read(&text);
    if (status != HOOP_OK)
        return error_pass(status);

    status = settings_read_text(settings, path, text.bytes, text.n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
