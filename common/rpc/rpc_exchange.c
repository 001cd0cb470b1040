/*
 * rpc/rpc_exchange.c - one request of a connection, from its arrival to its
 * reply
 */

#include "rpc/rpc_exchange.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "fault/fault.h"
#include "net/loop.h"
#include "rpc/budget.h"
#include "rpc/connection_pool.h"
#include "rpc/coordinator_connection.h"
#include "rpc/method.h"

enum {
    /* Charge for an exchange and its request besides the bodies. */
    EXCHANGE_COST = 1024,
    /* With a fault at the end of a call: a reply counts as sent when the socket
     * has it; wait this long so that the client has it too. */
    LINGER_MS = 20,
};

/* Change what is charged for the exchange. Only growth can fail. */
static enum hoop_status
exchange_charge(struct rpc_exchange *exchange, size_t n_bytes)
{
    if (!exchange->connection)
        return HOOP_OK;
    struct budget_account *account = &exchange->connection->account;
    if (n_bytes > exchange->n_charged) {
        const enum hoop_status status =
            budget_charge(account, n_bytes - exchange->n_charged);
        if (status != HOOP_OK)
            return error_pass(status);
    } else {
        budget_release(account, exchange->n_charged - n_bytes);
    }
    exchange->n_charged = n_bytes;
    return HOOP_OK;
}

enum hoop_status
rpc_exchange_create(struct rpc_exchange_table *table,
                    struct coordinator_connection *connection,
                    uint32_t frame_id,
                    struct rpc_exchange **out_exchange)
{
    if (table->n_exchanges >= EXCHANGES_MAX ||
        connection->n_exchanges >= SIBLINGS_MAX)
        return error_raise(HOOP_E_EXHAUSTED, "it asks too much");

    struct rpc_exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a request");
    exchange->table = table;
    exchange->connection = connection;
    exchange->arrived_ns = clock_now_ns();
    exchange->frame_id = frame_id;
    LIST_INSERT_HEAD(&connection->exchanges, exchange, link);
    connection->n_exchanges++;
    table->n_exchanges++;
    *out_exchange = exchange;
    return HOOP_OK;
}

void
rpc_exchange_drop(struct rpc_exchange *exchange)
{
    struct rpc_exchange_table *table = exchange->table;

    (void)exchange_charge(exchange, 0);
    LIST_REMOVE(exchange, link);
    if (exchange->connection) {
        exchange->connection->n_exchanges--;
        exchange->connection->n_uncharged -= exchange->is_uncharged;
    }
    if (table->in_request == exchange)
        table->in_request = NULL;
    table->n_exchanges--;
    free(exchange->reply);
    free(exchange);
}

void
rpc_exchanges_detach(struct rpc_exchange_table *table,
                     struct coordinator_connection *connection)
{
    struct rpc_exchange *exchange;

    if (connection->leaving)
        STAILQ_INSERT_HEAD(&connection->replies, connection->leaving, queued);
    while ((exchange = STAILQ_FIRST(&connection->replies))) {
        STAILQ_REMOVE_HEAD(&connection->replies, queued);
        table->n_sending--;
        rpc_exchange_drop(exchange);
        loop_timer_start(table->notice, 0);
    }
    while ((exchange = LIST_FIRST(&connection->exchanges))) {
        LIST_REMOVE(exchange, link);
        (void)exchange_charge(exchange, 0);
        free(STEAL(exchange->reply));
        exchange->connection = NULL;
        LIST_INSERT_HEAD(&table->orphans, exchange, link);
    }
}

/* ---- Faults. */

/* Turn "hoop.v1.Store/CompareSet" into "store_compare_set"; other names become
 * "". */
static void
fault_op_of_method(const char *method, char out_op[FAULT_OP_MAX])
{
    static const char prefix[] = "hoop.v1.";
    size_t n = 0;

    out_op[0] = '\0';
    if (strncmp(method, prefix, sizeof(prefix) - 1) != 0)
        return;
    for (const char *at = method + sizeof(prefix) - 1; *at; at++) {
        const bool is_capital = isupper((unsigned char)*at);

        if (*at == '/')
            continue;
        if (n + 2 >= FAULT_OP_MAX)
            break;
        if (is_capital && n > 0)
            out_op[n++] = '_';
        out_op[n++] = (char)tolower((unsigned char)*at);
    }
    out_op[n] = '\0';
}

static bool
fault_op_exists(const char *name)
{
    char op[FAULT_OP_MAX];

    for (size_t i = 0; i < METHOD_COUNT; i++) {
        fault_op_of_method(method_by_id((enum method_id)i)->name, op);
        if (strcmp(op, name) == 0)
            return true;
    }
    return false;
}

enum hoop_status
rpc_faults_create(struct faults **out_faults)
{
    return faults_create(NULL, FAULT_COORDINATOR, fault_op_exists, out_faults);
}

static void
reply_delivery_wait(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LINGER_MS * CLOCK_NS_PER_MS}, NULL);
}

/* Inject the faults that are due at this point, to the process or to the
 * connection. Returns whether the exchange is lost: the caller must drop it. */
static bool
fault_inject(struct rpc_exchange *exchange, enum fault_point point)
{
    const struct fault_event event = {
        .point = point, .peer = FAULT_ANY_RANK, .is_frame = true};

    if (!FAULT_IS_BUILT || !exchange->rules)
        return false;
    if (point == FAULT_AT_END &&
        faults_are_due(exchange->table->faults, exchange->rules, &event))
        reply_delivery_wait();
    const struct fault_effect effect =
        faults_trigger(exchange->table->faults, exchange->rules, &event);
    if (effect.action == FAULT_RESET)
        rpc_exchange_shutdown(exchange);
    return effect.action == FAULT_RESET || effect.action == FAULT_DROP;
}

bool
rpc_exchange_begin(struct rpc_exchange *exchange, const char *method)
{
    char op[FAULT_OP_MAX];

    if (!FAULT_IS_BUILT || !exchange->table->faults)
        return true;
    fault_op_of_method(method, op);
    exchange->rules = faults_begin(exchange->table->faults, op);
    if (!fault_inject(exchange, FAULT_AT_BEGIN))
        return true;
    rpc_exchange_drop(exchange);
    return false;
}

/* ---- Functions for the owner. */

struct message_span
rpc_exchange_message(const struct rpc_exchange *exchange)
{
    return exchange->message;
}

uint32_t
rpc_exchange_connection(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->id : 0;
}

uint64_t
rpc_exchange_arrived_ns(const struct rpc_exchange *exchange)
{
    return exchange->arrived_ns;
}

const char *
rpc_exchange_peer(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->peer : "";
}

size_t
rpc_exchange_n_on_connection(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->n_exchanges : 0;
}

enum hoop_status
rpc_exchange_set_role(struct rpc_exchange *exchange, enum role role)
{
    struct coordinator_connection *connection = exchange->connection;

    if (!connection || connection->entry.state != POOL_ENTRY_UNAUTHENTICATED)
        return HOOP_OK;
    const enum hoop_status status = connection_pool_set_role(
        exchange->table->pool, &connection->entry, role);
    if (status != HOOP_OK)
        return error_pass(status);
    budget_account_move(&connection->account, role);
    return HOOP_OK;
}

enum hoop_status
rpc_exchange_reserve(struct rpc_exchange *exchange, size_t n_bytes)
{
    return exchange_charge(exchange, EXCHANGE_COST + n_bytes);
}

enum hoop_status
rpc_exchange_defer(struct rpc_exchange *exchange, struct message_span bytes)
{
    uint8_t *reply = exchange->connection ? malloc(bytes.n_bytes + 1) : NULL;

    if (exchange->connection && !reply)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a reply");
    if (reply)
        memcpy(reply, bytes.bytes, bytes.n_bytes);
    free(exchange->reply);
    exchange->reply = reply;
    exchange->n_reply = bytes.n_bytes;
    return HOOP_OK;
}

void
rpc_exchange_send_deferred(struct rpc_exchange *exchange)
{
    struct rpc_exchange_table *table = exchange->table;

    if (fault_inject(exchange, FAULT_AT_SEND)) {
        rpc_exchange_drop(exchange);
        return;
    }
    /* Without a connection or memory, treat it as a lost connection. */
    if (!exchange->connection || !exchange->reply) {
        rpc_exchange_abort(exchange);
        loop_timer_start(table->notice, 0);
        return;
    }
    table->n_sending++;
    coordinator_connection_reply(exchange->connection, exchange);
}

void
rpc_exchange_reply(struct rpc_exchange *exchange, struct message_span bytes)
{
    /* Only a refusal can be without room; until it is sent, do not read. */
    if (exchange->connection &&
        rpc_exchange_reserve(exchange, bytes.n_bytes) != HOOP_OK) {
        exchange->is_uncharged = true;
        exchange->connection->n_uncharged++;
    }
    /* Without memory for the reply, close the connection. */
    if (rpc_exchange_defer(exchange, bytes) != HOOP_OK)
        rpc_exchange_shutdown(exchange);
    rpc_exchange_send_deferred(exchange);
}

void
rpc_exchange_shutdown(const struct rpc_exchange *exchange)
{
    if (exchange->connection)
        coordinator_connection_shutdown(exchange->connection);
}

void
rpc_exchange_abort(struct rpc_exchange *exchange)
{
    rpc_exchange_shutdown(exchange);
    rpc_exchange_drop(exchange);
}

struct authentication *
rpc_exchange_authentication(struct rpc_exchange *exchange)
{
    return exchange->connection ? &exchange->connection->auth : NULL;
}

enum role
rpc_exchange_role(const struct rpc_exchange *exchange)
{
    return exchange->connection &&
                   exchange->connection->auth.stage == AUTH_PROVED
               ? exchange->connection->auth.role
               : ROLE_ANYBODY;
}

void
rpc_exchange_end_sent(struct rpc_exchange *exchange)
{
    struct rpc_exchange_table *table = exchange->table;

    fault_inject(exchange, FAULT_AT_END);
    table->n_sending--;
    rpc_exchange_drop(exchange);
    table->events.on_sent(table->owner);
}
