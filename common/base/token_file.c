/*
 * base/token_file.c - read a job's secret from a file
 *
 * Does not use a stream, whose buffer would be freed with the secret in it.
 */

#include "base/token_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/private_file.h"

static enum hoop_status
token_text_check(const char *path, const char *text, size_t n_bytes)
{
    if (n_bytes == 0)
        return error_raise(HOOP_E_INVALID, "the token file %s is empty", path);
    if (memchr(text, '\n', n_bytes) || memchr(text, '\0', n_bytes))
        return error_raise(HOOP_E_INVALID,
                           "the token file %s is not one line of text", path);
    return HOOP_OK;
}

struct token_text {
    char bytes[2 * LIMIT_TOKEN]; /* room for blanks to be removed */
};

static void
token_text_wipe(struct token_text *text)
{
    explicit_bzero(text, sizeof(*text));
}

/* Read as much as there is room for; -1: an error. Closes fd. */
static ssize_t
token_text_read(int fd, struct token_text *text)
{
    size_t n_text = 0;
    ssize_t n = 1;

    while (n != 0 && n_text < sizeof(text->bytes)) {
        n = read(fd, text->bytes + n_text, sizeof(text->bytes) - n_text);
        if (n < 0 && errno != EINTR)
            break;
        n_text += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return n < 0 ? -1 : (ssize_t)n_text;
}

enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token)
{
    static const char blanks[] = " \t\r\n";
    __attribute__((cleanup(token_text_wipe))) struct token_text secret;
    char *const text = secret.bytes;
    int fd = -1;

    enum hoop_status status = private_file_open("token file", path, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    const ssize_t n_read = token_text_read(fd, &secret);
    if (n_read < 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot read the token file %s",
                           path);
    size_t n_text = (size_t)n_read;

    const char *start = text;
    while (n_text > 0 && start[0] && strchr(blanks, start[0])) {
        start++;
        n_text--;
    }
    while (n_text > 0 && start[n_text - 1] && strchr(blanks, start[n_text - 1]))
        n_text--;

    status = token_text_check(path, start, n_text);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_text >= n_bytes || (size_t)n_read == sizeof(secret.bytes))
        return error_raise(HOOP_E_INVALID,
                           "the token in %s has more than %zu bytes", path,
                           n_bytes - 1);

    memcpy(out_token, start, n_text);
    out_token[n_text] = '\0';
    return HOOP_OK;
}
