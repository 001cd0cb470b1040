/* base/token_file.c - a job's secret kept in a file */

#include "base/token_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/private_file.h"

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

static enum hoop_status
text_check(const char *path, const char *text, size_t n_bytes)
{
    if (n_bytes == 0)
        return error_raise(HOOP_E_INVALID, "the token file %s is empty", path);
    if (memchr(text, '\n', n_bytes) || memchr(text, '\0', n_bytes))
        return error_raise(HOOP_E_INVALID,
                           "the token file %s is not one line of text", path);
    return HOOP_OK;
}

struct token_text {
    char bytes[2 * LIMIT_TOKEN]; /* room for blanks to cut */
};

static void
token_text_wipe(struct token_text *text)
{
    explicit_bzero(text, sizeof(*text));
}

enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token)
{
    static const char blanks[] = " \t\r\n";
    CLEANUP(stream_close) FILE *stream = NULL;
    __attribute__((cleanup(token_text_wipe))) struct token_text secret;
    char *const text = secret.bytes;
    int fd = -1;

    enum hoop_status status = private_file_open("token file", path, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    stream = fdopen(fd, "r");
    if (!stream) {
        close(fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the token file");
    }

    size_t n_text = fread(text, 1, sizeof(secret.bytes), stream);
    if (ferror(stream))
        return error_raise(HOOP_E_NOT_FOUND, "cannot read the token file %s",
                           path);

    const char *start = text;
    while (n_text > 0 && start[0] && strchr(blanks, start[0])) {
        start++;
        n_text--;
    }
    while (n_text > 0 && start[n_text - 1] && strchr(blanks, start[n_text - 1]))
        n_text--;

    status = text_check(path, start, n_text);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_text >= n_bytes || !feof(stream))
        return error_raise(HOOP_E_INVALID,
                           "the token in %s has more than %zu bytes", path,
                           n_bytes - 1);

    memcpy(out_token, start, n_text);
    out_token[n_text] = '\0';
    return HOOP_OK;
}
