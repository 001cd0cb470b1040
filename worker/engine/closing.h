/*
 * engine/closing.h - what its owner has done with a channel by whoever drives
 *
 * When all that was handed in before has begun: engine/mail.c. Private to
 * engine/.
 */

#ifndef ENGINE_CLOSING_H
#define ENGINE_CLOSING_H

#include "engine/state.h"

/* As the number of an operation that a verdict is on: all of the communicator. */
static const uint64_t VERDICT_ON_ALL = 0;

enum closing_kind {
    CLOSING_END,
    CLOSING_REVOKE,
    CLOSING_FORSAKE, /* revoke it if it has failed */
    CLOSING_WATCH,
    CLOSING_LOOK, /* at who has failed */
    CLOSING_LOOK_LOST,
    CLOSING_DECLINE, /* tell that this rank cannot call what comes next */
    CLOSING_GIVE_UP, /* this rank, whatever the channel */
};

/* A channel that its owner waits to have closed, or dealt with in the other
 * ways; memory of the waiting. */
struct closing {
    TAILQ_ENTRY(closing) link;
    struct channel *channel; /* GIVE_UP: NULL */
    enum closing_kind kind;
    const char *why;         /* REVOKE, DECLINE, GIVE_UP */
    bool is_news;            /* GIVE_UP: it was not lost, and is not leaving */
    enum hoop_status status; /* DECLINE */
    uint64_t unfinished;     /* FORSAKE: the first call that did not end well */
    enum channel_watch watch; /* WATCH */
    bool *failed;             /* LOOK, LOOK_LOST: [rank], to be filled */
    struct waiter waiter;
    bool is_done;
};

/* verdict.c, by the driver: the next collective fails on all members. */
void
decline_carry_out(struct channel *channel,
                  enum hoop_status status,
                  const char *why);

/* suspect.c, by the driver: this rank gives up. Returns whether that is news. */
bool
give_up_carry_out(struct engine *engine, const char *why);

/* revocation.c, by the driver. */

/* A member, or this rank, has revoked channel. Once. */
void
channel_revoke_told(struct channel *channel, const struct verdict *verdict);
/* A member asks: had it not opened channel when it was told? Whether channel is
 * revoked; then it is told once more. */
bool
revocation_answer(const struct channel *channel, uint32_t world_rank);
/* This rank revokes it. */
void
revocation_carry_out(struct channel *channel, const char *why);
uint64_t
forsake_carry_out(struct channel *channel);
/* A member of it has been lost. */
void
vigil_end(struct engine *engine, uint32_t rank);
void
vigil_set(struct channel *channel, enum channel_watch watch);
/* ... before op began. */
bool
op_refuse_revoked(struct op *op);
void
channel_look_failed(const struct channel *channel, bool *out_has_failed);
void
channel_look_lost(const struct channel *channel, bool *out_is_lost);

#endif
