/*
 * rpc/sp_writer.h - sends one frame at a time
 *
 * Zeroed: there is nothing to send. Thread: the loop's.
 */

#ifndef RPC_SP_WRITER_H
#define RPC_SP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/sp_stream.h"

struct control_stream;

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
