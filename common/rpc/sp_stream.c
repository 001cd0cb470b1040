/* rpc/sp_stream.c - NNG's request protocol on a byte stream (SP over TCP) */

#include "rpc/sp_stream.h"

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/tls.h"
#include "rpc/rpc_tls.h"

/* The writer sends one frame at a time. */

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

/* The hello, the header of a frame, and the reader. */

enum {
    SP_ROOM_FIRST = SP_ROOM_FREE,
};

static const uint32_t SP_ID_MARK = 0x80000000;

const uint8_t sp_hello_request[SP_HELLO_BYTES] = {0, 'S', 'P', 0, 0, 48, 0, 0};
const uint8_t sp_hello_reply[SP_HELLO_BYTES] = {0, 'S', 'P', 0, 0, 49, 0, 0};

void
sp_header_encode(uint32_t id, size_t n_body, uint8_t out[SP_HEADER_BYTES])
{
    const uint64_t size_be = htobe64(SP_ID_BYTES + n_body);
    const uint32_t id_be = htobe32(id | SP_ID_MARK);

    memcpy(out, &size_be, sizeof(size_be));
    memcpy(out + sizeof(size_be), &id_be, sizeof(id_be));
}

void
sp_reader_deinit(struct sp_reader *reader)
{
    free(reader->bytes);
    *reader = (struct sp_reader){0};
}

/* Read the header of the next frame. Returns false if it has not arrived. */
static bool
frame_header_peek(const struct sp_reader *reader,
                  uint64_t *out_size,
                  uint32_t *out_id)
{
    if (reader->n_bytes - reader->at < SP_HEADER_BYTES)
        return false;

    const uint8_t *bytes = reader->bytes + reader->at;
    memcpy(out_size, bytes, sizeof(*out_size));
    memcpy(out_id, bytes + sizeof(*out_size), sizeof(*out_id));
    *out_size = be64toh(*out_size);
    *out_id = be32toh(*out_id);
    return true;
}

/* Return the memory needed to read at least one more byte: doubled, but not
 * more than the incoming frame needs. */
static size_t
read_buffer_wanted(const struct sp_reader *reader)
{
    const size_t doubled = 2 * reader->n_room;
    uint64_t size;
    uint32_t id;

    if (reader->n_bytes - reader->at < reader->n_room)
        return reader->n_room;
    if (doubled < SP_ROOM_FIRST)
        return SP_ROOM_FIRST;
    if (reader->expects == SP_FRAMES && frame_header_peek(reader, &size, &id) &&
        size <= SP_ID_BYTES + LIMIT_RPC_MESSAGE &&
        size + sizeof(size) > reader->n_room && size + sizeof(size) < doubled)
        return (size_t)size + sizeof(size);
    return doubled;
}

enum hoop_status
sp_reader_reserve(struct sp_reader *reader,
                  uint8_t **out_bytes,
                  size_t *out_n_bytes)
{
    const size_t n_room = read_buffer_wanted(reader);

    if (reader->at > 0) {
        reader->n_bytes -= reader->at;
        memmove(reader->bytes, reader->bytes + reader->at, reader->n_bytes);
        reader->at = 0;
    }
    if (n_room > reader->n_room) {
        uint8_t *bytes = realloc(reader->bytes, n_room);

        if (!bytes)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for a message of more than %zu bytes",
                               reader->n_room);
        reader->bytes = bytes;
        reader->n_room = n_room;
    }
    *out_bytes = reader->bytes + reader->n_bytes;
    *out_n_bytes = reader->n_room - reader->n_bytes;
    return HOOP_OK;
}

static size_t
bytes_above_free(size_t n_room)
{
    return n_room > SP_ROOM_FREE ? n_room - SP_ROOM_FREE : 0;
}

size_t
sp_reader_charged_bytes(const struct sp_reader *reader)
{
    return bytes_above_free(reader->n_room);
}

size_t
sp_reader_next_charged_bytes(const struct sp_reader *reader)
{
    return bytes_above_free(read_buffer_wanted(reader));
}

void
sp_reader_trim(struct sp_reader *reader)
{
    const size_t n_rest = reader->n_bytes - reader->at;

    if (n_rest == 0) {
        free(STEAL(reader->bytes));
        reader->n_room = reader->n_bytes = reader->at = 0;
    }
    if (reader->n_room <= SP_ROOM_FIRST || n_rest > SP_ROOM_FIRST)
        return;

    /* A large message has been used up, and the next has only begun. */
    uint8_t *bytes = malloc(SP_ROOM_FIRST);
    uint64_t size;
    uint32_t id;
    if (!bytes ||
        (frame_header_peek(reader, &size, &id) && size > SP_ROOM_FIRST)) {
        free(bytes);
        return;
    }
    memcpy(bytes, reader->bytes + reader->at, n_rest);
    free(reader->bytes);
    reader->bytes = bytes;
    reader->n_room = SP_ROOM_FIRST;
    reader->n_bytes = n_rest;
    reader->at = 0;
}

size_t
sp_reader_next_body_size(const struct sp_reader *reader)
{
    uint64_t size;
    uint32_t id;

    if (reader->n_skip > 0 || !frame_header_peek(reader, &size, &id) ||
        size < SP_ID_BYTES || size > SP_ID_BYTES + LIMIT_RPC_MESSAGE ||
        !(id & SP_ID_MARK))
        return 0;
    return (size_t)size - SP_ID_BYTES;
}

/* Discard as many unused bytes as are to be skipped. */
static void
skipped_bytes_discard(struct sp_reader *reader)
{
    const size_t n_rest = reader->n_bytes - reader->at;
    const size_t n = reader->n_skip < n_rest ? reader->n_skip : n_rest;

    reader->at += n;
    reader->n_skip -= n;
}

uint32_t
sp_reader_skip_frame(struct sp_reader *reader)
{
    uint64_t size = 0;
    uint32_t id = 0;

    if (!frame_header_peek(reader, &size, &id))
        return 0;
    reader->n_skip = (size_t)size + sizeof(size);
    skipped_bytes_discard(reader);
    sp_reader_trim(reader);
    return id & SP_ID_MAX;
}

void
sp_reader_commit(struct sp_reader *reader, size_t n_bytes)
{
    reader->n_bytes += n_bytes;
    skipped_bytes_discard(reader);
}

struct message_span
sp_reader_unused_bytes(const struct sp_reader *reader)
{
    return (struct message_span){
        reader->bytes ? reader->bytes + reader->at : NULL,
        reader->n_bytes - reader->at,
    };
}

void
sp_reader_consume(struct sp_reader *reader, size_t n_bytes)
{
    reader->at += n_bytes;
}

/* A wrong byte is an error at once: another kind of server may send fewer than
 * eight. */
static enum hoop_status
hello_compare(struct sp_reader *reader, const uint8_t hello[SP_HELLO_BYTES])
{
    const struct message_span rest = sp_reader_unused_bytes(reader);
    const size_t n_known =
        rest.n_bytes < SP_HELLO_BYTES ? rest.n_bytes : SP_HELLO_BYTES;

    if (n_known > 0 && memcmp(rest.bytes, hello, n_known) != 0)
        return HOOP_E_DATA_LOSS;
    if (n_known < SP_HELLO_BYTES)
        return HOOP_E_PENDING;
    reader->at += SP_HELLO_BYTES;
    reader->expects = SP_FRAMES;
    return HOOP_OK;
}

enum hoop_status
sp_reader_read_server_hello(struct sp_reader *reader)
{
    const enum hoop_status status = hello_compare(reader, sp_hello_reply);

    if (status != HOOP_E_DATA_LOSS)
        return status;
    if (sp_reader_unused_bytes(reader).bytes[0] == TLS_ALERT)
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the coordinator speaks TLS only: set HOOP_TLS=on "
                           "here, too");
    return error_raise(HOOP_E_DATA_LOSS,
                       "what answers there is no hoop coordinator");
}

enum hoop_status
sp_reader_read_client_hello(struct sp_reader *reader)
{
    const enum hoop_status status = hello_compare(reader, sp_hello_request);

    return status == HOOP_E_DATA_LOSS
               ? error_raise(HOOP_E_DATA_LOSS, "it is no client of hoop's")
               : status;
}

enum hoop_status
sp_reader_next_frame(struct sp_reader *reader, struct sp_frame *out_frame)
{
    uint64_t size;
    uint32_t id;

    if (!frame_header_peek(reader, &size, &id))
        return HOOP_E_PENDING;

    const uint8_t *bytes = reader->bytes + reader->at;
    const size_t n_bytes = reader->n_bytes - reader->at;

    if (size < SP_ID_BYTES || size > SP_ID_BYTES + LIMIT_RPC_MESSAGE)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the other side announces a message of %llu bytes, "
                           "allowed are %d",
                           (unsigned long long)size, LIMIT_RPC_MESSAGE);
    if (!(id & SP_ID_MARK))
        return error_raise(HOOP_E_DATA_LOSS,
                           "the other side's message has no request id");
    if (n_bytes - sizeof(size) < size)
        return HOOP_E_PENDING;

    *out_frame = (struct sp_frame){
        .id = id & SP_ID_MAX,
        .body = {bytes + SP_HEADER_BYTES, (size_t)size - SP_ID_BYTES},
    };
    reader->at += sizeof(size) + (size_t)size;
    return HOOP_OK;
}
