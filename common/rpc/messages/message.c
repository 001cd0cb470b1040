/* rpc/messages/message.c - encode and decode bodies as their tables say */

#include "rpc/messages/message.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "wire/pack.h"
#include "wire/unpack.h"

static bool
field_is_sent(const struct message_field *field)
{
    return field->kind != FIELD_OPTIONAL && field->kind != FIELD_ROOM;
}

static size_t
fields_count(const struct message_descriptor *descriptor)
{
    size_t n_fields = 0;

    for (size_t i = 0; i < descriptor->n_fields; i++)
        n_fields += field_is_sent(&descriptor->fields[i]);
    return n_fields;
}

/* Count the fields before the first one that may be missing. */
static size_t
fields_count_required(const struct message_descriptor *descriptor)
{
    size_t n_fields = 0;

    for (size_t i = 0; i < descriptor->n_fields; i++) {
        if (descriptor->fields[i].kind == FIELD_OPTIONAL)
            break;
        n_fields += field_is_sent(&descriptor->fields[i]);
    }
    return n_fields;
}

/* An element of a list, at the beginning of its memory. */
static struct message_field
list_element(const struct message_field *list)
{
    return (struct message_field){
        .name = list->name, .kind = list->element, .record = list->record};
}

/* Pointers to elements are of many types, so they are copied as bytes. */
static uint8_t *
list_first(const struct message_field *list, const void *message)
{
    uint8_t *first;

    memcpy(&first, (const uint8_t *)message + list->offset, sizeof(first));
    return first;
}

static size_t
list_count(const struct message_field *list, const void *message)
{
    const void *n = (const uint8_t *)message + list->n_offset;

    if (list->is_parallel && !list_first(list, message))
        return 0;
    return *(const size_t *)n;
}

/* Encoding. */

static void
field_encode(const struct message_field *field,
             const void *message,
             struct pack *pack);

static void
list_encode(const struct message_field *list,
            const void *message,
            struct pack *pack)
{
    const void *packed = (const uint8_t *)message + list->packed_offset;
    const struct message_field element = list_element(list);
    const struct message_span *span = list->packed_offset ? packed : NULL;
    const uint8_t *first = list_first(list, message);
    const size_t n = list_count(list, message);

    if (span && span->n_bytes > 0) {
        pack_packed(pack, span->bytes, span->n_bytes);
        return;
    }
    pack_array(pack, n);
    for (size_t i = 0; i < n; i++)
        field_encode(&element, first + i * list->element_bytes, pack);
}

static void
field_encode(const struct message_field *field,
             const void *message,
             struct pack *pack)
{
    const void *at = (const uint8_t *)message + field->offset;
    const struct message_span *span = at;

    switch (field->kind) {
    case FIELD_U32:
        pack_uint(pack, *(const uint32_t *)at);
        return;
    case FIELD_U64:
        pack_uint(pack, *(const uint64_t *)at);
        return;
    case FIELD_I64:
        pack_int(pack, *(const int64_t *)at);
        return;
    case FIELD_BOOL:
        pack_bool(pack, *(const bool *)at);
        return;
    case FIELD_TEXT:
        pack_str(pack, at);
        return;
    case FIELD_KEY:
        pack_str(pack, *(const char *const *)at);
        return;
    case FIELD_BYTES:
        pack_bin(pack, at, field->limit);
        return;
    case FIELD_SPAN:
        pack_bin(pack, span->bytes, span->n_bytes);
        return;
    case FIELD_RECORD:
        message_encode(field->record(), at, pack);
        return;
    case FIELD_LIST:
        list_encode(field, message, pack);
        return;
    case FIELD_OPTIONAL:
    case FIELD_ROOM:
        return;
    }
}

void
message_encode(const struct message_descriptor *descriptor,
               const void *from,
               struct pack *pack)
{
    pack_array(pack, fields_count(descriptor));
    for (size_t i = 0; i < descriptor->n_fields; i++)
        field_encode(&descriptor->fields[i], from, pack);
}

void
message_encode_list(const struct message_descriptor *descriptor,
                    const void *from,
                    size_t n,
                    struct pack *pack)
{
    pack_array(pack, n);
    for (size_t i = 0; i < n; i++)
        message_encode(descriptor,
                       (const uint8_t *)from + i * descriptor->n_bytes, pack);
}

/* Decoding. Errors of unpack are latched until message_decode() ends. */

struct reader {
    struct unpack unpack;
    size_t n_bytes;  /* of the body */
    char **room;     /* member of the message, or NULL */
    char *room_free; /* the next text goes here */
    char *room_end;
};

static enum hoop_status
field_read(struct reader *reader, const struct message_field *field, void *to);

/* Allocate memory for n texts with their final zeros, whose bytes come from
 * the body. */
static enum hoop_status
room_create(struct reader *reader, size_t n)
{
    const size_t n_longest = n * (LIMIT_STORE_KEY + 1);
    const size_t n_whole = reader->n_bytes + n;
    const size_t n_bytes = n_longest < n_whole ? n_longest : n_whole;

    assert(!*reader->room); /* one list per message with keys */
    *reader->room = malloc(n_bytes > 0 ? n_bytes : 1);
    if (!*reader->room)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for a message with %zu texts", n);
    reader->room_free = *reader->room;
    reader->room_end = *reader->room + n_bytes;
    return HOOP_OK;
}

static const char *
key_read(struct reader *reader)
{
    const size_t n_left = (size_t)(reader->room_end - reader->room_free);
    char *text = reader->room_free;

    if (n_left == 0)
        return "";
    text[0] = '\0';
    unpack_text(&reader->unpack, text,
                n_left < LIMIT_STORE_KEY + 1 ? n_left : LIMIT_STORE_KEY + 1);
    reader->room_free += strlen(text) + 1;
    return text;
}

static enum hoop_status
list_read(struct reader *reader, const struct message_field *list, void *to)
{
    const struct message_field element = list_element(list);
    const size_t n = unpack_array(&reader->unpack, 0);
    void *count = (uint8_t *)to + list->n_offset;
    uint8_t *first = NULL;

    if (n > list->limit)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a message lists %zu %s, more than %zu", n,
                           list->name, list->limit);
    if (list->is_parallel && n > 0 && n != *(size_t *)count)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a message lists %zu %s, not one for each of %zu", n,
                           list->name, *(size_t *)count);
    if (n > 0) {
        first = calloc(n, list->element_bytes);
        if (!first)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for a message with %zu %s", n,
                               list->name);
    }
    memcpy((uint8_t *)to + list->offset, &first, sizeof(first));
    if (!list->is_parallel)
        *(size_t *)count = n;

    enum hoop_status status = reader->room ? room_create(reader, n) : HOOP_OK;
    for (size_t i = 0; i < n && status == HOOP_OK; i++)
        status = field_read(reader, &element, first + i * list->element_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
u32_read(struct reader *reader, const struct message_field *field, uint32_t *to)
{
    *to = (uint32_t)unpack_uint(&reader->unpack, UINT32_MAX);
    if (field->max > 0 && *to > field->max)
        return error_raise(HOOP_E_DATA_LOSS, "there is no %s %u", field->name,
                           *to);
    return HOOP_OK;
}

static enum hoop_status
bytes_read(struct reader *reader, const struct message_field *field, void *to)
{
    const struct unpack_view view = unpack_bin(&reader->unpack, field->limit);

    if (view.n_bytes == field->limit) {
        memcpy(to, view.bytes, view.n_bytes);
        return HOOP_OK;
    }
    const enum hoop_status status = unpack_status(&reader->unpack);
    if (status != HOOP_OK)
        return error_pass(status);
    return error_raise(HOOP_E_DATA_LOSS, "a %s has %zu bytes, not %zu",
                       field->name, view.n_bytes, field->limit);
}

static struct message_span
span_read(struct reader *reader, size_t n_bytes_max)
{
    const struct unpack_view view = unpack_bin(&reader->unpack, n_bytes_max);

    return (struct message_span){view.bytes, view.n_bytes};
}

static enum hoop_status
record_read(struct reader *reader,
            const struct message_descriptor *descriptor,
            void *to);

static enum hoop_status
field_read(struct reader *reader, const struct message_field *field, void *to)
{
    struct unpack *unpack = &reader->unpack;
    void *at = (uint8_t *)to + field->offset;

    switch (field->kind) {
    case FIELD_U32:
        return u32_read(reader, field, at);
    case FIELD_U64:
        *(uint64_t *)at = unpack_uint(unpack, UINT64_MAX);
        return HOOP_OK;
    case FIELD_I64:
        *(int64_t *)at = unpack_int(unpack);
        return HOOP_OK;
    case FIELD_BOOL:
        *(bool *)at = unpack_bool(unpack);
        return HOOP_OK;
    case FIELD_TEXT:
        unpack_text(unpack, at, field->limit);
        return HOOP_OK;
    case FIELD_KEY:
        *(const char **)at = key_read(reader);
        return HOOP_OK;
    case FIELD_BYTES:
        return bytes_read(reader, field, at);
    case FIELD_SPAN:
        *(struct message_span *)at = span_read(reader, field->limit);
        return HOOP_OK;
    case FIELD_RECORD:
        return record_read(reader, field->record(), at);
    case FIELD_LIST:
        return list_read(reader, field, to);
    case FIELD_ROOM:
        reader->room = at;
        return HOOP_OK;
    case FIELD_OPTIONAL:
        return HOOP_OK;
    }
    return HOOP_OK;
}

static void
fields_set_missing(const struct message_descriptor *descriptor, void *to)
{
    for (size_t i = 0; i < descriptor->n_fields; i++) {
        const struct message_field *field = &descriptor->fields[i];
        void *at = (uint8_t *)to + field->offset;

        if (field->missing)
            *(uint64_t *)at = field->missing;
    }
}

/* Read an array with the fields of the descriptor, and skip those behind. */
static enum hoop_status
record_read(struct reader *reader,
            const struct message_descriptor *descriptor,
            void *to)
{
    size_t n_left =
        unpack_array(&reader->unpack, fields_count_required(descriptor));

    if (unpack_status(&reader->unpack) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    fields_set_missing(descriptor, to);
    for (size_t i = 0; i < descriptor->n_fields; i++) {
        const struct message_field *field = &descriptor->fields[i];

        if (field->kind == FIELD_OPTIONAL && n_left < field->limit)
            break;
        const enum hoop_status status = field_read(reader, field, to);
        if (status != HOOP_OK)
            return error_pass(status);
        n_left -= field_is_sent(field);
    }
    unpack_skip(&reader->unpack, n_left);
    return HOOP_OK;
}

static enum hoop_status
body_read(struct reader *reader,
          const struct message_descriptor *descriptor,
          void *to)
{
    enum hoop_status status = record_read(reader, descriptor, to);

    if (status == HOOP_OK)
        status = unpack_status(&reader->unpack);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!unpack_is_end(&reader->unpack))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a message goes on behind its last field");
    return HOOP_OK;
}

enum hoop_status
message_decode(const struct message_descriptor *descriptor,
               struct message_span in,
               void *to)
{
    struct reader reader = {.n_bytes = in.n_bytes};

    unpack_init(&reader.unpack, in.bytes, in.n_bytes, LIMIT_RPC_MESSAGE);
    const enum hoop_status status = body_read(&reader, descriptor, to);
    if (status != HOOP_OK) {
        message_deinit(descriptor, to);
        return error_pass(status);
    }
    return HOOP_OK;
}

static void
list_free(const struct message_field *list, const void *message);

static void
fields_free(const struct message_descriptor *descriptor, const void *message)
{
    for (size_t i = 0; i < descriptor->n_fields; i++) {
        const struct message_field *field = &descriptor->fields[i];
        const void *at = (const uint8_t *)message + field->offset;

        if (field->kind == FIELD_RECORD)
            fields_free(field->record(), at);
        else if (field->kind == FIELD_ROOM)
            free(*(char *const *)at);
        else if (field->kind == FIELD_LIST)
            list_free(field, message);
    }
}

static void
list_free(const struct message_field *list, const void *message)
{
    uint8_t *first = list_first(list, message);
    const size_t n =
        list->element == FIELD_RECORD ? list_count(list, message) : 0;

    for (size_t i = 0; i < n; i++)
        fields_free(list->record(), first + i * list->element_bytes);
    free(first);
}

void
message_deinit(const struct message_descriptor *descriptor, void *at)
{
    fields_free(descriptor, at);
    memset(at, 0, descriptor->n_bytes);
}
