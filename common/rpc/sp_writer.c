/* rpc/sp_writer.c - sends one frame at a time */

#include "rpc/sp_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/control_stream.h"

void
sp_writer_deinit(struct sp_writer *writer)
{
    free(writer->bytes);
    *writer = (struct sp_writer){0};
}

bool
sp_writer_is_idle(const struct sp_writer *writer)
{
    return writer->n_header + writer->n_bytes == 0;
}

void
sp_writer_set_hello(struct sp_writer *writer,
                    const uint8_t hello[SP_HELLO_BYTES])
{
    assert(sp_writer_is_idle(writer));
    memcpy(writer->header, hello, SP_HELLO_BYTES);
    writer->n_header = SP_HELLO_BYTES;
}

void
sp_writer_set_raw(struct sp_writer *writer, uint8_t *bytes, size_t n_bytes)
{
    assert(sp_writer_is_idle(writer));
    writer->bytes = bytes;
    writer->n_bytes = n_bytes;
}

void
sp_writer_set_frame(struct sp_writer *writer,
                    uint32_t id,
                    uint8_t *bytes,
                    size_t n_bytes)
{
    sp_writer_set_raw(writer, bytes, n_bytes);
    sp_header_encode(id, n_bytes, writer->header);
    writer->n_header = SP_HEADER_BYTES;
}

enum hoop_status
sp_writer_send(struct sp_writer *writer, struct control_stream *control_stream)
{
    while (writer->n_sent < writer->n_header + writer->n_bytes) {
        const bool in_header = writer->n_sent < writer->n_header;
        const size_t n_body = in_header ? 0 : writer->n_sent - writer->n_header;
        const struct iovec parts[2] = {
            {writer->header + (in_header ? writer->n_sent : 0),
             in_header ? writer->n_header - writer->n_sent : 0},
            {writer->bytes ? writer->bytes + n_body : NULL,
             writer->n_bytes - n_body},
        };
        size_t n_taken;

        const enum hoop_status status = control_stream_send(
            control_stream, parts, COUNT_OF(parts), &n_taken);
        if (status != HOOP_OK)
            return status == HOOP_E_PENDING ? status : error_pass(status);
        writer->n_sent += n_taken;
    }
    sp_writer_deinit(writer);
    return control_stream_flush(control_stream);
}
