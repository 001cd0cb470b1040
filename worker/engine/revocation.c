/*
 * engine/revocation.c - communicators that none of their members may use any more
 *
 * Whoever finds that a communicator must be left says so to all members, who
 * pass it on: what runs on it ends, what is called on it later fails with the
 * same text. So all come to where they decide what to do, also those who wait
 * for somebody who waits elsewhere, and those who have noticed nothing.
 */

#include "base/error.h"
#include "engine/closing.h"
#include "engine/state.h"

static struct frame
verdict_on_all(const struct channel *channel)
{
    return (struct frame){
        .kind = FRAME_VERDICT,
        .epoch = channel->engine->roster->epoch,
        .comm = channel->id,
        .op = VERDICT_ON_ALL,
        .tag = channel->revoked.status,
        .call.root = verdict_pack_rank(channel->revoked.rank),
    };
}

bool
revocation_answer(const struct channel *channel, uint32_t world_rank)
{
    const struct frame verdict = verdict_on_all(channel);
    char told[LIMIT_ERROR_TEXT];

    if (channel->is_revoked)
        transport_tell(channel->engine->transport, world_rank, &verdict,
                       lost_describe_to_others(channel->engine,
                                               channel->revoked.why, told));
    return channel->is_revoked;
}

/* Members that are not connected yet are, for this. */
static void
revocation_tell(const struct channel *channel)
{
    struct engine *engine = channel->engine;
    const struct frame verdict = verdict_on_all(channel);
    char told[LIMIT_ERROR_TEXT];
    const char *text =
        lost_describe_to_others(engine, channel->revoked.why, told);

    for (uint32_t i = 0; i < channel->size; i++) {
        const uint32_t rank = channel->ranks[i];

        if (!engine->lost[rank].is_lost && !engine->lost[rank].has_left)
            transport_tell_soon(engine->transport, rank, &verdict, text);
    }
}

void
channel_revoke_told(struct channel *channel, const struct verdict *verdict)
{
    struct engine *engine = channel->engine;
    struct op *next;

    if (channel->is_revoked || engine->is_leaving)
        return;
    channel->is_revoked = true;
    channel->revoked = *verdict;
    revocation_tell(channel);
    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->channel == channel)
            op_fail_told(op, &channel->revoked);
    }
}

/* Who is lost says more than that somebody did not want to go on. */
void
revocation_carry_out(struct channel *channel, const char *why)
{
    const struct roster *roster = channel->engine->roster;
    struct verdict verdict;
    char name[ROSTER_NAME_MAX];

    if (channel->is_revoked)
        return;
    if (!channel_bereft(channel, &verdict))
        verdict = verdict_of(HOOP_E_ABORTED, roster->rank,
                             "%s has revoked the communicator: %s",
                             roster_name(roster, roster->rank, name), why);
    channel_revoke_told(channel, &verdict);
}

bool
op_refuse_revoked(struct op *op)
{
    const struct channel *channel = op->channel;

    if (!channel->is_revoked)
        return false;
    op_fail_told(op, &channel->revoked);
    return true;
}

/* Whether a member has left in good order; the first. */
static bool
channel_deserted(const struct channel *channel, struct verdict *out_verdict)
{
    const struct engine *engine = channel->engine;
    char name[ROSTER_NAME_MAX];

    for (uint32_t i = 0; engine->n_left > 0 && i < channel->size; i++) {
        const uint32_t rank = channel->ranks[i];

        if (!engine->lost[rank].has_left)
            continue;
        *out_verdict = verdict_of(HOOP_E_PEER_LOST, rank, "%s has left the job",
                                  roster_name(engine->roster, rank, name));
        return true;
    }
    return false;
}

/* Whoever has not heard yet why it failed must not be told less by this. */
static void
forsaken_revoke(struct channel *channel)
{
    struct verdict verdict;

    if (channel_bereft(channel, &verdict) ||
        channel_deserted(channel, &verdict))
        channel_revoke_told(channel, &verdict);
    else if (channel->failed_op > 0)
        channel_revoke_told(channel, &channel->failed);
    else
        revocation_carry_out(channel, "it has failed and is shrunk");
}

/* It has failed where a member is lost, or a call has ended badly. */
uint64_t
forsake_carry_out(struct channel *channel)
{
    struct verdict verdict;

    if (channel->failed_first || channel_bereft(channel, &verdict))
        forsaken_revoke(channel);
    return channel_call_number(channel, channel->failed_first
                                            ? channel->failed_first
                                            : atomic_load(&channel->op_next));
}

void
vigil_end(struct engine *engine, uint32_t rank)
{
    struct channel *channel;

    TAILQ_FOREACH(channel, &engine->watched, watched_link)
    {
        if (channel->is_forsaken && channel_has(channel, rank))
            forsaken_revoke(channel);
    }
}

void
vigil_set(struct channel *channel, enum channel_watch watch)
{
    struct engine *engine = channel->engine;
    const bool is_watched = watch != CHANNEL_NOT_WATCHED;

    channel->is_forsaken = watch == CHANNEL_FORSAKEN;
    if (is_watched == channel->is_watched)
        return;
    channel->is_watched = is_watched;
    if (!is_watched) {
        TAILQ_REMOVE(&engine->watched, channel, watched_link);
        return;
    }
    TAILQ_INSERT_TAIL(&engine->watched, channel, watched_link);
    engine->deadline_ns = 0;
}

void
channel_look_failed(const struct channel *channel, bool *out_has_failed)
{
    for (uint32_t i = 0; i < channel->size; i++) {
        const struct lost_rank *lost =
            &channel->engine->lost[channel->ranks[i]];

        out_has_failed[i] = lost->is_lost || lost->has_left;
    }
}

void
channel_look_lost(const struct channel *channel, bool *out_is_lost)
{
    for (uint32_t i = 0; i < channel->size; i++)
        out_is_lost[i] = channel->engine->lost[channel->ranks[i]].is_lost;
}

/* By any thread, which waits until whoever drives has done it. */

static void
channel_deal(struct closing *closing)
{
    struct engine *engine = closing->channel->engine;

    if (!engine->is_orphan)
        engine_close(engine, closing);
}

uint64_t
channel_forsake(struct channel *channel)
{
    struct closing closing = {.channel = channel, .kind = CLOSING_FORSAKE};

    channel_deal(&closing);
    return closing.unfinished;
}

void
channel_revoke(struct channel *channel, const char *why)
{
    channel_deal(&(struct closing){
        .channel = channel, .kind = CLOSING_REVOKE, .why = why});
}

void
channel_watch(struct channel *channel, enum channel_watch watch)
{
    channel_deal(&(struct closing){
        .channel = channel, .kind = CLOSING_WATCH, .watch = watch});
}

void
channel_decline(struct channel *channel,
                enum hoop_status status,
                const char *why)
{
    channel_deal(&(struct closing){.channel = channel,
                                   .kind = CLOSING_DECLINE,
                                   .status = status,
                                   .why = why});
}

void
channel_failed(struct channel *channel, bool *out_has_failed)
{
    channel_deal(&(struct closing){
        .channel = channel, .kind = CLOSING_LOOK, .failed = out_has_failed});
}

void
channel_lost(struct channel *channel, bool *out_is_lost)
{
    channel_deal(&(struct closing){
        .channel = channel, .kind = CLOSING_LOOK_LOST, .failed = out_is_lost});
}
