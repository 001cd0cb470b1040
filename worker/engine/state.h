/* engine/state.h - the engine's and a channel's own state; private to engine/ */

#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "engine/engine.h"
#include "engine/op.h"

TAILQ_HEAD(op_list, op);
TAILQ_HEAD(waiter_list, waiter);
TAILQ_HEAD(channel_list, channel);

/* What the control thread has to say to the driver. */
enum letter_kind {
    LETTER_CONNECTED,
    LETTER_UNREACHABLE,
    LETTER_CONDEMNED,
    LETTER_NEEDED,
    LETTER_SWEEP, /* what is kept for communicators that will not come */
};

struct letter {
    TAILQ_ENTRY(letter) link;
    enum letter_kind kind;
    uint32_t rank;
    int fd;
    char why[LIMIT_NAME];
};

TAILQ_HEAD(letter_list, letter);

/* A verdict on an operation that has not begun here. */
struct foretold {
    TAILQ_ENTRY(foretold) link;
    uint64_t op;
    enum hoop_status status;
    char text[];
};

TAILQ_HEAD(foretold_list, foretold);

struct channel {
    TAILQ_ENTRY(channel) link;
    struct engine *engine;
    uint64_t id;
    uint32_t rank;
    uint32_t size;
    uint32_t *ranks;
    _Atomic uint32_t timeout_ms;
    _Atomic uint64_t op_next; /* number of the next collective */
    uint64_t message_next;    /* number of the next message sent */
    /* The driver's, as is all below. */
    uint64_t begin_next; /* number of the next collective to begin */
    /* A verdict is passed on once: see verdict_on_op(). */
    struct foretold_list foretold;
    unsigned n_foretold;
    uint64_t verdict_op; /* the newest of those the history has lost */
    bool is_told; /* a verdict on what had returned waits for the next call */
    enum hoop_status verdict_status;
    char verdict_text[LIMIT_ERROR_TEXT];
    /* Signatures of the last operations: does a late frame belong to one? */
    struct {
        uint64_t op;
        uint64_t signatures[STAGES_MAX];
        struct frame_call call;
        bool has_failed;
    } history[16];
};

/* A channel that its owner waits to have closed; memory of the waiting. */
struct closing {
    TAILQ_ENTRY(closing) link;
    struct channel *channel;
    struct waiter waiter;
    bool is_done;
};

TAILQ_HEAD(closing_list, closing);

struct lost_rank {
    bool is_lost;
    bool has_left;
    char why[LIMIT_NAME];
};

struct engine {
    struct engine_options options;
    const struct roster *roster;
    struct transport *transport;
    bool is_orphan;   /* in a forked child: nothing else may be touched */
    uint64_t spin_ns; /* 0: more ranks than processors, never spin */

    /* Under the gate. */
    pthread_mutex_t gate;
    bool is_driven;
    struct waiter_list waiters;
    struct op_list mailbox;
    struct letter_list letters;
    struct op_list spares;
    unsigned n_spares;
    struct channel_list channels;
    struct closing_list closings;
    unsigned n_expected;                /* channels that are being formed */
    uint64_t gone[LIMIT_CHANNELS_GONE]; /* ids of the last that were closed */
    size_t n_gone;

    atomic_bool has_mail;
    atomic_bool is_sleeping;
    atomic_bool has_strays; /* something is kept for a channel to come */
    _Atomic uint64_t n_ended;

    /* The driver's. */
    struct op_list running;
    struct op_list dirty;
    struct op_list ended;   /* their waiters do not know yet */
    uint64_t deadline_ns;   /* not later than the earliest of the running */
    struct lost_rank *lost; /* [world rank] */
    uint32_t n_left;        /* of them, in good order */
    bool is_leaving;
};

/* mail.c */

/* Put into the box; the driver, or the next one, opens it. */
void
engine_letter(struct engine *engine, const struct letter *content);
/* By the driver: do what was handed in. Returns whether there was any. */
bool
engine_take_mail(struct engine *engine);

/* A verdict on a rank; others are on an operation of a communicator. */
static const uint64_t VERDICT_ON_RANK = 0;

/* channel.c */

/* By the driver: end what runs on channel, and forget all of it. */
void
channel_end(struct channel *channel);
/* Nothing runs on it. */
void
channel_destroy(struct channel *channel);
/* Whether what comes for communicator id is of use: it is open, or may be one
 * that is just being formed. owner is the engine. */
bool
engine_keeps(void *owner, uint64_t id);
/* Forget what came for communicators that are not kept. */
void
engine_sweep(struct engine *engine);

/* events.c */

extern const struct transport_events engine_events;

/* verdict.c, by the driver. */

/* rank is dead or gone: every operation that needs it ends. */
void
engine_lose(struct engine *engine, uint32_t rank, const char *why);
/* Why op cannot end any more, or NULL: a member is lost, or one that is still
 * needed has left. */
const char *
op_broken(const struct op *op, char text[LIMIT_ERROR_TEXT]);
void
channel_remember(struct channel *channel, const struct op *op);
/* Only the part about members that left. */
const char *
op_stranded(const struct op *op, char text[LIMIT_ERROR_TEXT]);
/* Tell every peer of an operation's failure. */
void
verdict_tell(struct engine *engine,
             const struct channel *channel,
             uint64_t number,
             enum hoop_status status,
             const char *text);
/* The verdict on operation number that came before it began, which is the
 * caller's to free; NULL: none. */
struct foretold *
verdict_take(struct channel *channel, uint64_t number);
/* What returned here was wrong elsewhere: the call under way learns it, or
 * else the next. */
void
verdict_tell_next(struct channel *channel,
                  enum hoop_status status,
                  const char *text);
/* A peer's verdict on a message this rank sent, or on a collective. */
void
verdict_on_message(struct engine *engine,
                   struct channel *channel,
                   const struct frame *frame,
                   const char *text);
void
verdict_on_op(struct engine *engine,
              struct channel *channel,
              const struct frame *frame,
              const char *text);

/* deadline.c, by the driver. */

/* peer asks after operation number of channel, or has called it, too. */
void
engine_asked(struct channel *channel, uint32_t peer, uint64_t number);
void
engine_answered(struct channel *channel, uint32_t peer, uint64_t number);
/* End what has taken too long; sets the next deadline. */
void
engine_check_deadlines(struct engine *engine, uint64_t now_ns);
struct channel *
engine_channel(struct engine *engine, uint64_t id);

/* drive.c */

/* Take mail, move data, complete operations. Returns whether anything moved. */
bool
engine_turn(struct engine *engine, int timeout_ms);
/* Complete what the data that have come permit. */
bool
engine_advance(struct engine *engine);
/* Let the waiters of what has ended go, and free it: when nothing the driver
 * does still speaks of it. */
void
engine_publish(struct engine *engine);
/* Take the drive right; false: another thread has it. */
bool
engine_seize(struct engine *engine);
/* ... or wait for it; false: not before the deadline. */
bool
engine_seize_until(struct engine *engine, uint64_t deadline_ns);
/* Give it up and name a successor. */
void
engine_release(struct engine *engine);
/* The driver must look at the mailbox. */
void
engine_post(struct engine *engine);
/* Have closing->channel ended by whoever drives, and wait for that. */
void
engine_close(struct engine *engine, struct closing *closing);
void
op_begin(struct op *op);

#endif
