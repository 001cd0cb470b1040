/*
 * base/settings_file.c - read a file of lines `key = value`
 *
 * Deliberately simple: no sections, no quotes, no continued lines. The value is
 * the text after the = without surrounding blanks. Errors name the line.
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
    unsigned line;
    char where[LIMIT_SETTING + 16]; /* the current line, for errors */
    unsigned set_on[SETTING_COUNT]; /* line number; 0: not set yet */
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
    if (reader->set_on[id])
        return error_raise(HOOP_E_INVALID, "%s: %s is set on line %u, too",
                           reader->where, setting_row(id)->name,
                           reader->set_on[id]);
    reader->set_on[id] = reader->line;

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
