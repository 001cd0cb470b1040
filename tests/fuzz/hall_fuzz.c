/*
 * tests/fuzz/hall_fuzz.c - a rank that writes anything into the memory of all
 *
 * Rank 1 of two shares a shared region with this rank, whose engine has
 * collectives under way in it, and between two turns of that does what the
 * input says: it writes any bytes at any place, posts as a rank does, nearly or
 * quite, says that it has read or left. With the first byte from 128 on, there
 * is no engine, but what it does with a shared region is done one by one.
 * Nothing is read or written outside of the shared region and the buffers; and
 * when rank 1 is lost, everything that was begun ends, or can be cancelled
 * where it says that it has left.
 */

#include <string.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "engine_pair.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

enum {
    SLOT = 4096,
    STEPS_MAX = 96,
    OPS_MAX = 3,
    COUNT_MAX = 3000, /* int32: several slots */
    GUARD_COUNT = 16,
    GUARD = 0x5a5a5a5a,
    TURNS_MAX = 64, /* after which all must have ended */
    BARE = 128,     /* of the first byte */
};

struct running {
    struct op *op; /* NULL: none */
    int32_t values[GUARD_COUNT + COUNT_MAX + GUARD_COUNT];
};

static struct running ops[OPS_MAX];
static struct shm_region *near;
static struct shm_region *far;

static struct shm_region_rank_control *
far_desk(void)
{
    return &near->control->rank_controls[1];
}

static size_t
number_take(struct input *input)
{
    const size_t high = input_byte(input);

    return high << 8 | input_byte(input);
}

/* What rank 0 has posted last, with the bytes of rank 1 and some field of the
 * input's; how: which. */
static void
post_copy(struct input *input, uint8_t how)
{
    struct shm_region_header header = near->last;
    const size_t n_bytes = number_take(input) % (SLOT + 1);
    const uint64_t word = (uint64_t)number_take(input) << (how & 0x30);
    uint32_t late;

    switch (how & 15) {
    case 0:
        header.sequence ^= word;
        break;
    case 1:
        header.signature ^= word;
        break;
    case 2:
        header.failed = word;
        break;
    case 3:
        header.count = word;
        header.signature ^= 1;
        break;
    case 4:
        header.name = (uint8_t)word;
        header.dtype = header.reduce_op = (uint8_t)(word >> 8);
        header.signature ^= 1;
        break;
    case 5:
        header.root = (uint32_t)word;
        header.flags = (uint8_t)word;
        header.signature ^= 1;
        break;
    case 6:
        header.sequence = sequence_next(header.sequence);
        break;
    default:
        break;
    }
    if (header.sequence == 0 ||
        !shm_region_can_publish(far, header.sequence, n_bytes, &late))
        return;
    uint8_t *place = shm_region_reserve(far, header.sequence, n_bytes);
    const struct input part = input_part(input, how >> 4);
    if (!place)
        return;
    memcpy(place, part.bytes, part.n_bytes < n_bytes ? part.n_bytes : n_bytes);
    shm_region_publish(far, &header, n_bytes);
}

static void
far_step(struct input *input, uint8_t what)
{
    const size_t at = number_take(input);

    switch (what & 7) {
    case 0: {
        /* Of its own control block, where its lines, its word and its
         * departure are. */
        const struct input part = input_part(input, input_byte(input));
        uint8_t *rank_control = (uint8_t *)far_desk();
        const size_t place = at % sizeof(struct shm_region_rank_control);
        const size_t n_left = sizeof(struct shm_region_rank_control) - place;

        memcpy(rank_control + place, part.bytes,
               part.n_bytes < n_left ? part.n_bytes : n_left);
        return;
    }
    case 1: {
        const size_t place = (at << 8 | input_byte(input)) % far->n_mapped;
        const struct input part = input_part(input, input_byte(input));
        const size_t n_left = far->n_mapped - place;

        memcpy(far->base + place, part.bytes,
               part.n_bytes < n_left ? part.n_bytes : n_left);
        return;
    }
    case 2:
    case 3:
        post_copy(input, what >> 3 | (uint8_t)(at & 0xe0));
        return;
    case 4:
        atomic_store(&far_desk()->finished,
                     what & 8 ? sequence_end(at) : near->last.sequence);
        return;
    case 5:
        far_desk()->lines[at % SHM_REGION_N_LINES].where = what >> 3;
        return;
    case 6:
        atomic_store(&far->control->sleepers, (uint64_t)at << (what >> 3));
        return;
    default: {
        struct shm_region_departure *departure = &far_desk()->departure;

        departure->n_calls = what >> 3;
        departure->failed_op = at & 15;
        departure->failed_status = at >> 4;
        memset(departure->failed_text, 'x', sizeof(departure->failed_text));
        if (what & 128)
            memset(departure->calls, what, sizeof(departure->calls));
        atomic_store(&departure->has_left, 1);
        return;
    }
    }
}

/* With an engine. */

static struct engine_collective
collective_of(const struct comm_context *context, uint8_t what, int32_t *values)
{
    static const struct {
        enum call_name name;
        const struct algorithm *algorithms[2]; /* the other reads buffers */
    } kinds[] = {
        {CALL_ALLREDUCE,
         {&algorithm_allreduce_flat, &algorithm_allreduce_direct}},
        {CALL_BROADCAST,
         {&algorithm_broadcast_flat, &algorithm_broadcast_direct}},
        {CALL_REDUCE, {&algorithm_reduce_flat, &algorithm_reduce_direct}},
        {CALL_ALLREDUCE,
         {&algorithm_allreduce_flat_blocks, &algorithm_allreduce_direct}},
    };
    const bool has_cma = context_plan_shm_region(context).has_cma;
    const size_t count = what & 8 ? COUNT_MAX : 1 + (what >> 4);
    const uint32_t root = what >> 2 & 1;

    return (struct engine_collective){
        .call = {.name = kinds[what & 3].name,
                 .dtype = HOOP_INT32,
                 .reduce_op =
                     kinds[what & 3].name == CALL_BROADCAST ? 0 : HOOP_SUM,
                 .root = kinds[what & 3].name == CALL_ALLREDUCE ? 0 : root,
                 .count = count},
        .algorithm = kinds[what & 3].algorithms[has_cma && what & 8],
        .shape = {.rank = 0,
                  .size = 2,
                  .root = kinds[what & 3].name == CALL_ALLREDUCE ? 0 : root,
                  .is_in_place = true,
                  .count = count,
                  .granule = 16,
                  .slot_capacity = context_shm_slot_bytes(context) / 4,
                  .has_cma = has_cma},
        .input = values,
        .output = values,
    };
}

static void
op_start_collective(struct comm_context *context, uint8_t what)
{
    for (int i = 0; i < OPS_MAX; i++) {
        if (ops[i].op)
            continue;
        const struct engine_collective collective =
            collective_of(context, what, ops[i].values + GUARD_COUNT);

        if (engine_start_collective(context, &collective, &ops[i].op) !=
            HOOP_OK)
            ops[i].op = NULL;
        return;
    }
}

static void
ops_look(void)
{
    for (int i = 0; i < OPS_MAX; i++) {
        if (ops[i].op && engine_wait(ops[i].op, 0) != HOOP_E_PENDING)
            ops[i].op = NULL;
        for (int k = 0; k < GUARD_COUNT; k++) {
            fuzz_require(ops[i].values[k] == GUARD);
            fuzz_require(ops[i].values[GUARD_COUNT + COUNT_MAX + k] == GUARD);
        }
    }
}

static void
turns_take(struct engine *engine)
{
    for (int i = 0; i < TURNS_MAX; i++)
        (void)engine_progress_background(engine);
    ops_look();
}

/* Who says that it has left in good order is believed, and waited for no longer
 * than anybody: what is left then can be cancelled. */
static void
ops_end(struct engine *engine)
{
    engine_declare_dead(engine, 1, "it was killed");
    turns_take(engine);
    const bool has_left = atomic_load(&far_desk()->departure.has_left);
    for (int i = 0; i < OPS_MAX; i++) {
        fuzz_require(!ops[i].op || has_left);
        if (ops[i].op)
            engine_cancel_op(ops[i].op);
    }
    turns_take(engine);
    for (int i = 0; i < OPS_MAX; i++)
        fuzz_require(!ops[i].op);
}

static void
engine_play(struct input *input, uint8_t kind)
{
    static struct engine_pair engine_pair;
    struct wakeup_handle bell;
    struct cma_address place;

    engine_pair_open_checking(&engine_pair, kind & 1 ? ENGINE_CHECK_BEFORE_DATA
                                                     : ENGINE_CHECK_FRAMES);
    struct engine *engine = engine_pair.sides[0].engine;
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    fuzz_require(engine_wakeup_handle(engine_pair.sides[1].engine, &bell) ==
                 HOOP_OK);
    fuzz_require(engine_import_wakeup(engine, 1, &bell) == HOOP_OK);
    if (kind & 2 &&
        engine_publish_cma_address(engine_pair.sides[1].engine, &place) ==
            HOOP_OK &&
        shm_region_cma_attach(near, 1, (uint32_t)getpid(), &place) == HOOP_OK)
        fuzz_require(shm_region_enable_cma(near) == HOOP_OK);
    context_set_shm_region(context, near);
    for (int i = 0; i < STEPS_MAX && input->n_bytes > 0; i++) {
        const uint8_t what = input_byte(input);

        if (what < 64)
            op_start_collective(context, (uint8_t)(what << 2 | what >> 4));
        else if (what >= 96)
            far_step(input, (uint8_t)(what - 96));
        (void)engine_progress_background(engine);
        ops_look();
    }
    ops_end(engine);
    engine_pair_close(&engine_pair);
}

/* Without. */

/* As much as there may be, from where it may lie: all of it is there. */
static void
bytes_check(struct input *input)
{
    const size_t offset = number_take(input);
    const size_t n_bytes = number_take(input) % (2 * SLOT);
    const volatile uint8_t *found =
        shm_region_payload(near, 1, offset, n_bytes);

    if (!found)
        return;
    fuzz_require(found >= near->base);
    fuzz_require(found + n_bytes <= near->base + near->n_mapped);
    for (size_t i = 0; i < n_bytes; i++)
        (void)found[i];
}

static void
near_post(struct input *input, uint64_t sequence)
{
    const struct shm_region_header header = {.sequence = sequence,
                                             .signature = 7};
    const size_t n_bytes = number_take(input) % (SLOT + 1);
    uint32_t late = 0;

    if (!shm_region_can_publish(near, sequence, n_bytes, &late)) {
        fuzz_require(late == 1);
        return;
    }
    uint8_t *place = shm_region_reserve(near, sequence, n_bytes);
    fuzz_require(place && place >= near->base);
    fuzz_require(place + n_bytes <= near->base + near->n_mapped);
    memset(place, 1, n_bytes);
    shm_region_publish(near, &header, n_bytes);
}

static void
near_step(struct input *input, uint8_t what)
{
    static uint64_t number;
    const uint64_t sequence =
        sequence_make(1 + (number & 0xff), what >> 6, what >> 4 & 3);
    struct shm_region_header header;

    switch (what & 7) {
    case 0:
        number = input_byte(input);
        return;
    case 1:
        near_post(input, sequence);
        return;
    case 2:
        if (shm_region_poll(near, 1, sequence))
            fuzz_require(shm_region_header_with_call(near, 1)->sequence ==
                         sequence);
        return;
    case 3:
        bytes_check(input);
        return;
    case 4:
        for (int i = 0; i < 2 && shm_region_take_unseen_post(near, 1, &header);
             i++)
            fuzz_require(header.sequence != 0);
        return;
    case 5:
        shm_region_mark_finished(near, sequence);
        return;
    case 6:
        shm_region_set_sleeping(near);
        fuzz_require((shm_region_take_sleepers(near) & ~(uint64_t)2) == 0);
        shm_region_clear_sleeping(near);
        return;
    default:
        if (what & 8)
            shm_region_retract_posts(near, sequence_number(sequence));
        else
            shm_region_skip_to_op(near, sequence_number(sequence));
        return;
    }
}

static void
hall_play(struct input *input)
{
    for (int i = 0; i < STEPS_MAX && input->n_bytes > 0; i++) {
        const uint8_t what = input_byte(input);

        if (what & 1)
            far_step(input, what >> 1);
        else
            near_step(input, input_byte(input));
    }
    shm_region_destroy(near);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    const uint8_t kind = input_byte(&input);
    struct shared_memory_handle place;

    fuzz_require(shm_region_create(2, SLOT, &place, &near) == HOOP_OK);
    fuzz_require(shm_region_open(&place, 1, 2, &far) == HOOP_OK);
    shm_region_close_fd(near);
    for (int i = 0; i < OPS_MAX; i++) {
        ops[i].op = NULL;
        for (int k = 0; k < 2 * GUARD_COUNT + COUNT_MAX; k++)
            ops[i].values[k] = GUARD;
    }
    if (kind < BARE)
        engine_play(&input, kind);
    else
        hall_play(&input);
    shm_region_destroy(far);
    return 0;
}
