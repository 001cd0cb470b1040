/* tests/unit/common/rpc/messages/body_check.c - holds for every body */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bodies.h"
#include "check.h"

static enum hoop_status
again(const struct body *body, struct message_span in, struct pack *pack)
{
    pack_init(pack, LIMIT_RPC_MESSAGE);
    return body_again(body, in, pack);
}

static void
cut_is_refused(const struct body *body, struct message_span in)
{
    for (size_t n = 0; n < in.n_bytes; n++) {
        CLEANUP(free) uint8_t *exact = malloc(n > 0 ? n : 1);
        CLEANUP(pack_deinit) struct pack pack;

        memcpy(exact, in.bytes, n);
        assert_int_equal(again(body, (struct message_span){exact, n}, &pack),
                         HOOP_E_DATA_LOSS);
    }
}

/* Bodies have at most 15 fields: the count is in the first byte. That of one
 * more may need two bytes behind it. */
static void
newer_is_read(const struct body *body, struct message_span in)
{
    CLEANUP(free) uint8_t *longer = malloc(in.n_bytes + 3);
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    assert_int_equal(in.bytes[0] & 0xf0, 0x90);
    longer[0] = 0xdc;
    longer[1] = 0;
    longer[2] = (uint8_t)((in.bytes[0] & 0x0f) + 1);
    memcpy(longer + 3, in.bytes + 1, in.n_bytes - 1);
    longer[in.n_bytes + 2] = 0xc0;
    assert_ok(
        again(body, (struct message_span){longer, in.n_bytes + 3}, &pack));
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(n_bytes, in.n_bytes);
    assert_memory_equal(bytes, in.bytes, n_bytes);
}

static void
trailing_byte_is_refused(const struct body *body, struct message_span in)
{
    CLEANUP(free) uint8_t *longer = malloc(in.n_bytes + 1);
    CLEANUP(pack_deinit) struct pack pack;

    memcpy(longer, in.bytes, in.n_bytes);
    longer[in.n_bytes] = 0xc0;
    assert_int_equal(
        again(body, (struct message_span){longer, in.n_bytes + 1}, &pack),
        HOOP_E_DATA_LOSS);
}

void
body_check(const char *name, struct pack *pack)
{
    const struct body *body = body_find(name);
    CLEANUP(free) uint8_t *first = NULL;
    CLEANUP(free) uint8_t *second = NULL;
    CLEANUP(pack_deinit) struct pack copy;
    size_t n_first = 0;
    size_t n_second = 0;

    assert_non_null(body);
    assert_ok(pack_take(pack, &first, &n_first));
    const struct message_span in = {first, n_first};

    assert_ok(again(body, in, &copy));
    assert_ok(pack_take(&copy, &second, &n_second));
    assert_int_equal(n_second, n_first);
    assert_memory_equal(second, first, n_first);

    cut_is_refused(body, in);
    newer_is_read(body, in);
    trailing_byte_is_refused(body, in);
}
