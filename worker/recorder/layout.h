/*
 * recorder/layout.h - the flight recorder's memory, byte by byte
 *
 *   header | names | communicators | their members | slots
 *
 * The file explains itself: who wrote it, which clock its times are of, and
 * what its numbers mean. All of it is in the byte order of the host that wrote
 * it; a reader with another byte order finds another magic number. A change of
 * any struct here changes RECORDER_VERSION.
 *
 * Other processes read while this one writes, so a slot is atomic and stands
 * behind a word that its writer changes before and after (struct recorder_slot
 * says how), and a communicator behind a word of its own. Moments and comparisons
 * take turns, and a reader takes them again if there are more afterwards.
 */

#ifndef RECORDER_LAYOUT_H
#define RECORDER_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

enum {
    RECORDER_VERSION = 3,
    RECORDER_NAME_BYTES = 32,              /* of a name, with the final 0 */
    RECORDER_NAMES = 128,                  /* of one table */
    RECORDER_NO_NAME = RECORDER_NAMES - 1, /* of what a call does not have */
};

/* "HOOPREC1" on a host that stores the low byte first. */
static const uint64_t RECORDER_MAGIC = 0x31434552504f4f48;

/* Two clocks drift apart by at most one part in this many: two quartzes of
 * 50 ppm each. A clock that is being slewed may drift faster. */
static const uint64_t RECORDER_DRIFT_PARTS = 10000;

/* What a number of a record is the name of. */
enum recorder_table {
    RECORDER_KINDS,
    RECORDER_DTYPES,
    RECORDER_REDUCE_OPS,
    RECORDER_ALGORITHMS,
    RECORDER_TABLES,
};

/* Which ways the bytes of a call have taken, as bits. */
enum recorder_path {
    RECORDER_PATH_INLINE = 1, /* the caller made the call without a request */
    RECORDER_PATH_REGION = 2, /* memory that all ranks of the call share */
    RECORDER_PATH_RING = 4,   /* memory that two ranks share */
    RECORDER_PATH_SOCKET = 8,
};

/*
 * EMPTY -> CALLED -> BEGUN -> DONE or FAILED
 *             \______________/
 */
enum recorder_state {
    RECORDER_EMPTY,
    RECORDER_CALLED,
    RECORDER_BEGUN,
    RECORDER_DONE,
    RECORDER_FAILED,
};

/*
 * One call. A caller claims the slot, which must be empty or of a call that
 * has ended; from then on only the thread that has the call writes here, until
 * it stores an end.
 *
 * The word says whose record this is and what of it is valid:
 *
 *   claim (44 bits) | version (16) | state (3) | is_being_written (1)
 *
 * A writer stores the word with is_being_written set, then members, then the
 * word with the next version. A reader that has found the same word before and
 * after it copied the members, without is_being_written, has a whole record.
 * What a call begins with is written once, before CALLED; so a writer that was
 * killed while it changed a later member leaves a record whose beginning is
 * right.
 *
 * Times are readings of the counter that the header tells (struct
 * recorder_calibration); 0: it has not come to that.
 */
struct recorder_slot {
    _Atomic uint64_t word;
    _Atomic uint64_t number; /* of the collective or message, as on the wire */
    _Atomic uint64_t comm;   /* id of the communicator */
    _Atomic uint64_t tag;    /* of a message */
    _Atomic uint64_t count;  /* elements, as the caller gave them */
    _Atomic uint64_t n_bytes;
    _Atomic uint64_t called;
    _Atomic uint64_t begun;
    _Atomic uint64_t first_byte; /* arrived */
    _Atomic uint64_t last_byte;
    _Atomic uint64_t ended;
    /* The wait under way, and the longest that is over. A wait begins with
     * the store of waiting_since, without a change of the word. */
    _Atomic uint64_t waiting_since; /* 0: none */
    _Atomic uint64_t waited;        /* counter units */
    _Atomic uint32_t waiting_for;   /* world ranks */
    _Atomic uint32_t waited_for;
    _Atomic uint32_t peer;      /* root or peer, a rank of the communicator */
    _Atomic uint16_t algorithm; /* 0: none */
    _Atomic uint16_t status;    /* enum hoop_status */
    _Atomic uint8_t kind;
    _Atomic uint8_t dtype;
    _Atomic uint8_t reduce_op;
    _Atomic uint8_t path; /* enum recorder_path */
    _Atomic uint8_t retries;
    _Atomic uint8_t unused[3];
};

static_assert(sizeof(struct recorder_slot) == 128, "two lines of the cache");

static const uint64_t RECORDER_IS_BEING_WRITTEN = 1;
enum {
    RECORDER_STATE_SHIFT = 1,
    RECORDER_STATE_BITS = 3,
    RECORDER_VERSION_SHIFT = 4,
    RECORDER_CLAIM_SHIFT = 20,
};

static inline enum recorder_state
recorder_word_state(uint64_t word)
{
    return (enum recorder_state)(word >> RECORDER_STATE_SHIFT &
                                 ((1U << RECORDER_STATE_BITS) - 1));
}

/* A communicator: its word is odd while it is written, and 0 before. */
struct recorder_comm {
    _Atomic uint64_t word;
    uint64_t id;
    uint64_t first_member; /* position of its first rank among all that were
                              ever stored; the last RECORDER_MEMBERS are kept */
    uint64_t n_forming;    /* collectives that formed it */
    uint32_t size;
    uint32_t rank;
    uint32_t is_prefix; /* its members are 0 to size - 1, stored nowhere */
    uint32_t is_open;
    char name[LIMIT_NAME]; /* what the program calls it */
};

/* One moment on all clocks. */
struct recorder_moment {
    uint64_t counter;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC */
    uint64_t wall_ns;      /* CLOCK_REALTIME */
    uint64_t error_ns;     /* they were read within this time of each other */
};

enum {
    RECORDER_MOMENTS = 3,
};

/* The moments say how fast the counter runs, and when it was what. */
struct recorder_calibration {
    struct recorder_moment moments[RECORDER_MOMENTS];
    _Atomic uint64_t n_moments; /* how many there have been; at least 1 */
};

/* Returns the place of the n-th moment, counted from 0: the first one stays, the
 * others take turns. */
static inline uint64_t
recorder_moment_place(uint64_t n)
{
    return n == 0 ? 0 : 1 + n % 2;
}

/* The coordinator's clock beside this host's. */
struct recorder_comparison {
    int64_t offset_ns;    /* its CLOCK_REALTIME minus our CLOCK_MONOTONIC */
    uint64_t error_ns;    /* the offset is wrong by less, at that time */
    uint64_t compared_ns; /* CLOCK_MONOTONIC */
};

enum {
    RECORDER_COMPARISONS = 2, /* take turns */
};

/* Returns by how much a comparison is wrong at a time of CLOCK_MONOTONIC. */
static inline uint64_t
recorder_comparison_error(const struct recorder_comparison *comparison,
                          uint64_t monotonic_ns)
{
    const uint64_t distance_ns = comparison->compared_ns < monotonic_ns
                                     ? monotonic_ns - comparison->compared_ns
                                     : comparison->compared_ns - monotonic_ns;
    const uint64_t drift_ns = distance_ns / RECORDER_DRIFT_PARTS;

    return comparison->error_ns > UINT64_MAX - drift_ns
               ? UINT64_MAX
               : comparison->error_ns + drift_ns;
}

/* Returns whether one clock cannot have both offsets: the coordinator's has been
 * set, or another coordinator answers. */
static inline bool
recorder_comparisons_contradict(const struct recorder_comparison *former,
                                const struct recorder_comparison *latter)
{
    const uint64_t before = (uint64_t)former->offset_ns;
    const uint64_t after = (uint64_t)latter->offset_ns;
    const uint64_t distance_ns =
        former->offset_ns < latter->offset_ns ? after - before : before - after;
    const uint64_t error_ns =
        recorder_comparison_error(former, latter->compared_ns);

    return distance_ns > latter->error_ns &&
           distance_ns - latter->error_ns > error_ns;
}

struct recorder_header {
    uint64_t magic;
    uint32_t version;
    uint32_t n_names;
    uint32_t n_comms;
    uint32_t n_members;
    uint32_t n_slots;
    uint32_t slot_bytes;
    uint64_t n_bytes; /* of all */
    uint32_t rank;
    uint32_t size;
    uint32_t pid;
    uint32_t is_processor_counter; /* times are of it, else CLOCK_MONOTONIC */
    uint64_t epoch;
    uint64_t run; /* random, the same for all ranks of this world */
    char job[LIMIT_NAME];
    char host[LIMIT_NAME];
    uint64_t clock_id; /* ranks with the same have the same CLOCK_MONOTONIC; 0:
                          not known */
    struct recorder_calibration calibration;
    struct recorder_comparison comparisons[RECORDER_COMPARISONS];
    _Atomic uint64_t n_comparisons; /* how many there have been; the last one is
                                       the best that does not contradict it */
    _Atomic uint64_t n_dropped;     /* calls for which no slot was free */
    _Atomic uint64_t n_members_stored;
    _Atomic uint64_t is_closed; /* the session was left */
};

struct recorder_memory {
    struct recorder_header header;
    char names[RECORDER_TABLES][RECORDER_NAMES][RECORDER_NAME_BYTES];
    struct recorder_comm comms[LIMIT_RECORDER_COMMS];
    uint32_t members[LIMIT_RECORDER_MEMBERS];
    _Alignas(128) struct recorder_slot slots[LIMIT_RECORDER_CALLS];
};

static_assert(sizeof(struct recorder_memory) <= LIMIT_RECORDER_BYTES,
              "the recorder is bounded");

#endif
