/*
 * rpc/coordinator_connection.c - a client's connection under TLS, on a loop
 *
 * Nobody is called back from within a reply: it is written in a turn of the
 * loop of its own.
 *
 * No test of its own: coordinator_listener_test.c has clients of all kinds.
 */

#include "rpc/coordinator_connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/state.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/tls.h"
#include "rpc/seal.h"

enum {
    /* Reads of one turn, so that the loop's others get theirs. */
    READS_MAX = 16,
};

static const struct sm_state sealed_states[] = {
    [SEALED_SECURING] = {"securing", SM_TO(SEALED_GREETING)},
    [SEALED_GREETING] = {"greeting", SM_TO(SEALED_READY)},
    [SEALED_READY] = {"ready", 0},
};

DEFINE_CLEANUP(struct coordinator_connection *, coordinator_connection_destroy)

static void
connection_move(struct coordinator_connection *connection,
                enum sealed_state next)
{
    connection->state =
        state_move(sealed_states, "sealed", connection->state, next);
}

/* What a client that knows no TLS can make something of: a fatal alert. */
static enum hoop_status
stranger_answer(const struct coordinator_connection *connection)
{
    static const uint8_t alert[] = {TLS_ALERT, 3, 3, 0, 2, 2, 40};
    uint8_t rest[4 * SP_HELLO_BYTES];

    /* What is not read when it is closed would take the alert with it. */
    if (recv(connection->carrier.fd, rest, sizeof(rest), MSG_DONTWAIT) >= 0)
        (void)!send(connection->carrier.fd, alert, sizeof(alert),
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    if (tls_first_byte(connection->carrier.tls) == sp_hello_request[0])
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "it does not speak TLS: set HOOP_TLS=on there, or "
                           "start hoopd with --tls off");
    return error_raise(HOOP_E_UNAUTHENTICATED, "it does not speak TLS");
}

/* The proofs, and hello. */
static enum hoop_status
connection_say_hello(struct coordinator_connection *connection)
{
    CLEANUP(free) uint8_t *bytes = malloc(SEAL_PROVED_MAX + SP_HELLO_BYTES);
    size_t n_bytes = 0;

    if (!bytes)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a hello");
    const enum hoop_status status =
        seal_prove(connection->seal, connection->carrier.tls, bytes, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    memcpy(bytes + n_bytes, sp_hello_reply, SP_HELLO_BYTES);
    sp_writer_take_raw(&connection->writer, STEAL(bytes),
                       n_bytes + SP_HELLO_BYTES);
    return HOOP_OK;
}

static enum hoop_status
connection_secure(struct coordinator_connection *connection)
{
    const enum hoop_status status = tls_shake(connection->carrier.tls);

    if (status == HOOP_E_PENDING)
        return status;
    if (status != HOOP_OK) {
        const int first = tls_first_byte(connection->carrier.tls);

        return first < 0 || first == TLS_ALERT || first == TLS_HANDSHAKE
                   ? error_pass(status)
                   : stranger_answer(connection);
    }
    connection_move(connection, SEALED_GREETING);
    return connection_say_hello(connection);
}

static enum hoop_status
connection_take_frames(struct coordinator_connection *connection)
{
    if (connection->state == SEALED_GREETING) {
        const enum hoop_status status =
            sp_reader_hello_client(&connection->reader);

        if (status != HOOP_OK)
            return status;
        connection_move(connection, SEALED_READY);
        connection->events->on_admitted(connection);
    }
    for (;;) {
        struct sp_frame frame;

        enum hoop_status status = sp_reader_next(&connection->reader, &frame);
        if (status != HOOP_OK)
            return status;
        status = connection->events->on_request(connection, &frame);
        if (status != HOOP_OK)
            return error_pass(status);
    }
}

/* HOOP_E_PENDING: all that has come is read, or enough for a turn. */
static enum hoop_status
connection_receive(struct coordinator_connection *connection)
{
    for (int turn = 0;
         turn < READS_MAX || carrier_is_ready(&connection->carrier); turn++) {
        uint8_t *bytes;
        size_t n_room;
        size_t n_bytes;

        enum hoop_status status =
            sp_reader_room(&connection->reader, &bytes, &n_room);
        if (status != HOOP_OK)
            return error_pass(status);
        status = carrier_receive(&connection->carrier, bytes, n_room, &n_bytes);
        if (status != HOOP_OK)
            return status == HOOP_E_PENDING ? status : error_pass(status);

        sp_reader_add(&connection->reader, n_bytes);
        status = connection_take_frames(connection);
        if (status != HOOP_E_PENDING)
            return error_pass(status);
    }
    return HOOP_E_PENDING;
}

/* HOOP_OK: nothing is left to send. */
static enum hoop_status
connection_send(struct coordinator_connection *connection)
{
    for (;;) {
        const enum hoop_status status =
            sp_writer_send(&connection->writer, &connection->carrier);
        if (status != HOOP_OK)
            return status;
        if (connection->leaving)
            connection->events->on_sent(STEAL(connection->leaving));

        struct sealed_exchange *next = STAILQ_FIRST(&connection->replies);
        if (!next)
            return HOOP_OK;
        STAILQ_REMOVE_HEAD(&connection->replies, reply);
        connection->leaving = next;
        sp_writer_take_frame(&connection->writer, next->frame_id,
                             STEAL(next->bytes), next->n_bytes);
    }
}

static void
connection_arm(struct coordinator_connection *connection)
{
    const bool has_output = !sp_writer_is_idle(&connection->writer) ||
                            !STAILQ_EMPTY(&connection->replies) ||
                            carrier_owes(&connection->carrier);

    loop_watch_set(connection->watch,
                   has_output ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

static void
connection_on_ready(void *owner, enum loop_interest ready)
{
    struct coordinator_connection *connection = owner;
    enum hoop_status status = HOOP_OK;

    if (connection->state == SEALED_SECURING)
        status = connection_secure(connection);
    else if (ready & LOOP_READ)
        status = connection_receive(connection);

    if (status == HOOP_OK || status == HOOP_E_PENDING)
        status = connection_send(connection);
    if (status == HOOP_OK || status == HOOP_E_PENDING)
        connection_arm(connection);
    else
        connection->events->on_end(connection, status);
}

void
coordinator_connection_reply(struct coordinator_connection *connection,
                             struct sealed_exchange *exchange)
{
    STAILQ_INSERT_TAIL(&connection->replies, exchange, reply);
    connection_arm(connection);
}

void
coordinator_connection_cut(const struct rpc_connection *connection)
{
    const struct coordinator_connection *sealed =
        CONTAINER_OF(connection, struct coordinator_connection, connection);

    shutdown(sealed->carrier.fd, SHUT_RDWR);
}

static enum hoop_status
connection_open(struct coordinator_connection *connection,
                const struct sealed_terms *terms)
{
    enum hoop_status status = seal_accept(terms->seal, connection->carrier.fd,
                                          &connection->carrier.tls);
    if (status == HOOP_OK)
        status = loop_watch_create(terms->loop, connection->carrier.fd,
                                   connection_on_ready, connection,
                                   &connection->watch);
    if (status != HOOP_OK)
        return error_pass(status);
    connection_arm(connection);
    return HOOP_OK;
}

enum hoop_status
coordinator_connection_create(const struct sealed_terms *terms,
                              int fd,
                              const struct address *peer,
                              struct coordinator_connection **out_connection)
{
    CLEANUP(coordinator_connection_destroy)
    struct coordinator_connection *connection = calloc(1, sizeof(*connection));

    if (!connection) {
        socket_close(fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    connection->listener = terms->listener;
    connection->events = terms->events;
    connection->seal = terms->seal;
    connection->carrier.fd = fd;
    LIST_INIT(&connection->exchanges);
    STAILQ_INIT(&connection->replies);
    address_format(peer, connection->connection.peer);

    const enum hoop_status status = connection_open(connection, terms);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_connection = STEAL(connection);
    return HOOP_OK;
}

void
coordinator_connection_destroy(struct coordinator_connection *connection)
{
    if (!connection)
        return;
    loop_watch_destroy(connection->watch);
    carrier_close(&connection->carrier);
    sp_reader_deinit(&connection->reader);
    sp_writer_deinit(&connection->writer);
    free(connection);
}
