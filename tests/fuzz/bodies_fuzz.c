/*
 * tests/fuzz/bodies_fuzz.c - any body is refused, or encoded again the same
 *
 * The first byte chooses the kind of body, the rest is one. What was decoded
 * and encoded again must decode and encode to the same bytes.
 */

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "bodies.h"
#include "fuzz/fuzz.h"

struct copy {
    uint8_t *bytes;
    size_t n_bytes;
};

static enum hoop_status
again(const struct body *body, struct message_span in, struct copy *out)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    const enum hoop_status status = body_again(body, in, &pack);
    if (status != HOOP_OK) {
        fuzz_require(status == HOOP_E_DATA_LOSS);
        return status;
    }
    fuzz_require(pack_take(&pack, &out->bytes, &out->n_bytes) == HOOP_OK);
    return HOOP_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct copy first = {0};
    struct copy second = {0};

    if (n_bytes == 0)
        return 0;
    const struct body *body = &bodies[bytes[0] % n_bodies];
    if (again(body, (struct message_span){bytes + 1, n_bytes - 1}, &first) ==
        HOOP_OK) {
        fuzz_require(again(body,
                           (struct message_span){first.bytes, first.n_bytes},
                           &second) == HOOP_OK);
        fuzz_require(first.n_bytes == second.n_bytes);
        fuzz_require(memcmp(first.bytes, second.bytes, first.n_bytes) == 0);
    }
    free(first.bytes);
    free(second.bytes);
    return 0;
}
