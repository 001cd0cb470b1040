/* tests/unit/common/rpc/messages/auth_messages_test.c - Auth */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/role.h"
#include "bodies.h"
#include "check.h"
#include "rpc/messages/auth_messages.h"
#include "wire/pack.h"

static void
auth_bodies_hold_the_rules_of_bodies(void **state)
{
    struct auth_challenge_request challenge = {.role = ROLE_METRICS};
    struct auth_challenge_reply reply;
    struct auth_prove_request prove;
    CLEANUP(pack_deinit) struct pack pack;

    memset(challenge.nonce, 1, sizeof(challenge.nonce));
    memset(reply.nonce, 2, sizeof(reply.nonce));
    memset(reply.proof, 3, sizeof(reply.proof));
    memset(prove.proof, 4, sizeof(prove.proof));
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    auth_challenge_request_encode(&challenge, &pack);
    body_check("auth_challenge_request", &pack);
    auth_challenge_reply_encode(&reply, &pack);
    body_check("auth_challenge_reply", &pack);
    auth_prove_request_encode(&prove, &pack);
    body_check("auth_prove_request", &pack);
}

/* A role that nobody has, and bytes that are too few. */
static void
auth_bodies_with_wrong_fields_are_refused(void **state)
{
    static const size_t sizes[] = {0, 31, 33};
    uint8_t nonce[33] = {0};
    struct auth_challenge_request request;

    for (size_t i = 0; i < COUNT_OF(sizes) + 1; i++) {
        CLEANUP(pack_deinit) struct pack pack;
        CLEANUP(free) uint8_t *bytes = NULL;
        const bool is_role = i == COUNT_OF(sizes);
        size_t n_bytes = 0;

        pack_init(&pack, LIMIT_RPC_MESSAGE);
        pack_array(&pack, 2);
        pack_uint(&pack, is_role ? ROLE_ANYBODY : ROLE_WORKER);
        pack_bin(&pack, nonce, is_role ? 32 : sizes[i]);
        assert_ok(pack_take(&pack, &bytes, &n_bytes));
        assert_int_equal(auth_challenge_request_decode(
                             (struct message_span){bytes, n_bytes}, &request),
                         HOOP_E_DATA_LOSS);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auth_bodies_hold_the_rules_of_bodies),
        cmocka_unit_test(auth_bodies_with_wrong_fields_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
