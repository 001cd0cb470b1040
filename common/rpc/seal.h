/*
 * rpc/seal.h - TLS between a coordinator and its clients, made of the token
 *
 * With certificates of its own a side shows one and wants to see one; without,
 * the key of a connection is made of the client's token. A coordinator knows
 * one secret and with it the tokens of all roles (base/role.h); a client says
 * which role it is in.
 *
 * A certificate proves no membership: within TLS, both sides prove that they know
 * the token as without it, bound to this connection (rpc/authentication.h).
 * Thread: the loop's.
 */

#ifndef RPC_SEAL_H
#define RPC_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "base/role.h"
#include "net/tls.h"
#include "rpc/messages/message.h"

struct seal;

/*
 * files of which certificate and key are not said: by the token alone. All is
 * copied. Handle: HOOP_E_INVALID (neither is there, or cannot be used),
 * HOOP_E_NOT_FOUND (a file).
 */
enum hoop_status
seal_create_client(const struct tls_files *files,
                   const char *token,
                   struct seal **out_seal);
/* secret: the token of all jobs; NULL or empty: none is known. */
enum hoop_status
seal_create_server(const struct tls_files *files,
                   const char *secret,
                   struct seal **out_seal);
/* After its connections. NULL is fine. Wipes the keys. */
void
seal_destroy(struct seal *seal);

/* A connection's TLS, to be shaken; fd is borrowed. */
enum hoop_status
seal_call(struct seal *seal, int fd, struct tls **out_tls);
enum hoop_status
seal_accept(struct seal *seal, int fd, struct tls **out_tls);

/* tls_shake() of a client. Handle: HOOP_E_PENDING, HOOP_E_UNAUTHENTICATED (also
 * a coordinator without TLS), HOOP_E_DATA_LOSS (something else), _UNAVAILABLE. */
enum hoop_status
seal_shake(struct tls *tls);

#endif
