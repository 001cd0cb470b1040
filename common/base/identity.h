/*
 * base/identity.h - what others are shown of a member: never its incarnation
 *
 * Whoever knows a member's incarnation can speak for it at the coordinator, so
 * only those two know it. Its peers, and operators, are shown its identity: made
 * of the incarnation, and no way back.
 */

#ifndef BASE_IDENTITY_H
#define BASE_IDENTITY_H

#include <stdint.h>

/* The first 8 bytes of HMAC-SHA256 of the incarnation's, under a fixed key. 0
 * only if OpenSSL fails. Thread: any. */
uint64_t
identity_of(uint64_t incarnation);

#endif
