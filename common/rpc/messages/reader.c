/* rpc/messages/reader.c - common steps of all body decoders */

#include "rpc/messages/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

size_t
message_open(struct unpack *unpack, struct message_span in, size_t n_fields)
{
    unpack_init(unpack, in.bytes, in.n_bytes, LIMIT_RPC_MESSAGE);
    return message_open_array(unpack, n_fields);
}

size_t
message_open_array(struct unpack *unpack, size_t n_fields)
{
    const size_t n_found = unpack_array(unpack, n_fields);

    return n_found > n_fields ? n_found - n_fields : 0;
}

enum hoop_status
message_close(struct unpack *unpack, size_t n_unknown)
{
    unpack_skip(unpack, n_unknown);

    const enum hoop_status status = unpack_status(unpack);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!unpack_is_end(unpack))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a message goes on behind its last field");
    return HOOP_OK;
}

uint32_t
message_read_u32(struct unpack *unpack)
{
    return (uint32_t)unpack_uint(unpack, UINT32_MAX);
}

uint64_t
message_read_u64(struct unpack *unpack)
{
    return unpack_uint(unpack, UINT64_MAX);
}

struct message_span
message_read_bin(struct unpack *unpack, size_t n_bytes_max)
{
    const struct unpack_view view = unpack_bin(unpack, n_bytes_max);

    return (struct message_span){view.bytes, view.n_bytes};
}

enum hoop_status
message_list_open(struct unpack *unpack,
                  const struct message_list *list,
                  struct message_items *out_items)
{
    const size_t n_items = unpack_array(unpack, 0);
    void *first = NULL;

    if (n_items > list->n_max)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a message lists %zu things, more than %zu", n_items,
                           list->n_max);
    if (n_items > 0) {
        first = calloc(n_items, list->n_bytes_each);
        if (!first)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for a message with %zu things",
                               n_items);
    }
    *out_items = (struct message_items){first, n_items};
    return HOOP_OK;
}

enum hoop_status
message_texts_create(struct message_span in,
                     size_t n_texts,
                     struct message_texts *out_texts,
                     char **out_room)
{
    const size_t n_longest = n_texts * (LIMIT_STORE_KEY + 1);
    const size_t n_whole = in.n_bytes + n_texts;
    const size_t n_bytes = n_longest < n_whole ? n_longest : n_whole;

    char *room = malloc(n_bytes > 0 ? n_bytes : 1);
    if (!room)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for a message with %zu texts", n_texts);
    *out_texts = (struct message_texts){room, room + n_bytes};
    *out_room = room;
    return HOOP_OK;
}

const char *
message_texts_read(struct message_texts *texts, struct unpack *unpack)
{
    const size_t n_left = (size_t)(texts->end - texts->at);
    char *text = texts->at;

    if (n_left == 0)
        return "";
    text[0] = '\0';
    unpack_text(unpack, text,
                n_left < LIMIT_STORE_KEY + 1 ? n_left : LIMIT_STORE_KEY + 1);
    texts->at += strlen(text) + 1;
    return text;
}
