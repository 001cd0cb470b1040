/*
 * transport/connect/handshaker.h - a connection whose handshake is under way
 *
 * Thread: the control loop.
 */

#ifndef TRANSPORT_CONNECT_HANDSHAKER_H
#define TRANSPORT_CONNECT_HANDSHAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "net/loop.h"
#include "net/tls.h"
#include "transport/connect/handshake.h"
#include "transport/shm/negotiation.h"

enum handshaker_state {
    HANDSHAKER_DIALING,
    HANDSHAKER_CLIENT_TLS,
    HANDSHAKER_SEND_HELLO,
    HANDSHAKER_AWAIT_CHALLENGE,
    HANDSHAKER_SEND_PROOF,
    HANDSHAKER_AWAIT_WELCOME,
    HANDSHAKER_AWAIT_FIRST,
    HANDSHAKER_SERVER_TLS,
    HANDSHAKER_AWAIT_HELLO,
    HANDSHAKER_SEND_CHALLENGE,
    HANDSHAKER_AWAIT_PROOF,
    HANDSHAKER_SEND_WELCOME,
};

/* The owner fills the first part, is called back, and destroys the
 * handshaker. */
struct handshaker {
    TAILQ_ENTRY(handshaker) link; /* for the owner */
    struct loop *loop;
    int fd;
    /* Borrowed; NULL: the connection is not encrypted. */
    struct tls_context *tls_context;
    /* At first HANDSHAKER_DIALING, HANDSHAKER_AWAIT_FIRST or
     * HANDSHAKER_AWAIT_HELLO. */
    enum handshaker_state state;
    struct address address; /* of the other side */
    struct handshake handshake;
    struct shm_negotiation shm_negotiation; /* at first only mode is set */
    /* Once the connection is made, the handshake may last until then, if that
     * is later than LIMIT_HANDSHAKE_MS permits; 0: it is not. */
    uint64_t until_ns;
    void *owner;
    /* Acceptor: what its host or process has run out of, to be told to the
     * peer if there still is no other descriptor when the peer is verified; ""
     * if nothing. */
    char shortage[HANDSHAKE_OFFER_BYTES];
    /* Acceptor: the peer is verified. Returns what to answer. */
    enum handshake_answer (*on_handshake_peer_verified)(
        void *owner,
        struct handshaker *handshaker);
    /* The handshake has ended; handshaker->answer says how. */
    void (*on_handshake_answered)(void *owner, struct handshaker *handshaker);
    /* The handshake has failed; the text is this thread's last error. */
    void (*on_failed)(void *owner,
                      struct handshaker *handshaker,
                      enum hoop_status status);

    struct tls *tls; /* NULL: plain */
    enum handshake_answer answer;
    enum hoop_status hello_status; /* acceptor: result of checking the HELLO */
    char why[LIMIT_NAME]; /* the error text that belongs to hello_status */
    uint64_t begun_ns;
    struct loop_watch *watch;
    struct loop_timer *timer;
    size_t n_bytes; /* how much of message is read or written */
    uint8_t message[HANDSHAKE_MESSAGE_BYTES];
};

/* Begin a handshake on content->fd, which is taken over, also on failure. */
enum hoop_status
handshaker_create(const struct handshaker *content,
                  struct handshaker **out_handshaker);
/* Read or write what is possible, because the descriptor is ready. The
 * handshaker may be destroyed by a callback. */
void
handshaker_progress(struct handshaker *handshaker);
/* Forget until_ns: the rest of the handshake has LIMIT_HANDSHAKE_MS. */
void
handshaker_shorten_timeout(struct handshaker *handshaker);
/* Free handshaker, which may be NULL. */
void
handshaker_destroy(struct handshaker *handshaker);

bool
handshaker_is_dialer(const struct handshaker *handshaker);
/* Acceptor: returns whether the other side has said which rank it is and whom
 * it calls, both are right, and it has yet to prove it. */
bool
handshaker_is_identified(const struct handshaker *handshaker);

/* After the handshake: the caller takes over the descriptor. */
int
handshaker_take_fd(struct handshaker *handshaker);
/* The caller takes over what encrypts the descriptor, with read-ahead allowed;
 * NULL if it is plain. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
handshaker_take_tls(struct handshaker *handshaker, struct tls **out_tls);
/* The caller takes over the memory that both sides share; NULL if none. */
struct segment *
handshaker_take_segment(struct handshaker *handshaker);

#endif
