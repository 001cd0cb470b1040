/*
 * base/identity.h - the public identity of a member, derived from its
 * incarnation
 *
 * A client that knows a member's incarnation can act for it at the coordinator,
 * so only the member and the coordinator know it. Peers and operators see the
 * identity, from which the incarnation cannot be recovered.
 */

#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

#include <stdint.h>

/* Return the first 8 bytes of HMAC-SHA256 of the incarnation under a fixed key;
 * 0 only if OpenSSL fails. Thread: any. */
uint64_t
identity_of_incarnation(uint64_t incarnation);

#endif
