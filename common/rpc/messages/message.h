/*
 * rpc/messages/message.h - bodies of requests and replies, one table each
 *
 * A body is one msgpack array. Below each struct stands the list of its fields
 * in the order on the wire, which docs/rpc.md describes.
 *
 *   struct store_add_request {
 *       char key[LIMIT_STORE_KEY + 1];
 *       int64_t delta;
 *       uint64_t ttl_ms;
 *   };
 *   MESSAGE(store_add_request, FIELD(key), FIELD(delta), FIELD(ttl_ms))
 *
 * MESSAGE(x, ...) defines
 *     void x_encode(const struct x *, struct pack *)      latches errors in pack
 *     enum hoop_status x_decode(struct message_span, struct x *out)
 *     void x_deinit(struct x *)       frees the lists; CLEANUP(x_deinit) works
 *     const struct message_descriptor *x_descriptor(void)
 *
 * Fields are only ever added at the end, behind an OPTIONAL(1), and a reader
 * skips fields it does not know, so that a newer side can talk to an older one.
 *
 * Decoders read untrusted bytes: every count is checked against the remaining
 * bytes before memory is allocated. Spans in a decoded message point into those
 * bytes and live as long as they do; texts are copied.
 *
 * Handle (all decoders): HOOP_E_DATA_LOSS (not such a message),
 * HOOP_E_EXHAUSTED (no memory for a list). *out is written
 * only on HOOP_OK. Thread: any.
 */

#ifndef RPC_MESSAGES_MESSAGE_H
#define RPC_MESSAGES_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct pack;

/* Borrowed bytes: a key, a value or a whole body. */
struct message_span {
    const uint8_t *bytes;
    size_t n_bytes;
};

enum field_kind {
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_BOOL,
    FIELD_TEXT,   /* char[limit]: a str with its final 0 */
    FIELD_KEY,    /* const char *: a str of at most LIMIT_STORE_KEY bytes;
                       decoded, it is in the message's FIELD_ROOM */
    FIELD_BYTES,  /* uint8_t[limit]: a bin of exactly this size */
    FIELD_SPAN,   /* struct message_span: a bin of at most limit bytes */
    FIELD_RECORD, /* an array of the fields of record */
    FIELD_LIST,   /* a pointer to at most limit elements, and their number */
    /* These two are not on the wire. */
    FIELD_OPTIONAL, /* the next limit fields may be missing, all together */
    FIELD_ROOM,     /* char *: memory for the keys of a decoded message */
};

struct message_descriptor;
typedef const struct message_descriptor *
message_descriptor_fn(void);

struct message_field {
    const char *name;
    enum field_kind kind;
    enum field_kind element; /* lists: the kind of an element */
    size_t offset;           /* of the member in the struct */
    size_t element_bytes;    /* lists: sizeof an element */
    size_t n_offset;         /* lists: of the number of elements, a size_t */
    size_t packed_offset;    /* lists: of a span with the encoded list, which
                                is sent if it is not empty; 0: there is none */
    bool is_parallel;        /* lists: the number of elements is another
                                list's, or none are sent: a NULL pointer */
    size_t limit;
    uint32_t max;                  /* FIELD_U32: 0: any number */
    uint64_t missing;              /* FIELD_U64: the value if it is missing */
    message_descriptor_fn *record; /* FIELD_RECORD, also as an element */
};

struct message_descriptor {
    size_t n_bytes; /* of the struct */
    size_t n_fields;
    const struct message_field *fields;
};

/* Encode the struct from. */
void
message_encode(const struct message_descriptor *descriptor,
               const void *from,
               struct pack *pack);
/* Encode an array of n such structs. */
void
message_encode_list(const struct message_descriptor *descriptor,
                    const void *from,
                    size_t n,
                    struct pack *pack);
/* Decode into the zeroed struct to, which is zeroed again on failure.
 * Handle: HOOP_E_DATA_LOSS, HOOP_E_EXHAUSTED. */
enum hoop_status
message_decode(const struct message_descriptor *descriptor,
               struct message_span in,
               void *to);
/* Free what the struct at holds, and zero it. */
void
message_deinit(const struct message_descriptor *descriptor, void *at);

/* The rows of MESSAGE(), in which self is a pointer to the struct. */

/* A number, bool, text, key or bytes of one size: the type of the member says
 * which. */
#define FIELD(member) FIELD_WITH(member, .max = 0)
/* An uint32_t above most is refused. */
#define FIELD_MAX(member, most)                                                \
    FIELD_WITH(member, .max = _Generic(self->member, uint32_t : (most)))
/* An uint64_t that has another value than 0 when it is missing. */
#define FIELD_OR(member, value)                                                \
    FIELD_WITH(member, .missing = _Generic(self->member, uint64_t : (value)))
#define FIELD_WITH(member, more)                                               \
    {                                                                          \
        .name = #member, .kind = FIELD_KIND(self->member),                     \
        .offset = MEMBER_OFFSET(member), .limit = sizeof(self->member), more   \
    }
/* A bin of at most so many bytes. */
#define FIELD_BIN(member, most)                                                \
    {                                                                          \
        .name = #member, .kind = FIELD_SPAN, .offset = MEMBER_OFFSET(member),  \
        .limit = (most)                                                        \
    }
/* A struct that has a MESSAGE(). */
#define FIELD_STRUCT(member, type)                                             \
    {                                                                          \
        .name = #member, .kind = FIELD_RECORD,                                 \
        .offset = MEMBER_OFFSET(member), .record = type##_descriptor           \
    }
/* An array of members of self, which have a MESSAGE_PART(). */
#define FIELD_PART(part)                                                       \
    {                                                                          \
        .name = #part, .kind = FIELD_RECORD, .record = part##_descriptor       \
    }
/* A list of numbers or keys, at most so many. */
#define FIELD_VALUES(member, n_member, most)                                   \
    {                                                                          \
        .name = #member, .kind = FIELD_LIST,                                   \
        .element = FIELD_KIND(*self->member), .offset = MEMBER_OFFSET(member), \
        .element_bytes = sizeof(*self->member),                                \
        .n_offset = COUNT_OFFSET(n_member), .limit = (most)                    \
    }
/* A list of structs, at most so many. */
#define FIELD_STRUCTS(member, n_member, type, most)                            \
    FIELD_STRUCTS_WITH(member, n_member, type, most, .is_parallel = false)
/* As many as n_member, which another list has set, or none. */
#define FIELD_STRUCTS_PARALLEL(member, n_member, type, most)                   \
    FIELD_STRUCTS_WITH(member, n_member, type, most, .is_parallel = true)
/* If the span packed is not empty, it is sent instead. */
#define FIELD_STRUCTS_PACKED(member, n_member, packed, type, most)             \
    FIELD_STRUCTS_WITH(member, n_member, type, most,                           \
                       .packed_offset = MEMBER_OFFSET(packed))
#define FIELD_STRUCTS_WITH(member, n_member, type, most, more)                 \
    {                                                                          \
        .name = #member, .kind = FIELD_LIST, .element = FIELD_RECORD,          \
        .offset = MEMBER_OFFSET(member),                                       \
        .element_bytes = sizeof(*self->member),                                \
        .n_offset = COUNT_OFFSET(n_member), .limit = (most),                   \
        .record = type##_descriptor, more                                      \
    }
/* The next n fields may be missing, but only all together. */
#define OPTIONAL(n)                                                            \
    {                                                                          \
        .kind = FIELD_OPTIONAL, .limit = (n)                                   \
    }
/* A char *: memory for the keys of a decoded message. It is the first row of a
 * message with keys, which has one list; all its keys are in that list. */
#define ROOM(member)                                                           \
    {                                                                          \
        .kind = FIELD_ROOM, .offset = MEMBER_OFFSET(member)                    \
    }

#define MEMBER_OFFSET(member) offsetof(__typeof__(*self), member)
/* The number of a list's elements is a size_t. */
#define COUNT_OFFSET(member)                                                   \
    _Generic(self->member, size_t : MEMBER_OFFSET(member))
#define FIELD_KIND(member)                                                     \
    _Generic((member), uint32_t                                                \
             : FIELD_U32, uint64_t                                             \
             : FIELD_U64, int64_t                                              \
             : FIELD_I64, bool                                                 \
             : FIELD_BOOL, char *                                              \
             : FIELD_TEXT, const char *                                        \
             : FIELD_KEY, uint8_t *                                            \
             : FIELD_BYTES)

/* Define part_descriptor() for some members of a struct. */
#define MESSAGE_PART(part, type, ...)                                          \
    static inline const struct message_descriptor *part##_descriptor(void)     \
    {                                                                          \
        struct type *const self = NULL;                                        \
        static const struct message_field fields[] = {__VA_ARGS__};            \
        static const struct message_descriptor descriptor = {                  \
            sizeof(*self), COUNT_OF(fields), fields};                          \
        return &descriptor;                                                    \
    }

#define MESSAGE(x, ...)                                                        \
    MESSAGE_PART(x, x, __VA_ARGS__)                                            \
    __attribute__((unused)) static inline void x##_encode(                     \
        const struct x *message, struct pack *pack)                            \
    {                                                                          \
        message_encode(x##_descriptor(), message, pack);                       \
    }                                                                          \
    __attribute__((unused)) static inline enum hoop_status x##_decode(         \
        struct message_span in, struct x *out)                                 \
    {                                                                          \
        struct x message = {0};                                                \
        const enum hoop_status status =                                        \
            message_decode(x##_descriptor(), in, &message);                    \
        if (status == HOOP_OK)                                                 \
            *out = message;                                                    \
        return status;                                                         \
    }                                                                          \
    __attribute__((unused)) static inline void x##_deinit(struct x *message)   \
    {                                                                          \
        message_deinit(x##_descriptor(), message);                             \
    }                                                                          \
    __attribute__((unused)) static inline void x##_deinit_at(                  \
        struct x *message)                                                     \
    {                                                                          \
        message_deinit(x##_descriptor(), message);                             \
    }

#endif
