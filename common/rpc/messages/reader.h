/*
 * rpc/messages/reader.h - common steps of all body decoders
 *
 * Open the array, read the known fields, skip the unknown ones, close. Errors
 * are latched until message_close().
 */

#ifndef RPC_MESSAGES_READER_H
#define RPC_MESSAGES_READER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"
#include "wire/unpack.h"

/* Begin a body of at least n_fields fields. Returns how many more it has. */
size_t
message_open(struct unpack *unpack, struct message_span in, size_t n_fields);

/* Skip the unknown fields; the body must end after them.
 * Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
message_close(struct unpack *unpack, size_t n_unknown);

/* Begin an array inside a body, such as an element of a list. Returns how many
 * fields it has beyond n_fields. */
size_t
message_open_array(struct unpack *unpack, size_t n_fields);

uint32_t
message_read_u32(struct unpack *unpack);
uint64_t
message_read_u64(struct unpack *unpack);
struct message_span
message_read_bin(struct unpack *unpack, size_t n_bytes_max);

/*
 * Begin a list of at most n_max elements and allocate zeroed memory for them.
 * The caller frees first, which is NULL if the list is empty. Counts that
 * exceed the remaining bytes have been refused before.
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
 * Memory for the n_texts texts of a list with their final zeros, whose bytes
 * come from in. The caller frees *out_room.
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
