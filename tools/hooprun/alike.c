/* hooprun/alike.c - counts similar lines of many ranks in place of writing
 * them */

#include "hooprun/alike.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a of all but numbers and the separators in lists of them, "3, 5-7". */
static uint64_t
digest_of(const char *bytes, size_t n_bytes)
{
    uint64_t digest = 0xcbf29ce484222325;

    for (size_t i = 0; i < n_bytes; i++) {
        if (isdigit((unsigned char)bytes[i]) || strchr(" ,-.", bytes[i]))
            continue;
        digest ^= (unsigned char)bytes[i];
        digest *= 0x100000001b3;
    }
    return digest;
}

/* Return the kind of digest, or else an unused one, or the one seen longest
 * ago. */
static struct alike_kind *
kind_of(struct alike *alike, uint64_t digest)
{
    struct alike_kind *oldest = &alike->kinds[0];

    for (size_t i = 0; i < ALIKE_KINDS; i++) {
        struct alike_kind *kind = &alike->kinds[i];

        if (kind->n_lines > 0 && kind->digest == digest)
            return kind;
        /* A kind with lines not yet reported is kept. */
        if (kind->n_hidden == 0 &&
            (oldest->n_hidden > 0 || kind->seen < oldest->seen))
            oldest = kind;
    }
    if (oldest->n_hidden > 0)
        return NULL;
    *oldest = (struct alike_kind){.digest = digest};
    return oldest;
}

bool
alike_hides(struct alike *alike,
            uint32_t rank,
            const char *bytes,
            size_t n_bytes)
{
    struct alike_kind *kind = kind_of(alike, digest_of(bytes, n_bytes));

    alike->n_lines++;
    if (!kind)
        return false;
    kind->seen = alike->n_lines;
    snprintf(kind->text, sizeof(kind->text), "%.*s", (int)n_bytes, bytes);
    if (++kind->n_lines <= ALIKE_SHOWN)
        return false;
    if (kind->n_hidden++ == 0)
        kind->lowest_rank = kind->highest_rank = rank;
    if (rank < kind->lowest_rank)
        kind->lowest_rank = rank;
    if (rank > kind->highest_rank)
        kind->highest_rank = rank;
    return true;
}

bool
alike_next(struct alike *alike, struct alike_kind *out_kind)
{
    for (size_t i = 0; i < ALIKE_KINDS; i++) {
        struct alike_kind *kind = &alike->kinds[i];

        if (kind->n_hidden == 0)
            continue;
        *out_kind = *kind;
        kind->n_hidden = 0;
        return true;
    }
    return false;
}

bool
alike_is_log(const char *bytes, size_t n_bytes)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ ";
    const size_t n_shape = sizeof(shape) - 1;

    if (n_bytes <= n_shape)
        return false;
    for (size_t i = 0; i < n_shape; i++) {
        if (shape[i] == 'd' ? !isdigit((unsigned char)bytes[i])
                            : bytes[i] != shape[i])
            return false;
    }
    return memmem(bytes + n_shape, n_bytes - n_shape, " warning ", 9) != NULL;
}
