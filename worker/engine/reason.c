/* engine/reason.c - why a rank is lost, in as many bytes as travel */

#include "engine/reason.h"

#include <assert.h>
#include <string.h>

static const char ellipsis[] = " ...";

/* Returns how many of the first n_room bytes of what to keep: whole words, or
 * all of them if it is one word. Punctuation before the ellipsis is dropped. */
static size_t
words_within(const char *what, size_t n_room)
{
    static const char gaps[] = " ,;:(";
    size_t n = n_room;

    while (n > 0 && what[n] != ' ')
        n--;
    while (n > 0 && strchr(gaps, what[n - 1]))
        n--;
    return n > 0 ? n : n_room;
}

void
reason_write(const char *what, const char *tail, char out[REASON_BYTES])
{
    const size_t n_tail = strlen(tail);
    const size_t n_what = strlen(what);

    assert(n_tail + sizeof(ellipsis) <= REASON_BYTES);
    if (n_what + n_tail < REASON_BYTES) {
        memmove(out, what, n_what);
        memcpy(out + n_what, tail, n_tail + 1);
        return;
    }
    const size_t n_kept =
        words_within(what, REASON_BYTES - n_tail - sizeof(ellipsis));
    memmove(out, what, n_kept);
    memcpy(out + n_kept, ellipsis, sizeof(ellipsis) - 1);
    memcpy(out + n_kept + sizeof(ellipsis) - 1, tail, n_tail + 1);
}
