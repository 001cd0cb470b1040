/*
 * recorder/recorder.c - calls, communicators and moments are recorded
 *
 * Members are stored with release order behind the word that announces the
 * change, and the word that ends it is stored with release order behind them.
 * On x86 all of these are ordinary stores.
 */

#include "recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hoop/comm.h"

#include "base/error.h"
#include "recorder/recorder_file.h"
#include "recorder/recorder_signal.h"

/* The clocks are compared after about half a millisecond, then ever more
 * rarely, up to about once in a second; by a call that is made then. */
static const uint64_t MOMENT_INTERVAL_FIRST = 1 << 20;
static const uint64_t MOMENT_INTERVAL_MAX = (uint64_t)1 << 31;
/* They are read again if that took longer, because the thread lost its
 * processor in between. */
static const uint64_t MOMENT_ERROR_GOOD_NS = 2000;
enum {
    MOMENT_READS_MAX = 4,
};
/* A rank that waits compares them this often. */
static const uint64_t SIGN_INTERVAL_NS = CLOCK_NS_PER_S;

static void
store(_Atomic uint64_t *member, uint64_t value)
{
    atomic_store_explicit(member, value, memory_order_release);
}

static void
store_rank(_Atomic uint32_t *member, uint32_t rank)
{
    atomic_store_explicit(member, rank, memory_order_release);
}

static uint64_t
load(const _Atomic uint64_t *member)
{
    return atomic_load_explicit(member, memory_order_relaxed);
}

/*
 * The clocks.
 */

/* Everything is read between the first and the last clock, however long this
 * thread has had no processor in between. */
static struct recorder_moment
moment_read(const struct recorder *recorder)
{
    struct recorder_moment moment = {.monotonic_ns = clock_now_ns()};

    moment.counter = recorder_now(recorder);
    moment.wall_ns = clock_wall_ns();
    moment.error_ns = clock_now_ns() - moment.monotonic_ns;
    return moment;
}

/* A reader of the memory may find the place half written only if it has not
 * looked at n_moments again afterwards. */
static void
moment_store(struct recorder *recorder)
{
    struct recorder_calibration *calibration =
        &recorder->memory->header.calibration;
    const uint64_t n = load(&calibration->n_moments);
    struct recorder_moment best = moment_read(recorder);

    for (unsigned i = 1;
         i < MOMENT_READS_MAX && best.error_ns > MOMENT_ERROR_GOOD_NS; i++) {
        const struct recorder_moment moment = moment_read(recorder);

        if (moment.error_ns < best.error_ns)
            best = moment;
    }
    calibration->moments[recorder_moment_place(n)] = best;
    store(&calibration->n_moments, n + 1);
}

/* Compare the clocks, unless another thread is doing so. */
static void
clocks_compare(struct recorder *recorder)
{
    if (atomic_flag_test_and_set_explicit(&recorder->is_comparing,
                                          memory_order_acquire))
        return;
    moment_store(recorder);
    store(&recorder->next_moment,
          recorder_now(recorder) + recorder->moment_interval);
    if (recorder->moment_interval < MOMENT_INTERVAL_MAX)
        recorder->moment_interval *= 2;
    atomic_flag_clear_explicit(&recorder->is_comparing, memory_order_release);
}

static inline void
clocks_compare_if_due(struct recorder *recorder, uint64_t now)
{
    if (__builtin_expect(now >= load(&recorder->next_moment), 0))
        clocks_compare(recorder);
}

uint64_t
recorder_lives(struct recorder *recorder, uint64_t now_ns)
{
    if (!recorder)
        return CLOCK_NEVER;
    if (now_ns >= recorder->next_sign_ns) {
        clocks_compare(recorder);
        recorder->next_sign_ns = now_ns + SIGN_INTERVAL_NS;
    }
    return recorder->next_sign_ns;
}

/* The coordinator's clock showed clock_ns at a time between asked_ns and
 * answered_ns. The middle is wrong by at most half of that. */
void
recorder_compare_clocks(struct recorder *recorder,
                        const struct recorder_round_trip *trip)
{
    if (!recorder || trip->answered_ns < trip->asked_ns)
        return;
    struct recorder_header *header = &recorder->memory->header;
    const uint64_t n = load(&header->n_comparisons);
    const struct recorder_comparison *kept =
        &header->comparisons[(n - 1) % RECORDER_COMPARISONS];
    const uint64_t error_ns = (trip->answered_ns - trip->asked_ns + 1) / 2;
    const struct recorder_comparison made = {
        .offset_ns = (int64_t)(trip->clock_ns - trip->asked_ns - error_ns),
        .error_ns = error_ns,
        .compared_ns = trip->answered_ns,
    };

    if (n > 0 &&
        made.error_ns > recorder_comparison_error(kept, made.compared_ns) &&
        !recorder_comparisons_contradict(kept, &made))
        return;
    header->comparisons[n % RECORDER_COMPARISONS] = made;
    store(&header->n_comparisons, n + 1);
}

/*
 * Calls.
 */

/* End the change of a slot whose state stays. */
static void
slot_close_same(struct recorder_slot *slot, uint64_t word)
{
    recorder_slot_close(slot, word, recorder_word_state(word));
}

static bool
is_call_under_way(uint64_t word)
{
    const enum recorder_state state = recorder_word_state(word);

    return (word & RECORDER_IS_BEING_WRITTEN) || state == RECORDER_CALLED ||
           state == RECORDER_BEGUN;
}

/* Returns a slot whose word announces a record, or NULL. Only the thread that
 * claims writes to a slot whose call has ended. */
static struct recorder_slot *
slot_claim(struct recorder *recorder)
{
    for (unsigned i = 0; i < LIMIT_RECORDER_SKIPS; i++) {
        const uint64_t claim = recorder->next_claim++;
        struct recorder_slot *slot =
            &recorder->memory->slots[claim % LIMIT_RECORDER_CALLS];

        if (is_call_under_way(
                atomic_load_explicit(&slot->word, memory_order_acquire)))
            continue;
        atomic_store_explicit(&slot->word,
                              claim << RECORDER_CLAIM_SHIFT |
                                  RECORDER_IS_BEING_WRITTEN,
                              memory_order_relaxed);
        return slot;
    }
    store(&recorder->memory->header.n_dropped,
          load(&recorder->memory->header.n_dropped) + 1);
    return NULL;
}

static void
slot_set_call(struct recorder_slot *slot, const struct recorder_call *call)
{
    store(&slot->number, call->number);
    store(&slot->comm, call->comm);
    store(&slot->tag, call->tag);
    store(&slot->count, call->count);
    store(&slot->n_bytes, call->n_bytes);
    store_rank(&slot->peer, call->peer);
    atomic_store_explicit(&slot->algorithm, (uint16_t)call->algorithm,
                          memory_order_release);
    atomic_store_explicit(&slot->status, 0, memory_order_release);
    atomic_store_explicit(&slot->kind, call->kind, memory_order_release);
    atomic_store_explicit(&slot->dtype, call->dtype, memory_order_release);
    atomic_store_explicit(&slot->reduce_op, call->reduce_op,
                          memory_order_release);
    atomic_store_explicit(&slot->path, 0, memory_order_release);
    atomic_store_explicit(&slot->retries, call->retries, memory_order_release);
}

struct recorder_slot *
recorder_called_at(struct recorder *recorder,
                   const struct recorder_call *call,
                   uint64_t called)
{
    struct recorder_slot *slot = slot_claim(recorder);
    if (!slot)
        return NULL;

    slot_set_call(slot, call);
    store(&slot->called, called);
    store(&slot->begun, 0);
    store(&slot->first_byte, 0);
    store(&slot->last_byte, 0);
    store(&slot->ended, 0);
    store(&slot->waiting_since, 0);
    store(&slot->waited, 0);
    store_rank(&slot->waiting_for, HOOP_NO_RANK);
    store_rank(&slot->waited_for, HOOP_NO_RANK);
    recorder_slot_close(slot, load(&slot->word), RECORDER_CALLED);
    clocks_compare_if_due(recorder, called);
    return slot;
}

struct recorder_slot *
recorder_called(struct recorder *recorder, const struct recorder_call *call)
{
    return recorder ? recorder_called_at(recorder, call, recorder_now(recorder))
                    : NULL;
}

/* A wait for rank is over. */
static void
slot_note_wait(struct recorder_slot *slot, uint32_t rank, uint64_t waited)
{
    if (waited < load(&slot->waited))
        return;
    store(&slot->waited, waited);
    store_rank(&slot->waited_for, rank);
}

/* The wait under way, if there is one, ends now. */
static void
slot_end_wait(struct recorder_slot *slot, uint64_t now)
{
    const uint64_t since = load(&slot->waiting_since);

    if (since == 0)
        return;
    slot_note_wait(
        slot, atomic_load_explicit(&slot->waiting_for, memory_order_relaxed),
        now - since);
    store(&slot->waiting_since, 0);
    store_rank(&slot->waiting_for, HOOP_NO_RANK);
}

/* Returns when the work of a call began: when it was made, if it is done
 * inline. */
static uint64_t
slot_work_began(const struct recorder_slot *slot)
{
    const uint64_t begun = load(&slot->begun);

    return begun ? begun : load(&slot->called);
}

void
recorder_arrived(struct recorder *recorder,
                 struct recorder_slot *slot,
                 uint32_t rank)
{
    if (!slot)
        return;
    const uint64_t now = recorder_now(recorder);
    const uint64_t last = load(&slot->last_byte);
    const uint64_t word = recorder_slot_open(slot);

    if (last == 0)
        store(&slot->first_byte, now);
    slot_note_wait(slot, rank, now - (last ? last : slot_work_began(slot)));
    store(&slot->waiting_since, 0);
    store_rank(&slot->waiting_for, HOOP_NO_RANK);
    store(&slot->last_byte, now);
    slot_close_same(slot, word);
    clocks_compare_if_due(recorder, now);
}

/* The first wait of a call began, as far as can be told without reading the
 * clock again, when its work began. */
void
recorder_wait_begins(struct recorder *recorder,
                     struct recorder_slot *slot,
                     uint32_t rank)
{
    const bool is_first = load(&slot->waited) == 0;
    const uint64_t now =
        is_first ? slot_work_began(slot) : recorder_now(recorder);

    store_rank(&slot->waiting_for, rank);
    store(&slot->waiting_since, now);
    clocks_compare_if_due(recorder, now);
}

void
recorder_goes_on(const struct recorder *recorder, struct recorder_slot *slot)
{
    if (!slot || load(&slot->waiting_since) == 0)
        return;
    const uint64_t word = recorder_slot_open(slot);

    slot_end_wait(slot, recorder_now(recorder));
    slot_close_same(slot, word);
}

void
recorder_received(struct recorder_slot *slot,
                  const struct recorder_message *message)
{
    if (!slot)
        return;
    const uint64_t word = recorder_slot_open(slot);

    store(&slot->number, message->number);
    store(&slot->n_bytes, message->n_bytes);
    store_rank(&slot->peer, message->peer);
    slot_close_same(slot, word);
}

void
recorder_ended(struct recorder *recorder,
               struct recorder_slot *slot,
               const struct recorder_end *end)
{
    if (!slot)
        return;
    const uint64_t now = recorder_now(recorder);
    const uint64_t word = recorder_slot_open(slot);

    slot_end_wait(slot, now);
    store(&slot->ended, now);
    if (end->status != HOOP_OK) {
        atomic_store_explicit(&slot->status, (uint16_t)end->status,
                              memory_order_release);
        if (end->waited_for != HOOP_NO_RANK)
            store_rank(&slot->waited_for, end->waited_for);
    }
    atomic_store_explicit(
        &slot->path,
        (uint8_t)(atomic_load_explicit(&slot->path, memory_order_relaxed) |
                  end->path),
        memory_order_release);
    recorder_slot_close(
        slot, word, end->status == HOOP_OK ? RECORDER_DONE : RECORDER_FAILED);
    if (end->status != HOOP_OK)
        clocks_compare(recorder);
}

/*
 * Communicators.
 */

/* Returns an entry that no open communicator has: the one that was closed
 * longest ago, or never used; NULL: there is none. The caller holds the
 * lock. */
static struct recorder_comm *
comm_take_entry(struct recorder *recorder)
{
    for (size_t i = 0; i < LIMIT_RECORDER_COMMS; i++) {
        struct recorder_comm *entry =
            &recorder->memory
                 ->comms[recorder->comm_cursor++ % LIMIT_RECORDER_COMMS];

        if (!entry->is_open)
            return entry;
    }
    return NULL;
}

/* The caller holds the lock. */
static struct recorder_comm *
comm_find(struct recorder *recorder, uint64_t id)
{
    for (size_t i = 0; i < LIMIT_RECORDER_COMMS; i++) {
        struct recorder_comm *entry = &recorder->memory->comms[i];

        if (entry->is_open && entry->id == id)
            return entry;
    }
    return NULL;
}

static bool
are_first_ranks(const struct recorder_comm_options *comm)
{
    for (uint32_t i = 0; i < comm->size; i++) {
        if (comm->ranks[i] != i)
            return false;
    }
    return true;
}

/* Store the members behind those of all communicators before; the oldest are
 * lost when the ring is full. The caller holds the lock. */
static void
members_store(struct recorder *recorder,
              struct recorder_comm *entry,
              const struct recorder_comm_options *comm)
{
    struct recorder_header *header = &recorder->memory->header;
    const uint64_t first = load(&header->n_members_stored);

    entry->first_member = first;
    entry->is_prefix = are_first_ranks(comm);
    if (entry->is_prefix)
        return;
    /* Readers then know that what is written over here is gone. */
    store(&header->n_members_stored, first + comm->size);
    for (uint32_t i = 0; i < comm->size; i++)
        recorder->memory->members[(first + i) % LIMIT_RECORDER_MEMBERS] =
            comm->ranks[i];
}

static void
comm_open_entry(struct recorder_comm *entry)
{
    store(&entry->word, load(&entry->word) | 1);
    atomic_thread_fence(memory_order_seq_cst);
}

static void
comm_close_entry(struct recorder_comm *entry)
{
    store(&entry->word, load(&entry->word) + 1);
}

void
recorder_comm_opened(struct recorder *recorder,
                     const struct recorder_comm_options *comm)
{
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->comms_lock);
    struct recorder_comm *entry = comm_take_entry(recorder);
    if (entry) {
        comm_open_entry(entry);
        entry->id = comm->id;
        entry->rank = comm->rank;
        entry->size = comm->size;
        entry->n_forming = 0;
        entry->name[0] = '\0';
        entry->is_open = 1;
        members_store(recorder, entry, comm);
        comm_close_entry(entry);
    }
    pthread_mutex_unlock(&recorder->comms_lock);
}

void
recorder_comm_formed(struct recorder *recorder, uint64_t id, uint64_t n_forming)
{
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->comms_lock);
    struct recorder_comm *entry = comm_find(recorder, id);
    if (entry) {
        comm_open_entry(entry);
        entry->n_forming = n_forming;
        comm_close_entry(entry);
    }
    pthread_mutex_unlock(&recorder->comms_lock);
}

void
recorder_comm_named(struct recorder *recorder, uint64_t id, const char *name)
{
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->comms_lock);
    struct recorder_comm *entry = comm_find(recorder, id);
    if (entry) {
        comm_open_entry(entry);
        snprintf(entry->name, sizeof(entry->name), "%s", name);
        comm_close_entry(entry);
    }
    pthread_mutex_unlock(&recorder->comms_lock);
}

void
recorder_comm_closed(struct recorder *recorder, uint64_t id)
{
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->comms_lock);
    struct recorder_comm *entry = comm_find(recorder, id);
    if (entry) {
        comm_open_entry(entry);
        entry->is_open = 0;
        comm_close_entry(entry);
    }
    pthread_mutex_unlock(&recorder->comms_lock);
}

/*
 * The recorder.
 */

static void
header_init(const struct recorder *recorder,
            const struct recorder_options *options)
{
    struct recorder_header *header = &recorder->memory->header;

    header->magic = RECORDER_MAGIC;
    header->version = RECORDER_VERSION;
    header->n_names = RECORDER_NAMES;
    header->n_comms = LIMIT_RECORDER_COMMS;
    header->n_members = LIMIT_RECORDER_MEMBERS;
    header->n_slots = LIMIT_RECORDER_CALLS;
    header->slot_bytes = sizeof(struct recorder_slot);
    header->n_bytes = sizeof(struct recorder_memory);
    header->rank = options->rank;
    header->size = options->size;
    header->pid = options->pid;
    header->is_processor_counter = recorder->is_processor_counter;
    header->epoch = options->epoch;
    header->run = options->run;
    header->clock_id = options->clock_id;
    snprintf(header->job, sizeof(header->job), "%s", options->job);
    snprintf(header->host, sizeof(header->host), "%s", options->host);
}

enum hoop_status
recorder_create(const struct recorder_options *options,
                struct recorder **out_recorder)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    struct recorder_file file;

    if (!recorder)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the recorder");
    const enum hoop_status status = recorder_file_create(options, &file);
    if (status != HOOP_OK) {
        free(recorder);
        return error_pass(status);
    }
    recorder->memory = file.memory;
    recorder->is_processor_counter = ticks_are_invariant();
    recorder->moment_interval = MOMENT_INTERVAL_FIRST;
    atomic_flag_clear(&recorder->is_comparing);
    pthread_mutex_init(&recorder->comms_lock, NULL);
    header_init(recorder, options);
    clocks_compare(recorder);
    enum hoop_status named = recorder_file_publish(&file, options);
    if (named == HOOP_OK && options->folder[0] && options->signal &&
        options->signal[0])
        named = recorder_signal_add(recorder->memory, options);
    if (named != HOOP_OK) {
        recorder_destroy(recorder);
        return error_pass(named);
    }
    /* It took long enough to tell how fast the counter runs, roughly. */
    clocks_compare(recorder);
    *out_recorder = recorder;
    return HOOP_OK;
}

void
recorder_destroy(struct recorder *recorder)
{
    if (!recorder)
        return;
    clocks_compare(recorder);
    store(&recorder->memory->header.is_closed, 1);
    recorder_signal_remove(recorder->memory);
    munmap(recorder->memory, sizeof(*recorder->memory));
    pthread_mutex_destroy(&recorder->comms_lock);
    free(recorder);
}

void
recorder_set_name(struct recorder *recorder,
                  enum recorder_table table,
                  size_t id,
                  const char *name)
{
    if (recorder && id < RECORDER_NAMES)
        snprintf(recorder->memory->names[table][id], RECORDER_NAME_BYTES, "%s",
                 name);
}
