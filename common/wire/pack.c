/*
 * wire/pack.c - encodes a message of the control plane, with msgpack-c
 *
 * The elements of open arrays are counted, so that an incomplete message is
 * found before it is sent.
 */

#include "wire/pack.h"

#include <assert.h>
#include <msgpack/pack.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

enum {
    ROOM_MIN = 256
};

void
pack_init(struct pack *pack, size_t n_bytes_max)
{
    /* A head holds at most 32 bits. */
    assert(n_bytes_max <= UINT32_MAX);
    *pack = (struct pack){.n_bytes_max = n_bytes_max};
}

void
pack_deinit(struct pack *pack)
{
    free(pack->bytes);
    *pack = (struct pack){0};
}

/* n_more bytes are known to fit n_bytes_max. */
static void
pack_grow(struct pack *pack, size_t n_more)
{
    size_t n_room = pack->n_room > 0 ? pack->n_room : ROOM_MIN;

    while (n_room - pack->n_bytes < n_more)
        n_room *= 2;

    uint8_t *bytes = realloc(pack->bytes, n_room);
    if (!bytes) {
        pack->status = error_raise(
            HOOP_E_EXHAUSTED, "no memory for a message of %zu bytes", n_room);
        return;
    }
    pack->bytes = bytes;
    pack->n_room = n_room;
}

/* Return whether n_more bytes may be appended; if not, that is the error. */
static bool
pack_reserve(struct pack *pack, size_t n_more)
{
    if (pack->status != HOOP_OK)
        return false;
    if (n_more > pack->n_bytes_max - pack->n_bytes)
        pack->status = error_raise(
            HOOP_E_EXHAUSTED, "the message has more than the %zu bytes allowed",
            pack->n_bytes_max);
    else if (n_more > pack->n_room - pack->n_bytes)
        pack_grow(pack, n_more);
    return pack->status == HOOP_OK;
}

static int
on_packed(void *owner, const char *bytes, size_t n_bytes)
{
    struct pack *pack = owner;

    if (!pack_reserve(pack, n_bytes))
        return -1;
    if (n_bytes > 0)
        memcpy(pack->bytes + pack->n_bytes, bytes, n_bytes);
    pack->n_bytes += n_bytes;
    return 0;
}

static msgpack_packer
pack_packer(struct pack *pack)
{
    return (msgpack_packer){.data = pack, .callback = on_packed};
}

static void
pack_open(struct pack *pack, size_t n_elements)
{
    if (pack->depth < LIMIT_MESSAGE_DEPTH)
        pack->missing[pack->depth++] = n_elements;
    else if (pack->status == HOOP_OK)
        pack->status =
            error_raise(HOOP_E_INTERNAL, "a message nests more than %d arrays",
                        LIMIT_MESSAGE_DEPTH);
}

/* Count one more value, an element of the innermost open array. */
static void
pack_count(struct pack *pack)
{
    if (pack->depth > 0)
        pack->missing[pack->depth - 1]--;
}

/* Close the arrays that are complete, the innermost first. */
static void
pack_close(struct pack *pack)
{
    while (pack->depth > 0 && pack->missing[pack->depth - 1] == 0)
        pack->depth--;
}

void
pack_array(struct pack *pack, size_t n_elements)
{
    msgpack_packer packer = pack_packer(pack);

    assert(n_elements <= UINT32_MAX);
    msgpack_pack_array(&packer, n_elements);
    pack_count(pack);
    pack_open(pack, n_elements);
    pack_close(pack);
}

void
pack_packed(struct pack *pack, const void *bytes, size_t n_bytes)
{
    (void)on_packed(pack, bytes, n_bytes);
    pack_count(pack);
    pack_close(pack);
}

void
pack_uint(struct pack *pack, uint64_t value)
{
    msgpack_packer packer = pack_packer(pack);

    msgpack_pack_uint64(&packer, value);
    pack_count(pack);
    pack_close(pack);
}

void
pack_int(struct pack *pack, int64_t value)
{
    msgpack_packer packer = pack_packer(pack);

    msgpack_pack_int64(&packer, value);
    pack_count(pack);
    pack_close(pack);
}

void
pack_bool(struct pack *pack, bool value)
{
    msgpack_packer packer = pack_packer(pack);

    if (value)
        msgpack_pack_true(&packer);
    else
        msgpack_pack_false(&packer);
    pack_count(pack);
    pack_close(pack);
}

void
pack_nil(struct pack *pack)
{
    msgpack_packer packer = pack_packer(pack);

    msgpack_pack_nil(&packer);
    pack_count(pack);
    pack_close(pack);
}

void
pack_str(struct pack *pack, const char *text)
{
    msgpack_packer packer = pack_packer(pack);
    const size_t n_bytes = text ? strlen(text) : 0;

    /* This also keeps a size above 32 bits out of the head. */
    if (!pack_reserve(pack, n_bytes))
        return;
    msgpack_pack_str(&packer, n_bytes);
    msgpack_pack_str_body(&packer, text, n_bytes);
    pack_count(pack);
    pack_close(pack);
}

void
pack_bin(struct pack *pack, const void *bytes, size_t n_bytes)
{
    msgpack_packer packer = pack_packer(pack);

    if (!pack_reserve(pack, n_bytes))
        return;
    msgpack_pack_bin(&packer, n_bytes);
    msgpack_pack_bin_body(&packer, bytes, n_bytes);
    pack_count(pack);
    pack_close(pack);
}

enum hoop_status
pack_status(const struct pack *pack)
{
    if (pack->status != HOOP_OK)
        return error_pass(pack->status);
    if (pack->depth > 0)
        return error_raise(HOOP_E_INTERNAL,
                           "the message's innermost array lacks %zu elements",
                           pack->missing[pack->depth - 1]);
    return HOOP_OK;
}

enum hoop_status
pack_take(struct pack *pack, uint8_t **out_bytes, size_t *out_n_bytes)
{
    const enum hoop_status status = pack_status(pack);

    if (status != HOOP_OK)
        return error_pass(status);

    *out_n_bytes = pack->n_bytes;
    *out_bytes = STEAL(pack->bytes);
    pack_init(pack, pack->n_bytes_max);
    return HOOP_OK;
}
