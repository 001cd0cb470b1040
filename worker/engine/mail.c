/*
 * engine/mail.c - what is handed in to whoever drives
 *
 * The control thread's connections and notices, operations, and channels to be
 * closed, revoked or looked at: when all that was handed in before has begun. A
 * question of the coordinator replaces the one before. Only a connection takes
 * memory: whatever ends a wait must not be lost where there is none.
 */

#include <stdlib.h>

#include "engine/closing.h"
#include "engine/patience.h"
#include "engine/reason.h"
#include "engine/state.h"
#include "net/socket.h"
#include "net/tls.h"
#include "transport/segment.h"

void
letter_refuse(const struct letter *letter)
{
    tls_destroy(letter->tls);
    socket_close(letter->fd);
    segment_destroy(letter->segment);
}

/* The gate is shut, and open on return: something was handed in. */
static void
mail_tell(struct engine *engine)
{
    atomic_store(&engine->has_mail, true);
    const bool is_driven = engine->is_driven;
    pthread_mutex_unlock(&engine->gate);
    if (is_driven)
        engine_post(engine);
    else
        engine->options.on_abandoned(engine->options.owner);
}

void
engine_letter(struct engine *engine, const struct letter *content)
{
    struct letter *letter = malloc(sizeof(*letter));

    if (!letter) {
        letter_refuse(content);
        /* The other end sees each of them close; of the first, nobody here
         * would ask again. */
        if (content->stream == 0)
            engine_unreachable(engine, content->rank,
                               "no memory for its connection");
        return;
    }
    *letter = *content;
    pthread_mutex_lock(&engine->gate);
    TAILQ_INSERT_TAIL(&engine->letters, letter, link);
    mail_tell(engine);
}

void
engine_notify(struct engine *engine, const struct notice *content)
{
    struct notice *notice = &engine->notices[content->rank];

    pthread_mutex_lock(&engine->gate);
    if (notice->kinds == 0)
        TAILQ_INSERT_TAIL(&engine->noticed, notice, link);
    if (content->kinds > notice->kinds)
        reason_write(content->why, "", notice->why);
    if (content->kinds == NOTICE_CONDEMNED && !(notice->kinds & content->kinds))
        notice->evidence = content->evidence;
    if (content->kinds == NOTICE_SHORTAGE) {
        notice->of = content->of;
        notice->status = content->status;
    }
    notice->rank = content->rank;
    notice->kinds |= content->kinds;
    mail_tell(engine);
}

void
engine_sweep_later(struct engine *engine)
{
    pthread_mutex_lock(&engine->gate);
    engine->must_sweep = true;
    mail_tell(engine);
}

void
engine_ask(struct engine *engine, uint64_t question)
{
    pthread_mutex_lock(&engine->gate);
    engine->asked = question;
    atomic_store(&engine->is_asked, true);
    mail_tell(engine);
}

void
engine_query_activity(struct engine *engine, uint64_t query)
{
    pthread_mutex_lock(&engine->gate);
    engine->activity_query = query;
    mail_tell(engine);
}

bool
engine_is_asked(const struct engine *engine)
{
    return atomic_load(&engine->is_asked);
}

/* One of them. */
struct mail {
    uint64_t question;       /* the last; 0: none */
    uint64_t activity_query; /* likewise */
    struct letter *letter;
    struct notice *notice; /* in no list, and still to be read */
    struct op *op;
    struct closing *closing;
    bool has_cancelled;
    bool must_sweep;
};

/* A channel is closed when all that was handed in before has begun. */
static struct mail
mail_take(struct engine *engine)
{
    struct mail mail = {0};

    pthread_mutex_lock(&engine->gate);
    mail.has_cancelled = engine->has_cancelled;
    engine->has_cancelled = false;
    /* Connections first: who has come meanwhile is not unreachable, and is asked
     * whom it hears. */
    if ((mail.letter = TAILQ_FIRST(&engine->letters)))
        TAILQ_REMOVE(&engine->letters, mail.letter, link);
    else if ((mail.notice = TAILQ_FIRST(&engine->noticed)))
        TAILQ_REMOVE(&engine->noticed, mail.notice, link);
    else if ((mail.question = engine->asked) != 0)
        engine->asked = 0;
    else if ((mail.activity_query = engine->activity_query) != 0)
        engine->activity_query = 0;
    else if ((mail.op = TAILQ_FIRST(&engine->mailbox)))
        TAILQ_REMOVE(&engine->mailbox, mail.op, link);
    else if ((mail.closing = TAILQ_FIRST(&engine->closings)))
        TAILQ_REMOVE(&engine->closings, mail.closing, link);
    else if ((mail.must_sweep = engine->must_sweep))
        engine->must_sweep = false;
    else
        atomic_store(&engine->has_mail, false);
    pthread_mutex_unlock(&engine->gate);
    return mail;
}

static void
letter_open(struct engine *engine, const struct letter *letter)
{
    switch (letter->kind) {
    case LETTER_CONNECTED:
        transport_shared(engine->transport, letter->rank, letter->fd,
                         letter->segment);
        return;
    case LETTER_STREAM:
        transport_stream(engine->transport, letter->rank, letter->stream,
                         letter->fd);
        return;
    case LETTER_ENCRYPTED:
        transport_encrypted(engine->transport, letter->rank, letter->stream,
                            letter->fd, letter->tls);
        return;
    }
}

/* The gravest first: what it ends the others find ended. */
static void
notice_open(struct engine *engine, struct notice *unread)
{
    pthread_mutex_lock(&engine->gate);
    const struct notice notice = *unread;
    unread->kinds = 0;
    pthread_mutex_unlock(&engine->gate);

    if (notice.kinds & NOTICE_CONDEMNED)
        engine_lose(engine, notice.rank, notice.evidence, notice.why);
    if (notice.kinds & NOTICE_UNREACHABLE)
        transport_unreachable(engine->transport, notice.rank, notice.why);
    if (notice.kinds & NOTICE_SHORTAGE)
        shortage_take(engine, &notice);
    if (notice.kinds & NOTICE_UNDECIDED)
        suspect_undecided(engine, notice.rank);
}

static void
closing_act(struct engine *engine, struct closing *closing)
{
    struct channel *channel = closing->channel;

    switch (closing->kind) {
    case CLOSING_END:
        channel_end(channel);
        return;
    case CLOSING_REVOKE:
        revocation_carry_out(channel, closing->why);
        return;
    case CLOSING_FORSAKE:
        closing->unfinished = forsake_carry_out(channel);
        return;
    case CLOSING_WATCH:
        vigil_set(channel, closing->watch);
        return;
    case CLOSING_LOOK:
        channel_look_failed(channel, closing->failed);
        return;
    case CLOSING_LOOK_LOST:
        channel_look_lost(channel, closing->failed);
        return;
    case CLOSING_DECLINE:
        decline_carry_out(channel, closing->status, closing->why);
        return;
    case CLOSING_GIVE_UP:
        closing->is_news = give_up_carry_out(engine, closing->why);
        return;
    }
}

static void
closing_do(struct engine *engine, struct closing *closing)
{
    closing_act(engine, closing);
    /* The operations that were ended are their waiters' business. */
    engine_publish(engine);
    pthread_mutex_lock(&engine->gate);
    closing->is_done = true;
    pthread_cond_signal(&closing->waiter.cond);
    pthread_mutex_unlock(&engine->gate);
}

bool
engine_take_mail(struct engine *engine)
{
    bool has_moved = false;

    while (atomic_load(&engine->has_mail)) {
        const struct mail mail = mail_take(engine);

        if (mail.has_cancelled)
            engine_end_cancelled(engine);
        if (mail.must_sweep)
            engine_sweep(engine);
        if (mail.question)
            views_begin(engine, mail.question);
        if (mail.activity_query)
            activity_tell(engine, mail.activity_query);
        if (mail.letter)
            letter_open(engine, mail.letter);
        if (mail.notice)
            notice_open(engine, mail.notice);
        if (mail.op)
            op_begin(mail.op);
        if (mail.closing)
            closing_do(engine, mail.closing);
        free(mail.letter);
        has_moved = true;
    }
    return has_moved;
}
