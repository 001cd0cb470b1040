/*
 * transport/greeting.h - a connection whose handshake is under way
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_GREETING_H
#define TRANSPORT_GREETING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "net/loop.h"
#include "net/tls.h"
#include "transport/handshake.h"
#include "transport/sharing.h"

enum greeting_state {
    DIALING,
    SECURE_DIAL,
    SEND_HELLO,
    AWAIT_CHALLENGE,
    SEND_PROOF,
    AWAIT_WELCOME,
    AWAIT_FIRST,
    SECURE_CALL,
    AWAIT_HELLO,
    SEND_CHALLENGE,
    AWAIT_PROOF,
    SEND_WELCOME,
};

/* Its owner fills the first part, is called back and destroys it. */
struct greeting {
    TAILQ_ENTRY(greeting) link; /* the owner's */
    struct loop *loop;
    int fd;
    struct tls_context *secures; /* borrowed; NULL: it is not encrypted */
    enum greeting_state state;   /* DIALING, or AWAIT_FIRST or AWAIT_HELLO */
    struct address address;      /* of the other side */
    struct handshake handshake;
    struct sharing sharing; /* mode, at first */
    /* Once there is a connection the handshake may last so long, if that is
     * later than LIMIT_GREETING_MS; 0: it is not. */
    uint64_t until_ns;
    void *owner;
    /* Acceptor: what its host or process has run out of, should there be no
     * other descriptor when the peer has proved itself; "": nothing. */
    char shortage[HANDSHAKE_OFFER];
    /* Acceptor: the peer has proved itself. What shall it be told? */
    enum handshake_answer (*on_verified)(void *owner,
                                         struct greeting *greeting);
    /* The handshake is over; greeting->answer says how. */
    void (*on_answered)(void *owner, struct greeting *greeting);
    /* It failed; the text is this thread's last error. */
    void (*on_failed)(void *owner,
                      struct greeting *greeting,
                      enum hoop_status status);

    struct tls *tls; /* made by greeting.c; NULL: plain */
    enum handshake_answer answer;
    enum hoop_status verdict; /* acceptor: on the HELLO ... */
    char why[LIMIT_NAME];     /* ... and its text */
    uint64_t begun_ns;
    struct loop_watch *watch;
    struct loop_timer *timer;
    size_t n_bytes; /* of message, read or written */
    uint8_t message[HANDSHAKE_BYTES];
};

/* content->fd is taken, also on failure. */
enum hoop_status
greeting_create(const struct greeting *content, struct greeting **out_greeting);
/* Its descriptor is ready: read or write what can be. It may be gone then. */
void
greeting_go_on(struct greeting *greeting);
/* Forget until_ns: what is left of the handshake has LIMIT_GREETING_MS. */
void
greeting_shorten(struct greeting *greeting);
/* NULL is fine. */
void
greeting_destroy(struct greeting *greeting);

bool
greeting_is_dialer(const struct greeting *greeting);
/* Acceptor: the other side has said which rank it is, and to whom, and all of
 * that is right; it is on its way to prove it. */
bool
greeting_is_known(const struct greeting *greeting);

/* The proven descriptor, which is the caller's then. */
int
greeting_take_fd(struct greeting *greeting);
/* ... what encrypts it, for reading ahead; NULL: nothing. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
greeting_take_tls(struct greeting *greeting, struct tls **out_tls);
/* ... and the memory that both sides share; NULL: none. */
struct segment *
greeting_take_segment(struct greeting *greeting);

#endif
