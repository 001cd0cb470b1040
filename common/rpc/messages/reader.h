/*
 * rpc/messages/reader.h - what all decoders of bodies do alike
 *
 * Open the array, read the known fields, pass over the unknown ones, close.
 * Nothing fails before message_close().
 */

#ifndef RPC_MESSAGES_READER_H
#define RPC_MESSAGES_READER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"
#include "wire/unpack.h"

/* Begin with a body of at least n_fields fields; returns how many more. */
size_t
message_open(struct unpack *unpack, struct message_span in, size_t n_fields);

/* Pass over the unknown fields; the body must end there.
 * Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
message_close(struct unpack *unpack, size_t n_unknown);

/* An array inside a body, e.g. one element of a list. */
size_t
message_enter(struct unpack *unpack, size_t n_fields);

uint32_t
message_u32(struct unpack *unpack);
uint64_t
message_u64(struct unpack *unpack);
struct message_span
message_bin(struct unpack *unpack, size_t n_bytes_max);

/*
 * Enter a list of at most n_max elements and allocate zeroed memory for them;
 * the caller frees first, which is NULL when the list is empty. A count without
 * the bytes for it has been refused before.
 * Handle: HOOP_E_DATA_LOSS, HOOP_E_EXHAUSTED.
 */
struct message_list {
    size_t n_max;
    size_t n_bytes_each;
};
struct message_items {
    void *first;
    size_t n_items;
};
enum hoop_status
message_list_open(struct unpack *unpack,
                  const struct message_list *list,
                  struct message_items *out_items);

/*
 * Room for the texts of a list with their final 0, n_texts of them in all,
 * cut from the bytes of in. The caller frees *out_room.
 */
struct message_texts {
    char *at;
    char *end;
};
enum hoop_status
message_texts_create(struct message_span in,
                     size_t n_texts,
                     struct message_texts *out_texts,
                     char **out_room);
const char *
message_texts_read(struct message_texts *texts, struct unpack *unpack);

#endif
