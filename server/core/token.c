/* core/token.c - the secret of a job, compared without a hint */

#include "core/token.h"

#include <string.h>

#include "base/error.h"

enum hoop_status
token_init(struct token *token, const char *text)
{
    const size_t n_bytes = text ? strnlen(text, LIMIT_TOKEN) : 0;

    if (n_bytes == LIMIT_TOKEN)
        return error_raise(HOOP_E_INVALID,
                           "the job token is longer than %d bytes",
                           LIMIT_TOKEN - 1);
    memset(token->text, 0, sizeof(token->text));
    if (n_bytes)
        memcpy(token->text, text, n_bytes);
    return HOOP_OK;
}

bool
token_matches(const struct token *token, const char *text)
{
    struct token said;
    unsigned char difference = 0;

    if (token_init(&said, text) != HOOP_OK)
        return false;
    for (size_t i = 0; i < LIMIT_TOKEN; i++)
        difference |= (unsigned char)(token->text[i] ^ said.text[i]);
    return difference == 0;
}
