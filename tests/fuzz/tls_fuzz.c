/*
 * tests/fuzz/tls_fuzz.c - whoever is in the way of a TLS connection
 *
 * A client and a server that know the same key speak through somebody who holds
 * back, alters, adds and drops what the input says, while they shake hands and
 * afterwards. Whatever he does: no byte is received that was not sent, in its
 * order, and who has noticed something receives nothing more.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "net/tls.h"

enum {
    CLIENT,
    SERVER,
    SIDES,
    STEPS_MAX = 64,
    PIECE = 4096,
    TEXT = 3000,
};

struct side {
    struct tls *tls;
    int fd;  /* the side's */
    int far; /* the other end, in the middle's hands */
    int has_shaken;
    int has_failed;
    size_t n_sent;
    size_t n_received;
};

static struct tls_context *contexts[SIDES];
static struct side sides[SIDES];

/* The byte that each side sends as its at-th. */
static uint8_t
byte_of(int side, size_t at)
{
    return (uint8_t)(at * 7 + (size_t)side * 101 + (at >> 8));
}

static void
side_open(int which)
{
    struct side *side = &sides[which];
    int fds[2];

    memset(side, 0, sizeof(*side));
    fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    side->fd = fds[0];
    side->far = fds[1];
    fuzz_require((which == CLIENT ? tls_create_client(contexts[CLIENT], fds[0],
                                                      "fuzz", &side->tls)
                                  : tls_create_server(contexts[SERVER], fds[0],
                                                      &side->tls)) == HOOP_OK);
}

static void
send_some(int which)
{
    struct side *side = &sides[which];
    uint8_t text[TEXT];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = byte_of(which, side->n_sent + i);
    const struct iovec span = {text, sizeof(text)};
    const ssize_t n = tls_send(side->tls, &span, 1);

    if (n > 0)
        side->n_sent += (size_t)n;
    else
        side->has_failed |= n < 0 && errno != EAGAIN;
}

static void
receive_some(int which)
{
    struct side *side = &sides[which];
    const int other = 1 - which;
    uint8_t text[TEXT];
    const struct iovec room = {text, sizeof(text)};
    const ssize_t n = tls_receive(side->tls, &room, 1);

    if (n <= 0) {
        side->has_failed |= n == 0 || errno != EAGAIN;
        return;
    }
    fuzz_require(side->n_received + (size_t)n <= sides[other].n_sent);
    for (size_t i = 0; i < (size_t)n; i++)
        fuzz_require(text[i] == byte_of(other, side->n_received + i));
    side->n_received += (size_t)n;
}

static void
side_go_on(int which)
{
    struct side *side = &sides[which];

    if (side->has_failed)
        return;
    if (side->has_shaken) {
        send_some(which);
        if (!side->has_failed)
            receive_some(which);
        return;
    }
    const enum hoop_status status = tls_handshake(side->tls);
    side->has_failed = status != HOOP_OK && status != HOOP_E_PENDING;
    side->has_shaken = status == HOOP_OK;
    if (side->has_shaken)
        fuzz_require(tls_allow_read_ahead(side->tls) == HOOP_OK);
    (void)tls_error_text(side->tls);
    (void)tls_first_byte(side->tls);
}

/* From one side to the other: as it is, or not. */
static void
middle_carry(int from, struct input *input)
{
    const uint8_t how = input_byte(input);
    static uint8_t bytes[PIECE];
    const ssize_t n = recv(sides[from].far, bytes,
                           how & 8 ? 1 + (size_t)(how >> 4) : sizeof(bytes), 0);

    if (how & 4) {
        const struct input own = input_part(input, how >> 4);

        (void)!send(sides[1 - from].far, own.bytes, own.n_bytes, MSG_NOSIGNAL);
    }
    if (n <= 0)
        return;
    if (how & 2) {
        const size_t at =
            (size_t)input_byte(input) << 4 | (input_byte(input) & 15);

        bytes[at % (size_t)n] ^= input_byte(input);
    }
    /* Dropped now and then. */
    if ((how & 7) != 7)
        (void)!send(sides[1 - from].far, bytes, (size_t)n, MSG_NOSIGNAL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const uint8_t key[TLS_KEY_BYTES] = "a key that both of them know";
    struct input input = {bytes, n_bytes};

    for (int i = 0; i < SIDES && !contexts[i]; i++)
        fuzz_require(tls_context_create(&(struct tls_options){.key = key},
                                        &contexts[i]) == HOOP_OK);
    for (int i = 0; i < SIDES; i++)
        side_open(i);
    for (unsigned i = 0; i < STEPS_MAX && (i < 6 || input.n_bytes > 0); i++) {
        side_go_on(CLIENT);
        middle_carry(CLIENT, &input);
        side_go_on(SERVER);
        middle_carry(SERVER, &input);
    }
    for (int i = 0; i < SIDES; i++) {
        tls_destroy(sides[i].tls);
        close(sides[i].fd);
        close(sides[i].far);
    }
    return 0;
}
