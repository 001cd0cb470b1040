/*
 * rpc/coordinator_connection.c - the coordinator's end of a client's connection
 *
 * coordinator_connection_reply() makes no callbacks: what the socket does not
 * accept at once is written in a later turn of the loop.
 */

#include "rpc/coordinator_connection.h"

#include <stdio.h>
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
#include "rpc/rpc_tls.h"

enum {
    /* Reads per turn, so that other users of the loop get their turn. */
    READS_MAX = 16,
    /* Up to one in REPLIES_PART of the connection's limit may be waiting
     * replies before no more requests are read. */
    REPLIES_PART = 4,
};

static const struct state_table_row connection_states[] = {
    [CONNECTION_TLS_HANDSHAKE] = {"securing", SM_TO(CONNECTION_HELLO)},
    [CONNECTION_HELLO] = {"greeting", SM_TO(CONNECTION_READY)},
    [CONNECTION_READY] = {"ready", 0},
};

DEFINE_CLEANUP(struct coordinator_connection *, coordinator_connection_destroy)

static void
connection_set_state(struct coordinator_connection *connection,
                     enum connection_state next)
{
    connection->state = state_transition(connection_states, "connection",
                                         connection->state, next);
}

/* Send a fatal TLS alert, which a client without TLS recognises. */
static enum hoop_status
plain_tls_alert_send(const struct coordinator_connection *connection)
{
    static const uint8_t alert[] = {TLS_ALERT, 3, 3, 0, 2, 2, 40};
    uint8_t rest[4 * SP_HELLO_BYTES];

    /* Closing the socket with unread input would discard the alert. */
    if (recv(connection->control_stream.fd, rest, sizeof(rest), MSG_DONTWAIT) >=
        0)
        (void)!send(connection->control_stream.fd, alert, sizeof(alert),
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    if (tls_first_byte(connection->control_stream.tls) == sp_hello_request[0])
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "it does not speak TLS: set HOOP_TLS=on there, or "
                           "start hoopd with --tls off");
    return error_raise(HOOP_E_UNAUTHENTICATED, "it does not speak TLS");
}

static enum hoop_status
connection_tls_handshake(struct coordinator_connection *connection)
{
    const enum hoop_status status =
        tls_handshake(connection->control_stream.tls);

    if (status == HOOP_E_PENDING)
        return status;
    if (status != HOOP_OK) {
        const int first = tls_first_byte(connection->control_stream.tls);

        return first < 0 || first == TLS_ALERT || first == TLS_HANDSHAKE
                   ? error_pass(status)
                   : plain_tls_alert_send(connection);
    }
    connection_set_state(connection, CONNECTION_HELLO);
    sp_writer_set_hello(&connection->writer, sp_hello_reply);
    return HOOP_OK;
}

/* Release the charge for memory that the reader has given back. Growth was
 * charged before. */
static void
read_buffer_uncharge(struct coordinator_connection *connection)
{
    const size_t n_room = sp_reader_charged_bytes(&connection->reader);

    if (n_room >= connection->n_room_charged)
        return;
    budget_release(&connection->account, connection->n_room_charged - n_room);
    connection->n_room_charged = n_room;
}

/* Charge the memory for the next read. HOOP_E_EXHAUSTED: the incoming frame
 * cannot be kept. */
static enum hoop_status
read_buffer_charge(struct coordinator_connection *connection)
{
    const size_t n_room = sp_reader_next_charged_bytes(&connection->reader);

    if (n_room <= connection->n_room_charged)
        return HOOP_OK;
    const enum hoop_status status = budget_charge(
        &connection->account, n_room - connection->n_room_charged);
    if (status != HOOP_OK)
        return error_pass(status);
    connection->n_room_charged = n_room;
    return HOOP_OK;
}

/* Discard the rest of the incoming frame, and answer it. */
static enum hoop_status
frame_skip(struct coordinator_connection *connection)
{
    const uint32_t id = sp_reader_skip_frame(&connection->reader);

    read_buffer_uncharge(connection);
    return connection->events->on_skipped(connection, id);
}

/* Refuse the next frame, whose announced size exceeds its sender's limit. */
static enum hoop_status
oversized_frame_refuse(struct coordinator_connection *connection,
                       size_t n_bytes)
{
    const struct budget_account *account = &connection->account;

    error_raise(HOOP_E_EXHAUSTED,
                "a request of %zu bytes, but %zu are the most %s", n_bytes,
                budget_account_limits(account)->message,
                account->role == (enum role)BUDGET_UNAUTHENTICATED
                    ? "before a token has been shown on the connection"
                    : "for a token of this role");
    return frame_skip(connection);
}

static enum hoop_status
connection_process_frame(struct coordinator_connection *connection)
{
    struct sp_frame frame;

    const size_t n_announced = sp_reader_next_body_size(&connection->reader);
    if (n_announced > budget_account_limits(&connection->account)->message)
        return oversized_frame_refuse(connection, n_announced);

    const enum hoop_status status =
        sp_reader_next_frame(&connection->reader, &frame);
    return status == HOOP_OK
               ? connection->events->on_request(connection, &frame)
               : status;
}

/* Return whether no requests are read now, because too many replies wait or one
 * is not charged. */
static bool
connection_is_throttled(const struct coordinator_connection *connection)
{
    return connection->n_uncharged > 0 ||
           connection->n_reply_bytes >
               budget_account_limits(&connection->account)->connection /
                   REPLIES_PART;
}

/* Process what has been read. HOOP_E_PENDING: it is used up, or held back. */
static enum hoop_status
connection_process_input(struct coordinator_connection *connection)
{
    if (connection->state == CONNECTION_HELLO) {
        enum hoop_status status =
            sp_reader_read_client_hello(&connection->reader);

        if (status == HOOP_OK)
            status = connection->events->on_ready(connection);
        if (status != HOOP_OK)
            return status;
        connection_set_state(connection, CONNECTION_READY);
    }
    while (!connection_is_throttled(connection)) {
        const enum hoop_status status = connection_process_frame(connection);

        if (status != HOOP_OK)
            return status == HOOP_E_PENDING ? status : error_pass(status);
    }
    return HOOP_E_PENDING;
}

static enum hoop_status
connection_read(struct coordinator_connection *connection)
{
    uint8_t *bytes;
    size_t n_room;
    size_t n_bytes;

    enum hoop_status status = read_buffer_charge(connection);
    if (status == HOOP_E_EXHAUSTED && connection->state == CONNECTION_READY)
        status = frame_skip(connection);
    if (status == HOOP_OK)
        status = sp_reader_reserve(&connection->reader, &bytes, &n_room);
    if (status != HOOP_OK)
        return error_pass(status);
    status = control_stream_receive(&connection->control_stream, bytes, n_room,
                                    &n_bytes);
    if (status != HOOP_OK)
        return status == HOOP_E_PENDING ? status : error_pass(status);
    sp_reader_commit(&connection->reader, n_bytes);
    return HOOP_OK;
}

/* HOOP_E_PENDING: everything that has arrived is read, or enough for this
 * turn. */
static enum hoop_status
connection_receive(struct coordinator_connection *connection)
{
    enum hoop_status status = HOOP_E_PENDING;

    connection->events->on_heard(connection);
    /* Frames that were held back before. */
    if (connection->state == CONNECTION_READY)
        status = connection_process_input(connection);
    for (int turn = 0;
         status == HOOP_E_PENDING && !connection_is_throttled(connection) &&
         (turn < READS_MAX ||
          control_stream_is_ready(&connection->control_stream));
         turn++) {
        status = connection_read(connection);
        if (status == HOOP_E_PENDING)
            break;
        if (status == HOOP_OK)
            status = connection_process_input(connection);
    }
    if (status == HOOP_E_PENDING) {
        sp_reader_trim(&connection->reader);
        read_buffer_uncharge(connection);
    }
    return status;
}

/* HOOP_OK: nothing is left to send. */
static enum hoop_status
connection_send(struct coordinator_connection *connection)
{
    for (;;) {
        const enum hoop_status status =
            sp_writer_send(&connection->writer, &connection->control_stream);
        if (status != HOOP_OK)
            return status;
        if (connection->leaving) {
            connection->n_reply_bytes -= connection->leaving->n_reply;
            connection->events->on_sent(STEAL(connection->leaving));
        }

        struct rpc_exchange *next = STAILQ_FIRST(&connection->replies);
        if (!next)
            return HOOP_OK;
        STAILQ_REMOVE_HEAD(&connection->replies, queued);
        connection->leaving = next;
        sp_writer_set_frame(&connection->writer, next->frame_id,
                            STEAL(next->reply), next->n_reply);
    }
}

static void
connection_update_watch(struct coordinator_connection *connection)
{
    const bool has_output =
        !sp_writer_is_idle(&connection->writer) || connection->leaving ||
        !STAILQ_EMPTY(&connection->replies) ||
        control_stream_has_unsent(&connection->control_stream);
    const bool reads = !connection_is_throttled(connection);

    loop_watch_set(connection->watch,
                   (reads ? LOOP_READ : LOOP_NOTHING) |
                       (has_output ? LOOP_WRITE : LOOP_NOTHING));
}

static void
connection_on_ready(void *owner, enum loop_interest ready)
{
    struct coordinator_connection *connection = owner;
    enum hoop_status status = HOOP_OK;

    if (connection->state == CONNECTION_TLS_HANDSHAKE)
        status = connection_tls_handshake(connection);
    else if (ready & LOOP_READ)
        status = connection_receive(connection);

    const bool was_held_back = connection_is_throttled(connection);
    if (status == HOOP_OK || status == HOOP_E_PENDING)
        status = connection_send(connection);
    /* The socket does not signal requests that have been read already. */
    if ((status == HOOP_OK || status == HOOP_E_PENDING) && was_held_back &&
        !connection_is_throttled(connection))
        status = connection_receive(connection);
    if (status == HOOP_OK || status == HOOP_E_PENDING)
        connection_update_watch(connection);
    else
        connection->events->on_end(connection, status);
}

void
coordinator_connection_reply(struct coordinator_connection *connection,
                             struct rpc_exchange *exchange)
{
    const bool is_first = sp_writer_is_idle(&connection->writer) &&
                          !connection->leaving &&
                          STAILQ_EMPTY(&connection->replies);

    connection->n_reply_bytes += exchange->n_reply;
    if (is_first) {
        connection->leaving = exchange;
        sp_writer_set_frame(&connection->writer, exchange->frame_id,
                            STEAL(exchange->reply), exchange->n_reply);
        /* A failure will occur again in the loop, which then handles it. */
        (void)sp_writer_send(&connection->writer, &connection->control_stream);
    } else {
        STAILQ_INSERT_TAIL(&connection->replies, exchange, queued);
    }
    connection_update_watch(connection);
}

void
coordinator_connection_shutdown(const struct coordinator_connection *connection)
{
    shutdown(connection->control_stream.fd, SHUT_RDWR);
}

static enum hoop_status
connection_begin_handshake(struct coordinator_connection *connection,
                           const struct connection_options *options)
{
    enum hoop_status status = HOOP_OK;

    if (connection->rpc_tls) {
        status =
            rpc_tls_accept(connection->rpc_tls, connection->control_stream.fd,
                           &connection->control_stream.tls);
    } else {
        connection->state = CONNECTION_HELLO;
        sp_writer_set_hello(&connection->writer, sp_hello_reply);
    }
    if (status == HOOP_OK)
        status = loop_watch_create(options->loop, connection->control_stream.fd,
                                   connection_on_ready, connection,
                                   &connection->watch);
    if (status != HOOP_OK)
        return error_pass(status);
    connection_update_watch(connection);
    return HOOP_OK;
}

enum hoop_status
coordinator_connection_create(const struct connection_options *options,
                              int fd,
                              const struct address *peer,
                              struct coordinator_connection **out_connection)
{
    CLEANUP(coordinator_connection_destroy)
    struct coordinator_connection *connection = calloc(1, sizeof(*connection));
    char text[LIMIT_ADDRESS];

    if (!connection) {
        socket_close(fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    connection->listener = options->listener;
    connection->events = options->events;
    connection->rpc_tls = options->rpc_tls;
    connection->control_stream.fd = fd;
    LIST_INIT(&connection->exchanges);
    STAILQ_INIT(&connection->replies);
    budget_account_init(&connection->account, options->budget);
    address_format(peer, text);
    snprintf(connection->peer, sizeof(connection->peer), "%.*s", PEER_TEXT - 1,
             text);

    const enum hoop_status status =
        connection_begin_handshake(connection, options);
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
    control_stream_close(&connection->control_stream);
    sp_reader_deinit(&connection->reader);
    sp_writer_deinit(&connection->writer);
    /* Exchanges have released their charges. */
    budget_release(&connection->account, connection->account.n_bytes);
    free(connection);
}
