/*
 * rpc/sp_stream.h - NNG's request protocol on a byte stream (SP over TCP)
 *
 * Both sides send a hello of 8 bytes: 00 'S' 'P' 00, the protocol as u16be (48
 * for a client, 49 for a server) and two zeros. Then frames follow: the size as
 * u64be, the request's id as u32be with the highest bit set, and the body. The
 * size includes the id. The reader is pure: bytes in, frames out. The writer
 * sends on a control stream (rpc/rpc_tls.h).
 */

#ifndef RPC_SP_STREAM_H
#define RPC_SP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"

enum {
    SP_HELLO_BYTES = 8,
    SP_HEADER_BYTES = 12,
    SP_ID_BYTES = 4, /* part of the header, and counted in the size */
    /* A reader's memory up to this is not charged; it is enough for
     * authentication. */
    SP_ROOM_FREE = 1024,
};

/* The highest bit is not part of the id. */
static const uint32_t SP_ID_MAX = 0x7fffffff;

extern const uint8_t sp_hello_request[SP_HELLO_BYTES]; /* the client's */
extern const uint8_t sp_hello_reply[SP_HELLO_BYTES];   /* the server's */

struct sp_frame {
    uint32_t id;
    struct message_span body; /* borrowed until the next sp_reader_reserve() or
                                 sp_reader_deinit() */
};

void
sp_header_encode(uint32_t id, size_t n_body, uint8_t out[SP_HEADER_BYTES]);

/*
 * Collects received bytes. Its memory grows with the bytes that have arrived,
 * not with the announced size. Zeroed: nothing has been read.
 */
struct sp_reader {
    uint8_t *bytes;
    size_t n_room;
    size_t n_bytes; /* bytes read so far */
    size_t at;      /* bytes that are used up */
    size_t n_skip;  /* bytes to be discarded next */
    enum {
        SP_HELLO,
        SP_FRAMES
    } expects;
};

void
sp_reader_deinit(struct sp_reader *reader);

/* Return where to read to; there is room for at least one byte. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
sp_reader_reserve(struct sp_reader *reader,
                  uint8_t **out_bytes,
                  size_t *out_n_bytes);

/* So many bytes have been read into the room. */
void
sp_reader_commit(struct sp_reader *reader, size_t n_bytes);

/*
 * Return the reader's memory above SP_ROOM_FREE, and what it will be after the
 * next sp_reader_reserve().
 */
size_t
sp_reader_charged_bytes(const struct sp_reader *reader);
size_t
sp_reader_next_charged_bytes(const struct sp_reader *reader);
/* Free memory that is not needed for the unused bytes. */
void
sp_reader_trim(struct sp_reader *reader);

/* Return the size of the next frame's body, if its header has arrived; 0 if
 * not, or if sp_reader_next_frame() will refuse it. */
size_t
sp_reader_next_body_size(const struct sp_reader *reader);
/* Discard the next frame, whose header has arrived, as its bytes come. Returns
 * its id. */
uint32_t
sp_reader_skip_frame(struct sp_reader *reader);

/* Read a server's hello. Handle: HOOP_E_PENDING (incomplete), HOOP_E_DATA_LOSS
 * (not a server's), HOOP_E_UNAUTHENTICATED (the server requires TLS). */
enum hoop_status
sp_reader_read_server_hello(struct sp_reader *reader);
/* Read a client's hello. Handle: HOOP_E_PENDING, HOOP_E_DATA_LOSS. */
enum hoop_status
sp_reader_read_client_hello(struct sp_reader *reader);

/* Return the unused bytes, or use some of them up without reading a frame. */
struct message_span
sp_reader_unused_bytes(const struct sp_reader *reader);
void
sp_reader_consume(struct sp_reader *reader, size_t n_bytes);

/* Read the next frame after the hello. Handle: HOOP_E_PENDING,
 * HOOP_E_DATA_LOSS. */
enum hoop_status
sp_reader_next_frame(struct sp_reader *reader, struct sp_frame *out_frame);

struct control_stream;

/* Sends one frame at a time. Zeroed: there is nothing to send. Thread: the
 * loop's. */
struct sp_writer {
    uint8_t header[SP_HEADER_BYTES];
    size_t n_header;
    uint8_t *bytes; /* after the header; from malloc() */
    size_t n_bytes;
    size_t n_sent; /* of header and bytes together */
};

void
sp_writer_deinit(struct sp_writer *writer);

/* Return whether the writer can be given something to send. */
bool
sp_writer_is_idle(const struct sp_writer *writer);
void
sp_writer_set_hello(struct sp_writer *writer,
                    const uint8_t hello[SP_HELLO_BYTES]);
/* Send bytes without a header. Takes bytes. */
void
sp_writer_set_raw(struct sp_writer *writer, uint8_t *bytes, size_t n_bytes);
/* Send bytes as the body of a frame. Takes bytes. */
void
sp_writer_set_frame(struct sp_writer *writer,
                    uint32_t id,
                    uint8_t *bytes,
                    size_t n_bytes);

/* HOOP_OK: all bytes are sent. Handle: HOOP_E_PENDING; any other failure ends
 * the connection. */
enum hoop_status
sp_writer_send(struct sp_writer *writer, struct control_stream *control_stream);

#endif
