/* rpc/budget.c - limits on the bytes that a coordinator holds for clients */

#include "rpc/budget.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"

static const struct budget_limits closed_limits[BUDGET_ROLES] = {
    [ROLE_WORKER] = {LIMIT_RPC_MESSAGE, LIMIT_RPC_WORKER_CONNECTION_BYTES,
                     LIMIT_RPC_WORKER_BYTES},
    [ROLE_OPERATOR] = {LIMIT_RPC_SMALL_MESSAGE,
                       LIMIT_RPC_OPERATOR_CONNECTION_BYTES,
                       LIMIT_RPC_OPERATOR_BYTES},
    [ROLE_METRICS] = {LIMIT_RPC_SMALL_MESSAGE,
                      LIMIT_RPC_METRICS_CONNECTION_BYTES,
                      LIMIT_RPC_METRICS_BYTES},
    [BUDGET_UNAUTHENTICATED] = {LIMIT_RPC_SMALL_MESSAGE,
                                LIMIT_RPC_UNAUTH_CONNECTION_BYTES,
                                LIMIT_RPC_UNAUTH_BYTES},
};

_Static_assert((int)LIMIT_RPC_WORKER_BYTES + (int)LIMIT_RPC_OPERATOR_BYTES +
                       (int)LIMIT_RPC_METRICS_BYTES +
                       (int)LIMIT_RPC_UNAUTH_BYTES ==
                   (int)LIMIT_RPC_BYTES,
               "the shares of the roles add up to the limit");

void
budget_init(struct budget *budget)
{
    *budget = (struct budget){0};
    memcpy(budget->limits, closed_limits, sizeof(closed_limits));
}

void
budget_init_open(struct budget *budget)
{
    budget_init(budget);
    budget->limits[BUDGET_UNAUTHENTICATED].message = LIMIT_RPC_MESSAGE;
    budget->limits[BUDGET_UNAUTHENTICATED].connection =
        LIMIT_RPC_OPERATOR_CONNECTION_BYTES;
}

size_t
budget_n_bytes(const struct budget *budget)
{
    size_t n = 0;

    for (int role = 0; role < BUDGET_ROLES; role++)
        n += budget->n_bytes[role];
    return n;
}

void
budget_account_init(struct budget_account *account, struct budget *budget)
{
    *account = (struct budget_account){
        .budget = budget,
        .role = (enum role)BUDGET_UNAUTHENTICATED,
    };
}

const struct budget_limits *
budget_account_limits(const struct budget_account *account)
{
    return &account->budget->limits[account->role];
}

static const char *
role_token_describe(enum role role)
{
    return role == (enum role)BUDGET_UNAUTHENTICATED ? "no token"
                                                     : role_name(role);
}

enum hoop_status
budget_charge(struct budget_account *account, size_t n_bytes)
{
    const struct budget_limits *limits = budget_account_limits(account);
    size_t *n_role = &account->budget->n_bytes[account->role];

    if (n_bytes > limits->connection - (account->n_bytes < limits->connection
                                            ? account->n_bytes
                                            : limits->connection))
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator holds %zu bytes for this "
                           "connection and may hold %zu; %zu more are refused: "
                           "read replies, or wait for them before asking more",
                           account->n_bytes, limits->connection, n_bytes);
    if (n_bytes >
        limits->role - (*n_role < limits->role ? *n_role : limits->role))
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator holds %zu bytes for all "
                           "connections of role %s and may hold %zu; %zu more "
                           "are refused: try again later",
                           *n_role, role_token_describe(account->role),
                           limits->role, n_bytes);
    account->n_bytes += n_bytes;
    *n_role += n_bytes;
    return HOOP_OK;
}

void
budget_release(struct budget_account *account, size_t n_bytes)
{
    assert(account->n_bytes >= n_bytes);
    assert(account->budget->n_bytes[account->role] >= n_bytes);
    account->n_bytes -= n_bytes;
    account->budget->n_bytes[account->role] -= n_bytes;
}

void
budget_account_move(struct budget_account *account, enum role role)
{
    account->budget->n_bytes[account->role] -= account->n_bytes;
    account->budget->n_bytes[role] += account->n_bytes;
    account->role = role;
}
