/* tests/unit/common/base/identity_test.c - base/random.c */

#include "base/identity.h"
#include "base/random.h"
#include "check.h"

/* python3 -c "import hashlib, hmac; print(hmac.new(b'hoop.member.identity',
 * (1).to_bytes(8, 'little'), hashlib.sha256).digest()[:8][::-1].hex())" */
static void
identity_is_the_same_everywhere(void **state)
{
    assert_true(identity_of_incarnation(1) == 0x0706f4cda034d49a);
    assert_true(identity_of_incarnation(UINT64_MAX) == 0x0eb37ecb12ad8263);
}

static void
identity_tells_members_apart_and_not_their_incarnation(void **state)
{
    for (uint64_t i = 1; i < 1000; i++) {
        assert_true(identity_of_incarnation(i) != i);
        assert_true(identity_of_incarnation(i) !=
                    identity_of_incarnation(i + 1));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_the_same_everywhere),
        cmocka_unit_test(
            identity_tells_members_apart_and_not_their_incarnation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
