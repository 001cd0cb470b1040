/*
 * transport/handshaker.h - a connection whose handshake is under way
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_HANDSHAKER_H
#define TRANSPORT_HANDSHAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "net/loop.h"
#include "net/tls.h"
#include "transport/handshake.h"
#include "transport/shm_negotiation.h"

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

/* Its owner fills the first part, is called back and destroys it. */
struct handshaker {
    TAILQ_ENTRY(handshaker) link; /* the owner's */
    struct loop *loop;
    int fd;
    struct tls_context *tls_context; /* borrowed; NULL: it is not encrypted */
    enum handshaker_state
        state; /* HANDSHAKER_DIALING, or HANDSHAKER_AWAIT_FIRST or HANDSHAKER_AWAIT_HELLO */
    struct address address; /* of the other side */
    struct handshake handshake;
    struct shm_negotiation shm_negotiation; /* mode, at first */
    /* Once there is a connection the handshake may last so long, if that is
     * later than LIMIT_HANDSHAKE_MS; 0: it is not. */
    uint64_t until_ns;
    void *owner;
    /* Acceptor: what its host or process has run out of, should there be no
     * other descriptor when the peer has proved itself; "": nothing. */
    char shortage[HANDSHAKE_OFFER];
    /* Acceptor: the peer has proved itself. What shall it be told? */
    enum handshake_answer (*on_verified)(void *owner,
                                         struct handshaker *handshaker);
    /* The handshake is over; handshaker->answer says how. */
    void (*on_answered)(void *owner, struct handshaker *handshaker);
    /* It failed; the text is this thread's last error. */
    void (*on_failed)(void *owner,
                      struct handshaker *handshaker,
                      enum hoop_status status);

    struct tls *tls; /* made by handshaker.c; NULL: plain */
    enum handshake_answer answer;
    enum hoop_status hello_status; /* acceptor: on the HELLO ... */
    char why[LIMIT_NAME];          /* ... and its text */
    uint64_t begun_ns;
    struct loop_watch *watch;
    struct loop_timer *timer;
    size_t n_bytes; /* of message, read or written */
    uint8_t message[HANDSHAKE_BYTES];
};

/* content->fd is taken, also on failure. */
enum hoop_status
handshaker_create(const struct handshaker *content,
                  struct handshaker **out_handshaker);
/* Its descriptor is ready: read or write what can be. It may be gone then. */
void
handshaker_progress(struct handshaker *handshaker);
/* Forget until_ns: what is left of the handshake has LIMIT_HANDSHAKE_MS. */
void
handshaker_shorten_timeout(struct handshaker *handshaker);
/* NULL is fine. */
void
handshaker_destroy(struct handshaker *handshaker);

bool
handshaker_is_dialer(const struct handshaker *handshaker);
/* Acceptor: the other side has said which rank it is, and to whom, and all of
 * that is right; it is on its way to prove it. */
bool
handshaker_is_identified(const struct handshaker *handshaker);

/* The proven descriptor, which is the caller's then. */
int
handshaker_take_fd(struct handshaker *handshaker);
/* ... what encrypts it, for reading ahead; NULL: nothing. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
handshaker_take_tls(struct handshaker *handshaker, struct tls **out_tls);
/* ... and the memory that both sides share; NULL: none. */
struct segment *
handshaker_take_segment(struct handshaker *handshaker);

#endif
