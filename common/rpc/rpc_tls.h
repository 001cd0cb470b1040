/*
 * rpc/rpc_tls.h - TLS between a coordinator and its clients
 *
 * If a side has a certificate, it presents it and requires one of the other
 * side. Without certificates, the key of a connection is derived from the
 * client's token. A coordinator knows one secret, from which the tokens of all
 * roles derive (base/role.h); a client names its role.
 *
 * A certificate does not prove membership of a job: within TLS both sides also
 * prove that they know the token, bound to this connection
 * (rpc/authentication.h). Thread: the loop's.
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
 * If files names no certificate and no key, the token alone is used. Everything
 * is copied. Handle: HOOP_E_INVALID (there is neither, or it cannot be used),
 * HOOP_E_NOT_FOUND (missing file).
 */
enum hoop_status
rpc_tls_create_client(const struct tls_files *files,
                      const char *token,
                      struct rpc_tls **out_rpc_tls);
/* secret is the token of all jobs; NULL or empty: there is none. */
enum hoop_status
rpc_tls_create_server(const struct tls_files *files,
                      const char *secret,
                      struct rpc_tls **out_rpc_tls);
/* Call after its connections have ended. Erases the keys. NULL is allowed. */
void
rpc_tls_destroy(struct rpc_tls *rpc_tls);

/* Create the TLS state of a connection, before the handshake; fd is
 * borrowed. */
enum hoop_status
rpc_tls_connect(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls);
enum hoop_status
rpc_tls_accept(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls);

/* As tls_handshake(), for a client. Handle: HOOP_E_PENDING,
 * HOOP_E_UNAUTHENTICATED (also a coordinator without TLS), HOOP_E_DATA_LOSS
 * (not a coordinator), HOOP_E_UNAVAILABLE. */
enum hoop_status
rpc_tls_handshake(struct tls *tls);

#endif
