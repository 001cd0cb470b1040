/*
 * rpc/sp_stream.h - NNG's request protocol on a byte stream (SP over TCP)
 *
 * Both sides say hello in 8 bytes, 00 'S' 'P' 00, the protocol as u16be (48
 * asks, 49 answers) and two zeros. Then frames: their size as u64be, the
 * request's id as u32be with the highest bit set, the body. The size counts
 * the id. Pure: bytes in, frames out.
 */

#ifndef RPC_SP_STREAM_H
#define RPC_SP_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"

enum {
    SP_HELLO_BYTES = 8,
    SP_HEADER_BYTES = 12,
    SP_ID_BYTES = 4, /* of the header, and counted by the size */
    /* A reader's room that costs nothing: an authentication fits. */
    SP_ROOM_FREE = 1024,
};

/* The highest bit is not the id's. */
static const uint32_t SP_ID_MAX = 0x7fffffff;

extern const uint8_t sp_hello_request[SP_HELLO_BYTES]; /* ours */
extern const uint8_t sp_hello_reply[SP_HELLO_BYTES];   /* the server's */

struct sp_frame {
    uint32_t id;
    struct message_span body; /* borrowed until the next room or deinit */
};

void
sp_header_encode(uint32_t id, size_t n_body, uint8_t out[SP_HEADER_BYTES]);

/*
 * Collects what arrives. Its memory grows with the bytes that came, not with
 * what they announce. Zeroed memory is a reader that has not read anything.
 */
struct sp_reader {
    uint8_t *bytes;
    size_t n_room;
    size_t n_bytes; /* read so far ... */
    size_t at;      /* ... of which these are used up */
    size_t n_skip;  /* of what comes next, so much is not kept */
    enum {
        SP_HELLO,
        SP_FRAMES
    } expects;
};

void
sp_reader_deinit(struct sp_reader *reader);

/* Where to read to: at least one byte. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
sp_reader_room(struct sp_reader *reader,
               uint8_t **out_bytes,
               size_t *out_n_bytes);

/* So many have been read to the room. */
void
sp_reader_add(struct sp_reader *reader, size_t n_bytes);

/*
 * Memory that it holds, above SP_ROOM_FREE; and what that will be after
 * sp_reader_room().
 */
size_t
sp_reader_charged(const struct sp_reader *reader);
size_t
sp_reader_charged_next(const struct sp_reader *reader);
/* Gives back what is not needed for what has come and is not used up. */
void
sp_reader_trim(struct sp_reader *reader);

/* How large the body of the next frame is, of which the header has come; 0: it
 * has not, or sp_reader_next() will refuse it. */
size_t
sp_reader_announced(const struct sp_reader *reader);
/* Do not read the next frame, whose header has come, but skip it as it comes.
 * Returns its id. */
uint32_t
sp_reader_skip_frame(struct sp_reader *reader);

/* The first 8 bytes. Handle: HOOP_E_PENDING (more must come),
 * HOOP_E_DATA_LOSS (not a server's), HOOP_E_UNAUTHENTICATED (one's that wants
 * TLS). */
enum hoop_status
sp_reader_hello(struct sp_reader *reader);
/* The same of a client. Handle: HOOP_E_PENDING, HOOP_E_DATA_LOSS. */
enum hoop_status
sp_reader_hello_client(struct sp_reader *reader);

/* What is read and not used up yet, and using it up otherwise. */
struct message_span
sp_reader_rest(const struct sp_reader *reader);
void
sp_reader_skip(struct sp_reader *reader, size_t n_bytes);

/* The next frame after it. Handle: HOOP_E_PENDING, HOOP_E_DATA_LOSS. */
enum hoop_status
sp_reader_next(struct sp_reader *reader, struct sp_frame *out_frame);

#endif
