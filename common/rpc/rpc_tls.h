/*
 * rpc/rpc_tls.h - TLS between a coordinator and its clients, made of the token
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

#ifndef RPC_RPC_TLS_H
#define RPC_RPC_TLS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "base/role.h"
#include "net/tls.h"
#include "rpc/messages/message.h"

struct rpc_tls;

/*
 * files of which certificate and key are not said: by the token alone. All is
 * copied. Handle: HOOP_E_INVALID (neither is there, or cannot be used),
 * HOOP_E_NOT_FOUND (a file).
 */
enum hoop_status
rpc_tls_create_client(const struct tls_files *files,
                      const char *token,
                      struct rpc_tls **out_rpc_tls);
/* secret: the token of all jobs; NULL or empty: none is known. */
enum hoop_status
rpc_tls_create_server(const struct tls_files *files,
                      const char *secret,
                      struct rpc_tls **out_rpc_tls);
/* After its connections. NULL is fine. Wipes the keys. */
void
rpc_tls_destroy(struct rpc_tls *rpc_tls);

/* A connection's TLS, to be shaken; fd is borrowed. */
enum hoop_status
rpc_tls_connect(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls);
enum hoop_status
rpc_tls_accept(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls);

/* tls_handshake() of a client. Handle: HOOP_E_PENDING, HOOP_E_UNAUTHENTICATED (also
 * a coordinator without TLS), HOOP_E_DATA_LOSS (something else), _UNAVAILABLE. */
enum hoop_status
rpc_tls_handshake(struct tls *tls);

#endif
