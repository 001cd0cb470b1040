/*
 * rpc/sp_writer.h - what is on its way to the other side: one frame at a time
 *
 * Zeroed memory is a writer that has nothing to send. Thread: the loop's.
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
    uint8_t *bytes; /* behind it; malloc() made them */
    size_t n_bytes;
    size_t n_sent; /* of both together */
};

void
sp_writer_deinit(struct sp_writer *writer);

/* Only one that is idle is given something. */
bool
sp_writer_is_idle(const struct sp_writer *writer);
void
sp_writer_hello(struct sp_writer *writer, const uint8_t hello[SP_HELLO_BYTES]);
/* Takes bytes, which stand for themselves. */
void
sp_writer_take_raw(struct sp_writer *writer, uint8_t *bytes, size_t n_bytes);
/* Takes bytes, which are the frame's body. */
void
sp_writer_take_frame(struct sp_writer *writer,
                     uint32_t id,
                     uint8_t *bytes,
                     size_t n_bytes);

/* HOOP_OK: it is idle, and nothing is owed. Handle: HOOP_E_PENDING; others end
 * the connection. */
enum hoop_status
sp_writer_send(struct sp_writer *writer, struct control_stream *control_stream);

#endif
