/* tests/unit/common/rpc/messages/body_check.c - holds for every body */

#include <stdbool.h>
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

/* The count of the fields is in the first byte, or, if there are more than 15,
 * in the two behind it. That of one more may need these two. */
static void
newer_is_read(const struct body *body, struct message_span in)
{
    CLEANUP(free) uint8_t *longer = malloc(in.n_bytes + 3);
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    const bool is_long = in.bytes[0] == 0xdc;
    const size_t n_head = is_long ? 3 : 1;
    const size_t n_longer = 3 + in.n_bytes - n_head + 1;
    size_t n_bytes = 0;

    assert_true(is_long || (in.bytes[0] & 0xf0) == 0x90);
    longer[0] = 0xdc;
    longer[1] = 0;
    longer[2] = (uint8_t)((is_long ? in.bytes[2] : in.bytes[0] & 0x0f) + 1);
    memcpy(longer + 3, in.bytes + n_head, in.n_bytes - n_head);
    longer[n_longer - 1] = 0xc0;
    assert_ok(again(body, (struct message_span){longer, n_longer}, &pack));
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
