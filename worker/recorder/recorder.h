/*
 * recorder/recorder.h - the flight recorder: what this rank called last
 *
 * A ring of records in one mapping, which another process can read while this
 * one writes and after it was killed (recorder/layout.h). A call takes a slot,
 * stores what it is and when, and at last how it ended. No memory is allocated
 * for that, no lock is taken, and nothing waits.
 *
 * When the ring wraps around, a new call takes the place of the oldest, unless
 * that has not ended: a call that hangs stays in the record however many others
 * follow. If LIMIT_RECORDER_SKIPS slots in a row are of calls under way, the
 * new call is not recorded, and the header counts it.
 *
 * Thread: recorder_called() under a lock of the caller, one that a call takes
 * anyway to get its number; the other functions of a slot without, by the one
 * thread that has its call, which may change while the call is handed on; those
 * of communicators any.
 *
 * A recorder or slot that is NULL does nothing.
 */

#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "recorder/layout.h"
#include "recorder/ticks.h"

/* Private to recorder/, but for the functions here that every call inlines. */
struct recorder {
    struct recorder_memory *memory;
    bool is_processor_counter;
    uint64_t next_claim;          /* of the thread that may claim */
    _Atomic uint64_t next_moment; /* when the clocks are compared again */
    uint64_t moment_interval;     /* of the thread that has is_comparing */
    uint64_t next_sign_ns;        /* of the thread that says that it lives */
    atomic_flag is_comparing;
    pthread_mutex_t comms_lock;
    size_t comm_cursor; /* under the lock: where to look for a free entry */
};

/* Borrowed for the call. */
struct recorder_options {
    const char *folder; /* "": the memory has no name */
    const char *signal; /* with a folder: of which signal it makes a copy
                           (recorder/recorder_signal.h); "" or NULL: of none */
    const char *job;
    const char *host;
    uint64_t epoch;
    uint64_t run; /* the same for all ranks of this world, and no others */
    uint32_t rank;
    uint32_t size;
    uint32_t pid;
    uint64_t clock_id; /* monotonic_clock_id() */
};

/*
 * With a folder, which is created if it is missing, the memory is the file
 * FOLDER/JOB.RANK.hoopr, which only this user can read. A file that is there
 * already, of an earlier job, becomes FOLDER/JOB.RANK.previous.hoopr.
 *
 * Handle: HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE (no file can be made there),
 * HOOP_E_INVALID (the signal).
 */
enum hoop_status
recorder_create(const struct recorder_options *options,
                struct recorder **out_recorder);
/* The file stays. */
void
recorder_destroy(struct recorder *recorder);

/* A question to the coordinator for its clock. */
struct recorder_round_trip {
    uint64_t asked_ns;    /* CLOCK_MONOTONIC */
    uint64_t answered_ns; /* the same */
    uint64_t clock_ns;    /* the coordinator's, in between */
};

/* Keep how the coordinator's clock differs from this host's, unless what is kept
 * is better. Thread: any, one at a time. */
void
recorder_compare_clocks(struct recorder *recorder,
                        const struct recorder_round_trip *trip);

/* Say what number id of a table is the name of. */
void
recorder_set_name(struct recorder *recorder,
                  enum recorder_table table,
                  size_t id,
                  const char *name);

/* Borrowed for the call. */
struct recorder_comm_options {
    uint64_t id;
    uint32_t rank;
    uint32_t size;
    const uint32_t *ranks; /* its members' world ranks */
};

void
recorder_comm_opened(struct recorder *recorder,
                     const struct recorder_comm_options *comm);
/* n_forming collectives of the communicator formed it. */
void
recorder_comm_formed(struct recorder *recorder,
                     uint64_t id,
                     uint64_t n_forming);
void
recorder_comm_named(struct recorder *recorder, uint64_t id, const char *name);
void
recorder_comm_closed(struct recorder *recorder, uint64_t id);

/* What is known of a call when it is made. */
struct recorder_call {
    uint64_t number;
    uint64_t comm;
    uint64_t tag;
    uint64_t count;
    uint64_t n_bytes;
    uint32_t peer;
    uint32_t algorithm;
    uint8_t kind;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t retries;
};

/* A call is made. Returns its slot, or NULL: it is not recorded. The caller
 * holds its lock. */
struct recorder_slot *
recorder_called(struct recorder *recorder, const struct recorder_call *call);
/* The same for a call that was made a moment ago, at a time of recorder_now(). */
struct recorder_slot *
recorder_called_at(struct recorder *recorder,
                   const struct recorder_call *call,
                   uint64_t called);

static inline uint64_t
recorder_now(const struct recorder *recorder)
{
    return recorder->is_processor_counter ? ticks_now() : clock_now_ns();
}

/* Announce a change of a slot's later members. Returns the word before. */
static inline uint64_t
recorder_slot_open(struct recorder_slot *slot)
{
    const uint64_t word =
        atomic_load_explicit(&slot->word, memory_order_relaxed);

    atomic_store_explicit(&slot->word, word | RECORDER_IS_BEING_WRITTEN,
                          memory_order_relaxed);
    return word;
}

/* End the change that recorder_slot_open() announced. */
static inline void
recorder_slot_close(struct recorder_slot *slot,
                    uint64_t word,
                    enum recorder_state state)
{
    static const uint64_t claim_mask = UINT64_MAX << RECORDER_CLAIM_SHIFT;
    const uint64_t version = (word + (1 << RECORDER_VERSION_SHIFT)) &
                             ~claim_mask & UINT64_MAX << RECORDER_VERSION_SHIFT;

    atomic_store_explicit(&slot->word,
                          (word & claim_mask) | version |
                              (uint64_t)state << RECORDER_STATE_SHIFT,
                          memory_order_release);
}

/* Its work begins. */
static inline void
recorder_begun(const struct recorder *recorder, struct recorder_slot *slot)
{
    if (!slot)
        return;
    const uint64_t word = recorder_slot_open(slot);

    atomic_store_explicit(&slot->begun, recorder_now(recorder),
                          memory_order_release);
    recorder_slot_close(slot, word, RECORDER_BEGUN);
}

/* Bytes have arrived from a world rank. The time since the last arrival, or
 * since the work began, was a wait for it. */
void
recorder_arrived(struct recorder *recorder,
                 struct recorder_slot *slot,
                 uint32_t rank);
/* recorder_waits() does this for the first wait, or the first after another. */
void
recorder_wait_begins(struct recorder *recorder,
                     struct recorder_slot *slot,
                     uint32_t rank);

/* The call cannot go on without a world rank. If it waited for another until
 * now, both are one wait, for the one that comes last. Cheap enough for each
 * poll. */
static inline void
recorder_waits(struct recorder *recorder,
               struct recorder_slot *slot,
               uint32_t rank)
{
    if (!slot ||
        atomic_load_explicit(&slot->waiting_for, memory_order_relaxed) == rank)
        return;
    if (atomic_load_explicit(&slot->waiting_since, memory_order_relaxed) != 0)
        atomic_store_explicit(&slot->waiting_for, rank, memory_order_release);
    else
        recorder_wait_begins(recorder, slot, rank);
}

/* The wait is over. */
void
recorder_goes_on(const struct recorder *recorder, struct recorder_slot *slot);

/* How a call ended. */
struct recorder_end {
    enum hoop_status status;
    uint32_t waited_for; /* of a failure; HOOP_NO_RANK: as was recorded */
    uint8_t path;        /* bits to add */
};

/* Call this while calls wait, by one thread at a time, with the time of
 * CLOCK_MONOTONIC: a reader then knows that the rank lived until now, also after
 * it was killed. Returns when to call again. */
uint64_t
recorder_lives(struct recorder *recorder, uint64_t now_ns);

/* The call has ended. The slot must not be used again. */
void
recorder_ended(struct recorder *recorder,
               struct recorder_slot *slot,
               const struct recorder_end *end);

/* What a receive has found only when its message came. */
struct recorder_message {
    uint64_t number;
    uint64_t n_bytes;
    uint32_t peer;
};

/* Call this before recorder_ended(). */
void
recorder_received(struct recorder_slot *slot,
                  const struct recorder_message *message);

#endif
