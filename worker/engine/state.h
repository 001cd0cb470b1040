/* engine/state.h - the engine's and a channel's own state; private to engine/ */

#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/process.h"
#include "engine/endurance.h"
#include "engine/engine.h"
#include "engine/op.h"
#include "engine/past.h"
#include "engine/perch.h"
#include "engine/reason.h"
#include "net/path.h"

struct shm_region_header;

TAILQ_HEAD(op_list, op);
TAILQ_HEAD(waiter_list, waiter);
TAILQ_HEAD(channel_list, channel);
TAILQ_HEAD(residue_list, residue);

/* A connection that the control thread hands to the driver. */
enum letter_kind {
    LETTER_CONNECTED,
    LETTER_STREAM,
    LETTER_ENCRYPTED,
};

struct letter {
    TAILQ_ENTRY(letter) link;
    enum letter_kind kind;
    uint32_t rank;
    int fd;
    unsigned stream;
    struct segment *segment;
    struct tls *tls;
};

TAILQ_HEAD(letter_list, letter);

/* What the control thread may tell the driver of a rank: bits, of which a higher
 * one is the graver. */
enum notice_kind {
    NOTICE_UNDECIDED = 1, /* the coordinator will not decide about it */
    NOTICE_SHORTAGE = 2,
    NOTICE_UNREACHABLE = 4,
    NOTICE_CONDEMNED = 8,
};

/* All that the driver has not been told yet of one rank. Each rank has its own from
 * the beginning: a notice that found no memory would leave calls waiting. */
struct notice {
    TAILQ_ENTRY(notice) link;
    unsigned
        kinds; /* enum notice_kind; 0: none, else the driver will read it */
    uint32_t rank;
    enum evidence evidence;  /* NOTICE_CONDEMNED */
    uint32_t of;             /* NOTICE_SHORTAGE: who lacks something ... */
    enum hoop_status status; /* ... and what operations end with */
    char why[REASON_BYTES];  /* of the gravest kind */
};

TAILQ_HEAD(notice_list, notice);

/* Once for what others have sent, once for what they then say of it. */
enum {
    UNHEARD_LOOKS = 2
};

/* A verdict on an operation that has not begun here. */
struct early_verdict {
    TAILQ_ENTRY(early_verdict) link;
    uint64_t op;
    struct verdict verdict;
};

TAILQ_HEAD(early_verdict_list, early_verdict);

/* What a rank that left had called, and this one has not yet. */
struct farewell {
    TAILQ_ENTRY(farewell) link;
    uint32_t peer;
    struct frame frame; /* its last answer: engine/inquiry.c */
};

TAILQ_HEAD(farewell_list, farewell);
TAILQ_HEAD(failed_send_list, failed_send);

/* The last used first. */
struct residues {
    struct residue_list list;
    size_t n;
    size_t n_bytes;
};

struct channel {
    TAILQ_ENTRY(channel) link;
    struct engine *engine;
    uint64_t id;
    uint32_t rank;
    uint32_t size;
    uint32_t *ranks;
    pthread_mutex_t name_lock;
    char name[LIMIT_NAME]; /* as the program calls it; "": it does not */
    _Atomic uint32_t timeout_ms;
    const char
        *_Atomic purpose;       /* channel_set_purpose(); NULL: the program's */
    _Atomic uint64_t op_next;   /* number of the next collective */
    _Atomic uint64_t n_forming; /* of them, those by which it was formed */
    uint64_t *message_next; /* [size]: number of the next message sent there */
    struct residues residues; /* under the gate, as are the numbers above */
    /* The driver's, as is all below. */
    uint64_t begin_next; /* number of the next collective to begin */
    /* Sockets may hold what others have sent for another call than the last:
     * looks at all of them after which they do not, and flat ones' looks. */
    unsigned n_unheard, n_unheard_flat;
    struct shm_region *shm_region; /* NULL: there is none */
    uint64_t forgone;     /* up to which operation failures were told there */
    struct op_list flats; /* begun, and to be done one after another */
    TAILQ_ENTRY(channel) assembled_link; /* while there are any */
    struct op *quick;    /* of shortcut.c; NULL: without a shared region */
    bool is_quick_plain; /* what it called last had no counts */
    unsigned n_turnless; /* shortcuts' rounds since sockets were looked at */
    /* A verdict is passed on once: see verdict_on_past(). */
    struct early_verdict_list early_verdicts;
    unsigned n_early_verdicts;
    struct farewell_list farewells;
    unsigned n_farewells;
    struct failed_send_list failed_sends;
    unsigned n_failed_sends;
    struct past past;
    /* The last verdict on what is past, for those who ask. */
    uint64_t failed_op;
    struct verdict failed;
    uint64_t failed_first; /* number of the first that ended badly here, or 0 */
    /* By one of its members: revocation.c. */
    bool is_revoked;
    struct verdict revoked;
    bool is_forsaken; /* revoke it when a member is lost */
    bool is_watched;  /* somebody waits for its members, without an operation */
    TAILQ_ENTRY(channel) watched_link; /* then */
    /* One on what had returned here: the next call to end tells it. */
    bool is_owed;
    struct verdict owed;
};

TAILQ_HEAD(closing_list, closing);

/* A send to this rank that failed where it was called, and was told by others:
 * the receive that it was for fails, too. */
struct failed_send {
    TAILQ_ENTRY(failed_send) link;
    uint64_t n;      /* of them, all alike */
    uint32_t source; /* a world rank */
    uint64_t tag;
    struct verdict verdict;
};

struct lost_rank {
    bool is_lost;
    bool has_given_up; /* it has said so itself; then it is lost, too */
    bool has_left;
    bool is_suspect;    /* it is lost unless others know better in time */
    bool is_complained; /* ... and those who decide know */
    enum evidence evidence;
    uint64_t suspected_ns;
    uint64_t n_heard; /* of it, until then */
    uint64_t rule_ns; /* when the rule for ranks alone begins to hold */
    uint64_t look_ns; /* when it is looked after again */
    /* Not lost, but there is no connection, for want of what `why` says, by
     * short_of; HOOP_OK: nothing is known to be wanting. */
    enum hoop_status short_status;
    uint32_t short_of;
    struct failed_window *failed; /* its failed sends; NULL: none are known */
    uint64_t failed_told;         /* number of the last that it told itself */
    char why[REASON_BYTES];
};

/* Signs of life of a rank. */
struct pulse {
    uint64_t n_looks; /* the last one that was for it */
    uint64_t n_heard;
    uint64_t silent_ns;
    uint64_t ended_ns;   /* since when its process is seen to have; 0: is not */
    atomic_bool is_seen; /* its process can be: it has that number here */
    struct process_share share; /* when half the time had passed */
    unsigned n_reprieves;
    struct probe probe; /* of its listener, when half the time had passed */
    bool is_weighed;    /* share is known, and probe has begun */
    bool is_asked;
    uint32_t round_trip_ms; /* just before it was asked */
};

/* Whom this rank hears, while that is asked. */
struct views {
    uint64_t question; /* 0: it is not */
    uint64_t asked_ns;
    uint64_t *n_heard; /* [world rank]: when it was asked; NULL: never yet */
    uint8_t *seen;     /* [world rank] */
};

struct engine {
    struct engine_options options;
    const struct roster *roster;
    struct transport *transport;
    struct faults *faults; /* NULL: none */
    bool is_orphan;        /* in a forked child: nothing else may be touched */
    int headcount_fd;      /* this rank, as other jobs see it */
    /* How to wait beside the ranks that are on this host: unless it spins, they
     * are more than there are processors. */
    _Atomic enum endurance_rule crowd_rule;

    /* Under the gate. */
    pthread_mutex_t gate;
    bool is_driven;
    struct waiter_list waiters;
    struct op_list mailbox;
    struct letter_list letters;
    struct notice *notices; /* [world rank] */
    struct notice_list noticed;
    struct op_list spares;
    unsigned n_spares;
    struct channel_list channels;
    struct closing_list closings;
    uint64_t asked;          /* a question that is to be looked at */
    uint64_t activity_query; /* likewise */
    bool has_cancelled;      /* operations, since the last look */
    bool must_sweep;         /* what came for communicators that are not kept */
    unsigned n_expected;     /* channels that are being formed */
    uint64_t n_failed_told;  /* failed sends, to others: the driver's */
    uint64_t gone[LIMIT_CHANNELS_GONE]; /* ids of the last that were closed */
    size_t n_gone;

    /* The operation that ended last, for the next of its kind: whoever calls
     * the same again does not need the gate for it. */
    _Atomic(struct op *) kept;

    struct cma_cookie cma_cookie; /* others find it before they read */
    _Atomic int *bells; /* [world rank]: those that were reached, or -1 */

    atomic_bool has_mail;
    atomic_bool is_asked;    /* a question is, or views.question is open */
    atomic_bool is_expelled; /* lost[own rank].why is there, and stays */
    atomic_bool is_sleeping;
    atomic_bool has_strays; /* something is kept for a channel to come */
    _Atomic uint64_t n_ended;

    /* The driver's. */
    struct perch perch;
    struct op *own; /* what it waits for itself; NULL: it has ended, or none */
    struct op_list running;
    struct op_list dirty;
    struct op_list ended; /* their waiters do not know yet */
    uint64_t deadline_ns; /* not later than the earliest of the running */
    struct channel_list assembled;
    struct channel_list watched;
    struct lost_rank *lost; /* [world rank] */
    uint32_t n_lost;
    uint32_t n_suspects;
    struct views views;
    struct pulse *pulses; /* [world rank] */
    uint64_t n_looks;     /* for pulses, and when the last was */
    uint64_t looked_ns;
    uint32_t n_left;     /* of them, in good order */
    uint64_t warned_ns;  /* when it was last said that somebody is late */
    unsigned n_unwarned; /* operations of which it was not said since */
    bool is_leaving;
    bool has_rest;   /* of what was sent at once, and has ended */
    bool must_flush; /* before the end of an operation is published */
    bool may_look;   /* at the sockets that nothing waits for, before an end */
};

/* By the driver: one more operation has ended well. There is one writer: no
 * locked instruction is needed. */
static inline void
engine_count(struct engine *engine)
{
    const uint64_t n =
        atomic_load_explicit(&engine->n_ended, memory_order_relaxed);

    atomic_store_explicit(&engine->n_ended, n + 1, memory_order_relaxed);
}

/* mail.c */

/* Hand the connection in content, which is taken, to the driver or the next one.
 * Without memory for that it is closed, and its rank unreachable. */
void
engine_letter(struct engine *engine, const struct letter *content);
/* Close the connection in letter: nobody takes it. */
void
letter_refuse(const struct letter *letter);
/* Tell the driver, or the next one, what content says of content->rank; of two
 * reasons that it has not read yet it is given the graver, or the first. Needs no
 * memory. */
void
engine_notify(struct engine *engine, const struct notice *content);
/* Have the driver call engine_sweep(). Needs no memory. */
void
engine_sweep_later(struct engine *engine);
/* By the driver: do what was handed in. Returns whether there was any. */
bool
engine_take_mail(struct engine *engine);

/* A verdict on a rank; others are on an operation of a communicator. */
static const uint64_t VERDICT_ON_RANK = 0;

/* cancel.c, by the driver */

/* End what has been cancelled. */
void
engine_end_cancelled(struct engine *engine);
/* ... before it began. */
bool
op_refuse_cancelled(struct op *op);

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
/* By the driver: rank has left in good order. */
void
engine_left(struct engine *engine, uint32_t rank);

/* verdict.c, by the driver. */

/* rank, which may be this one, is dead or gone, which is certain by evidence
 * (EVIDENCE_TOLD: somebody else has found out): every operation that needs it
 * ends. */
void
engine_lose(struct engine *engine,
            uint32_t rank,
            enum evidence evidence,
            const char *why);
/* The same, seen here: who may conclude from evidence, base/evidence.h says. */
void
engine_suspect(struct engine *engine,
               uint32_t rank,
               enum evidence evidence,
               const char *why);
/* Nobody else decides about it. */
void
suspect_undecided(struct engine *engine, uint32_t rank);
/* Returns when to look again. */
uint64_t
engine_check_suspects(struct engine *engine, uint64_t now_ns);
/* "rank 2 (a:70) is lost: ...", or what it said when it gave up; of this rank, that it
 * was declared lost. */
const char *
lost_describe(const struct engine *engine,
              uint32_t rank,
              char text[LIMIT_ERROR_TEXT]);
/* text, why a call failed here, as other ranks should read it: of this rank, if it
 * was declared lost, by its name. Returns text or out_text. */
const char *
lost_describe_to_others(const struct engine *engine,
                        const char *text,
                        char out_text[LIMIT_ERROR_TEXT]);
/* world_rank is a member. */
bool
channel_has(const struct channel *channel, uint32_t world_rank);
/* Whether, and why, op cannot end any more: a member is lost, or one that is still
 * needed has left. */
bool
op_broken(struct op *op, struct verdict *out_verdict);
/* Whether a member is lost; which. */
bool
channel_bereft(const struct channel *channel, struct verdict *out_verdict);
/* Only the part about members that left. */
bool
op_stranded(struct op *op, struct verdict *out_verdict);
/* That rank, which is lost, is. */
struct verdict
lost_verdict(const struct engine *engine, uint32_t rank);
/* What a peer's verdict, of which text is the payload, ends operations with. */
struct verdict
verdict_read(const struct engine *engine,
             const struct frame *frame,
             const char *text);
/* rank, of a struct verdict, as VERDICT frames have it in call.root. */
uint32_t
verdict_pack_rank(uint32_t rank);
/* Tell every peer of an operation's failure. */
void
verdict_tell(struct engine *engine,
             const struct channel *channel,
             uint64_t number,
             const struct verdict *verdict);
/* Tell a peer to whom goodbye is said of all ranks that are lost. */
void
verdict_part(struct engine *engine, uint32_t peer);
/* The one on operation number that came before it began, to be freed; or NULL. */
struct early_verdict *
verdict_take(struct channel *channel, uint64_t number);
/* A verdict on operation number, which has ended here: pass it on if it is
 * new. A mismatch is told by the next call of channel that ends. */
void
verdict_on_past(struct channel *channel,
                uint64_t number,
                const struct verdict *verdict);
/* What op's call has to tell beside its own end; op->text may change. Returns
 * the status of both. */
enum hoop_status
verdict_settle(struct op *op, enum hoop_status status);
/* Peer's verdict on a message this rank sent to it, or on a collective. */
void
verdict_on_message(struct channel *channel,
                   uint32_t peer,
                   const struct frame *frame,
                   const char *text);
void
verdict_on_op(struct engine *engine,
              struct channel *channel,
              const struct frame *frame,
              const char *text);

/* mismatch.c, by the driver. */

/* How the two sides of a collective's message differ in its length. */
struct misfit {
    uint64_t number;
    const struct frame_call *call;
    uint64_t n_expected;
    uint64_t n_sent;
    bool is_sent; /* by this rank */
};

/* frame, of peer, is of another call than this rank's of the same number. */
void
mismatch_calls(struct channel *channel,
               uint32_t peer,
               const struct frame *frame);
/* The calls are the same, but not the lengths of a message between the two. */
void
mismatch_bytes(struct channel *channel,
               uint32_t peer,
               const struct misfit *misfit);
/* What came for op before it began: is it of the same call? */
void
mismatch_early(struct op *op);
/* op has all it needs; true when more came, and it has ended for that. */
bool
mismatch_surplus(struct op *op);

/* shortage.c, by the driver: the control thread's notice of one. */
void
shortage_take(struct engine *engine, const struct notice *notice);
/* That there is no connection to rank, as this thread's last error. */
enum hoop_status
shortage_raise(const struct engine *engine, uint32_t rank);
/* frame says that a send of some rank to some other has failed. */
void
shortage_came(struct engine *engine,
              uint32_t peer,
              const struct frame *frame,
              const char *text);
/* op, which begins, receives a message whose send is known to have failed: op
 * has ended then. */
bool
shortage_refuse(struct op *op);
void
shortage_forget(struct channel *channel);

/* refusal.c, by the driver: op, a receive, has been matched with the message
 * that frame, and tensor if it is one, begins, but does not take it. Both ends
 * of it end. */

/* It is not what op expects. */
void
refusal_of_other(struct op *op,
                 const struct frame *frame,
                 const struct frame_tensor *tensor);
/* There is no memory for it: why. */
void
refusal_of_memory(struct op *op,
                  const struct frame *frame,
                  const struct frame_tensor *tensor,
                  const char *why);
/* Of a list, which op waits for more of, but its sender has begun the next list
 * with frame. Only op ends. */
void
refusal_to_wait(struct op *op,
                const struct frame *frame,
                const struct frame_tensor *tensor);
/* No receive is left for it: its sender is told. */
void
refusal_of_stray(struct engine *engine,
                 uint32_t peer,
                 const struct frame *frame,
                 const struct frame_tensor *tensor);

/* inquiry.c, by the driver. */

/* Ask the other side of flow what it has called. */
void
inquiry_send(const struct step_flow *flow);
/* peer asks, or answers. */
void
inquiry_came(struct channel *channel, uint32_t peer, const struct frame *frame);
/* ... after a communicator that is not here, and may not come. */
void
inquiry_deny(struct engine *engine, uint32_t peer, const struct frame *frame);
void
inquiry_answered(struct channel *channel,
                 uint32_t peer,
                 const struct frame *frame);
/* Answer beforehand what peer cannot ask any more: this rank leaves. */
void
inquiry_part(struct engine *engine, uint32_t peer);
/* ... nor any peer: this rank frees the communicator. */
void
inquiry_end(const struct channel *channel);
/* op, which has just begun, and what those that left had called. */
void
inquiry_recall(struct op *op);
void
inquiry_forget(struct channel *channel);

/* parting.c, by the driver. */

/* This rank leaves: say so in its shared regions. */
void
parting_write(struct engine *engine);
/* Whether rank has said so in one that it shares with this one. */
bool
parting_is_there(struct engine *engine, uint32_t rank);
/* Take what it left there for its answers. */
void
parting_read(struct engine *engine, uint32_t rank);

/* rounds.c */

/* What the header tells, as a frame would. */
struct frame
rounds_frame(const struct channel *channel,
             const struct shm_region_header *header);

struct channel *
engine_channel(struct engine *engine, uint64_t id);
/* The collective of that number that is under way here; NULL: none. */
struct op *
channel_running(const struct channel *channel, uint64_t number);

/* assembly.c, by the driver. */

/* op has begun, or has ended: is it, or was it, one of its channel's flats? */
void
assembly_join(struct op *op);
void
assembly_leave(struct op *op);
/* The one that may move. */
struct op *
assembly_first(const struct channel *channel);
/* Touch what can move on. */
void
assembly_touch(struct engine *engine);
/* ... and sleep no more. */
void
assembly_look(struct engine *engine);
/* Before sleeping. False: something can move. */
bool
assembly_rest(struct engine *engine);
/* op is the first: what was refused here, or failed before its turn came, will
 * not be read. Who has posted for it waits for that. */
void
assembly_forgo(const struct op *op);
/* Wake whoever sleeps, when this rank has published or finished a round. */
void
assembly_wake(const struct channel *channel);

/* engine.c */

/* How whoever waits does so, by the setting and the crowd. */
enum endurance_rule
engine_endurance(const struct engine *engine);

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
/* By the driver: offer the processor to another rank. */
void
engine_yield(struct engine *engine);
/* The driver must look at the mailbox. */
void
engine_post(struct engine *engine);
/* Have closing->channel ended by whoever drives, and wait for that. */
void
engine_close(struct engine *engine, struct closing *closing);
/* op has all it needs: end it, unless what has come meanwhile ends it. */
void
op_conclude(struct op *op);
void
op_begin(struct op *op);
/* ... and its partner. */
void
op_begin_held(struct op *op);

#endif
