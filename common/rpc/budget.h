/*
 * rpc/budget.h - bytes that a coordinator holds on behalf of others
 *
 * Whatever a client can make the coordinator keep is charged to the account of
 * its connection: input that is not complete, requests that are parked and what
 * they keep, replies that wait for the disk or that the client has not read.
 * Accounts are summed up by role, and each role has its own share, so that
 * strangers and those with a lesser token leave workers theirs. The limits of
 * one connection and of each role are rows of a table made of base/limits.h; all
 * roles together are the limit in all.
 *
 * What exceeds a limit is refused; the text names the limit and the value.
 * Thread: one at a time.
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

/* What may be held, in bytes. */
struct budget_limits {
    size_t message;    /* of one request, with its envelope */
    size_t connection; /* on behalf of one connection */
    size_t role;       /* on behalf of all connections of the role */
};

struct budget {
    struct budget_limits limits[BUDGET_ROLES];
    size_t n_bytes[BUDGET_ROLES];
};

/* A connection's. */
struct budget_account {
    struct budget *budget;
    enum role role;
    size_t n_bytes;
};

/* Where tokens are asked for, strangers may send little. */
void
budget_init(struct budget *budget);
/* Where no token is known, everybody is a stranger until he has been served:
 * a message of theirs may be as large as a worker's. */
void
budget_init_open(struct budget *budget);

/* In all. */
size_t
budget_n_bytes(const struct budget *budget);

/* An account of nothing, of a stranger. */
void
budget_account_init(struct budget_account *account, struct budget *budget);

/* The limits that hold for it. */
const struct budget_limits *
budget_account_limits(const struct budget_account *account);

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
budget_charge(struct budget_account *account, size_t n_bytes);
/* Of what was charged. */
void
budget_release(struct budget_account *account, size_t n_bytes);

/* What is charged goes on as role's, even above its limits. */
void
budget_account_move(struct budget_account *account, enum role role);

#endif
