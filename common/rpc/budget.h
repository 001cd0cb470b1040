/*
 * rpc/budget.h - limits on the bytes that a coordinator holds for clients
 *
 * Whatever a client can make the coordinator hold is charged to the account of
 * its connection: incomplete input, parked requests and what they keep, replies
 * that wait for the disk or have not been read by the client. Each role has its
 * own share of the total, so that unauthenticated clients and those with a
 * lesser token cannot use up the workers' share. The limits of a connection and
 * of a role are rows of a table built from base/limits.h; the shares of all
 * roles add up to the overall limit.
 *
 * A charge beyond a limit is refused; the text names the limit and the value.
 * Thread: calls must not overlap.
 */

#ifndef RPC_BUDGET_H
#define RPC_BUDGET_H

#include <stddef.h>

#include "hoop/status.h"

#include "base/role.h"

enum {
    BUDGET_UNAUTHENTICATED = ROLE_ANYBODY, /* has shown no token yet */
    BUDGET_ROLES = ROLE_ANYBODY + 1,
};

/* Limits in bytes. */
struct budget_limits {
    size_t message;    /* of one request with its envelope */
    size_t connection; /* held for one connection */
    size_t role;       /* held for all connections of the role */
};

struct budget {
    struct budget_limits limits[BUDGET_ROLES];
    size_t n_bytes[BUDGET_ROLES];
};

/* The account of a connection. */
struct budget_account {
    struct budget *budget;
    enum role role;
    size_t n_bytes;
};

/* Initialise for a coordinator with a token: unauthenticated clients may send
 * only small messages. */
void
budget_init(struct budget *budget);
/* Initialise for a coordinator without a token: every client is unauthenticated
 * until its first request is served, so its messages may be as large as a
 * worker's. */
void
budget_init_open(struct budget *budget);

/* Return the bytes held for all roles together. */
size_t
budget_n_bytes(const struct budget *budget);

/* Initialise an empty account of an unauthenticated client. */
void
budget_account_init(struct budget_account *account, struct budget *budget);

/* Return the limits that apply to the account. */
const struct budget_limits *
budget_account_limits(const struct budget_account *account);

/* Charge bytes. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
budget_charge(struct budget_account *account, size_t n_bytes);
/* Release bytes that were charged. */
void
budget_release(struct budget_account *account, size_t n_bytes);

/* Move the account to role with all that is charged, even beyond the role's
 * limits. */
void
budget_account_move(struct budget_account *account, enum role role);

#endif
