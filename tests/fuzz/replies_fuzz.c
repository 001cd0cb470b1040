/*
 * tests/fuzz/replies_fuzz.c - what a worker makes of what a coordinator says
 *
 * The first byte says how many bytes arrive at a time, the second as what the
 * bodies of replies are read, and, from 128 on, that not a worker reads but a
 * coordinator under TLS; the rest is what the connection brings. All of it is
 * taken or refused; memory grows with what came, not with what is announced.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "bodies.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "rpc/envelope.h"
#include "rpc/sp_stream.h"

enum {
    AT_COORDINATOR = 128,
    ROOM_MIN = 64 * 1024, /* a reader's first room is no more */
};

static void
reply_read(struct message_span in, const struct body *body)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct envelope_reply reply;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    if (envelope_reply_decode(in, &reply) == HOOP_OK)
        (void)body_again(body, reply.body, &pack);
}

static bool
is_judged(enum hoop_status status)
{
    return status == HOOP_E_PENDING || status == HOOP_E_DATA_LOSS ||
           status == HOOP_E_UNAUTHENTICATED;
}

/* HOOP_E_PENDING: all of it is read. */
static enum hoop_status
frames_read(struct sp_reader *reader, const struct body *body, unsigned kind)
{
    enum hoop_status status = HOOP_OK;
    struct sp_frame frame;

    if (reader->expects == SP_HELLO)
        status = kind < AT_COORDINATOR ? sp_reader_read_server_hello(reader)
                                       : sp_reader_read_client_hello(reader);
    while (status == HOOP_OK) {
        status = sp_reader_next_frame(reader, &frame);
        if (status != HOOP_OK)
            break;
        fuzz_require(frame.id <= SP_ID_MAX);
        fuzz_require(frame.body.n_bytes <= LIMIT_RPC_MESSAGE);
        reply_read(frame.body, body);
    }
    return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    const size_t n_each = (size_t)input_byte(&input) + 1;
    const unsigned kind = input_byte(&input);
    const struct body *body = &bodies[kind % n_bodies];
    struct sp_reader reader = {0};
    enum hoop_status status = HOOP_E_PENDING;

    while (status == HOOP_E_PENDING && input.n_bytes > 0) {
        uint8_t *room;
        size_t n_room;

        fuzz_require(sp_reader_reserve(&reader, &room, &n_room) == HOOP_OK);
        fuzz_require(n_room > 0);
        const struct input part =
            input_part(&input, n_each < n_room ? n_each : n_room);
        memcpy(room, part.bytes, part.n_bytes);
        sp_reader_commit(&reader, part.n_bytes);
        status = frames_read(&reader, body, kind);
        fuzz_require(is_judged(status));
    }
    fuzz_require(reader.n_room <= ROOM_MIN + 2 * n_bytes);
    sp_reader_deinit(&reader);
    return 0;
}
