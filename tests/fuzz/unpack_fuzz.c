/*
 * tests/fuzz/unpack_fuzz.c - any message is refused, or read to its end
 *
 * The first bytes choose the calls that are made on the rest; then the rest is
 * walked as what it is and packed again, which must give a message that reads
 * the same.
 */

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "wire/pack.h"
#include "wire/unpack.h"

enum {
    CALLS = 8
};

static void
require_inside(const struct unpack *unpack, struct unpack_view view)
{
    if (view.n_bytes == 0)
        return;
    fuzz_require(view.bytes >= unpack->bytes);
    fuzz_require(view.bytes + view.n_bytes <= unpack->bytes + unpack->n_bytes);
}

static void
call_one(struct unpack *unpack, uint8_t choice)
{
    char text[16];

    switch (choice % 9) {
    case 0:
        fuzz_require(unpack_array(unpack, 1) <= unpack->n_bytes);
        break;
    case 1:
        fuzz_require(unpack_uint(unpack, 1000) <= 1000);
        break;
    case 2:
        (void)unpack_int(unpack);
        break;
    case 3:
        (void)unpack_bool(unpack);
        break;
    case 4:
        require_inside(unpack, unpack_str(unpack, 100));
        break;
    case 5:
        require_inside(unpack, unpack_bin(unpack, 100));
        break;
    case 6:
        unpack_text(unpack, text, sizeof(text));
        fuzz_require(strlen(text) < sizeof(text));
        break;
    case 7:
        (void)unpack_nil(unpack);
        break;
    default:
        unpack_skip(unpack, choice);
        break;
    }
}

/* One value of the message, which unpack_init() found whole, packed again. */
static void
repack_one(struct unpack *unpack, struct pack *pack)
{
    const struct value value =
        value_read(unpack->bytes + unpack->at, unpack->n_bytes - unpack->at);
    struct unpack_view view;

    switch (value.type) {
    case VALUE_NONE:
        fuzz_fail("a checked message has an unknown value");
        break;
    case VALUE_NIL:
        fuzz_require(unpack_nil(unpack));
        pack_nil(pack);
        break;
    case VALUE_BOOL:
        pack_bool(pack, unpack_bool(unpack));
        break;
    case VALUE_UINT:
        pack_uint(pack, unpack_uint(unpack, UINT64_MAX));
        break;
    case VALUE_NEGATIVE:
        pack_int(pack, unpack_int(unpack));
        break;
    case VALUE_STR:
        /* pack_str() wants a final 0; a bin has the same content. */
        view = unpack_str(unpack, SIZE_MAX);
        pack_bin(pack, view.bytes, view.n_bytes);
        break;
    case VALUE_BIN:
        view = unpack_bin(unpack, SIZE_MAX);
        pack_bin(pack, view.bytes, view.n_bytes);
        break;
    case VALUE_ARRAY:
        pack_array(pack, unpack_array(unpack, 0));
        break;
    }
}

static void
require_reads_back(const uint8_t *bytes, size_t n_bytes)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct unpack unpack;
    struct unpack again;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    unpack_init(&unpack, bytes, n_bytes, LIMIT_RPC_MESSAGE);
    if (unpack_status(&unpack) != HOOP_OK)
        return;
    while (!unpack_is_end(&unpack))
        repack_one(&unpack, &pack);
    fuzz_require(unpack_status(&unpack) == HOOP_OK);
    fuzz_require(pack_status(&pack) == HOOP_OK);

    unpack_init(&again, pack.bytes, pack.n_bytes, LIMIT_RPC_MESSAGE);
    fuzz_require(unpack_status(&again) == HOOP_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct unpack unpack;

    if (n_bytes < CALLS)
        return 0;
    unpack_init(&unpack, bytes + CALLS, n_bytes - CALLS, LIMIT_RPC_MESSAGE);
    for (size_t i = 0; i < CALLS; i++)
        call_one(&unpack, bytes[i]);
    require_reads_back(bytes + CALLS, n_bytes - CALLS);
    return 0;
}
