/* base/identity.c - the public identity of a member, derived from its
 * incarnation */

#include "base/identity.h"

#include "base/hmac.h"

uint64_t
identity_of_incarnation(uint64_t incarnation)
{
    static const char key[] = "hoop.member.identity";
    uint8_t bytes[sizeof(incarnation)];
    uint8_t mac[HMAC_BYTES];
    uint64_t identity = 0;

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(incarnation >> 8 * i);
    const struct hmac_span part = {bytes, sizeof(bytes)};
    if (hmac_sha256((struct hmac_span){key, sizeof(key) - 1}, &part, 1, mac) !=
        HOOP_OK)
        return 0;
    for (unsigned i = 0; i < sizeof(identity); i++)
        identity |= (uint64_t)mac[i] << 8 * i;
    return identity;
}
