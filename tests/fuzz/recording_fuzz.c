/*
 * tests/fuzz/recording_fuzz.c - a record that is read can be believed
 *
 * Most of a record is empty, so an input is a list of changes of an empty one:
 * two bytes of place, in words of four bytes, and four bytes that are written
 * there. Places are counted from the header, or from the names, communicators,
 * members or slots, as the upper bits of the place say.
 */

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "recorder/layout.h"
#include "recorder/recording.h"

enum {
    CHANGE_BYTES = 6,
    AREA_SHIFT = 13,
};

static void
record_init(struct recorder_memory *memory)
{
    struct recorder_header *header = &memory->header;

    memset(memory, 0, sizeof(*memory));
    header->magic = RECORDER_MAGIC;
    header->version = RECORDER_VERSION;
    header->n_names = RECORDER_NAMES;
    header->n_comms = LIMIT_RECORDER_COMMS;
    header->n_members = LIMIT_RECORDER_MEMBERS;
    header->n_slots = LIMIT_RECORDER_CALLS;
    header->slot_bytes = sizeof(struct recorder_slot);
    header->n_bytes = sizeof(*memory);
    header->size = 4;
    header->calibration.n_moments = 1;
}

static size_t
area_offset(unsigned area)
{
    static const size_t offsets[] = {
        0,
        offsetof(struct recorder_memory, header.calibration),
        offsetof(struct recorder_memory, names),
        offsetof(struct recorder_memory, comms),
        offsetof(struct recorder_memory, comms[1]),
        offsetof(struct recorder_memory, members),
        offsetof(struct recorder_memory, slots),
        offsetof(struct recorder_memory, slots[1]),
    };

    return offsets[area];
}

static void
record_change(struct recorder_memory *memory, const uint8_t *change)
{
    const unsigned place = change[0] | (unsigned)change[1] << 8;
    const size_t offset = area_offset(place >> AREA_SHIFT) +
                          4 * (size_t)(place & ((1U << AREA_SHIFT) - 1));

    if (offset + 4 <= sizeof(*memory))
        memcpy((uint8_t *)memory + offset, change + 2, 4);
}

static void
require_texts_end(const char *text, size_t n_room)
{
    fuzz_require(memchr(text, '\0', n_room) != NULL);
}

static void
require_comms(const hoop_recording_t *recording, uint32_t size)
{
    size_t n_comms;
    const struct hoop_recorded_comm *comms =
        hoop_recording_comms(recording, &n_comms);

    for (size_t i = 0; i < n_comms; i++) {
        require_texts_end(comms[i].name, sizeof(comms[i].name));
        fuzz_require(comms[i].size > 0 && comms[i].size <= size);
        fuzz_require(comms[i].rank < comms[i].size);
        for (uint32_t rank = 0; comms[i].ranks && rank < comms[i].size; rank++)
            fuzz_require(comms[i].ranks[rank] < size);
    }
}

static void
require_calls(const hoop_recording_t *recording)
{
    size_t n_calls;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);

    for (size_t i = 0; i < n_calls; i++) {
        fuzz_require(calls[i].state >= HOOP_RECORDED_CALLED &&
                     calls[i].state <= HOOP_RECORDED_FAILED);
        fuzz_require(i == 0 || calls[i - 1].place <= calls[i].place);
        require_texts_end(calls[i].kind, 32);
        require_texts_end(calls[i].dtype, 32);
        require_texts_end(calls[i].reduce_op, 32);
        require_texts_end(calls[i].algorithm, 32);
    }
}

/* Times that are not there do not appear, and others do not vanish. */
static void
require_alignment(hoop_recording_t *recording)
{
    struct hoop_recorded_alignment alignment;
    size_t n_calls;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    size_t n_ended = 0;

    for (size_t i = 0; i < n_calls; i++)
        n_ended += calls[i].ended_ns != 0;
    hoop_recordings_align(&recording, 1, &alignment);
    for (size_t i = 0; i < n_calls; i++)
        n_ended -= calls[i].ended_ns != 0;
    fuzz_require(n_ended == 0);
    fuzz_require(alignment.error_ns >=
                 hoop_recording_origin(recording)->clock_error_ns);
    require_calls(recording);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    hoop_recording_t *recording = NULL;
    struct recorder_memory *memory =
        aligned_alloc(_Alignof(struct recorder_memory), sizeof(*memory));

    if (!memory)
        return 0;
    record_init(memory);
    for (size_t i = 0; i + CHANGE_BYTES <= n_bytes; i += CHANGE_BYTES)
        record_change(memory, bytes + i);
    if (recording_parse((const uint8_t *)memory, sizeof(*memory), &recording) ==
        HOOP_OK) {
        const struct hoop_recorded_rank *origin =
            hoop_recording_origin(recording);

        require_texts_end(origin->job, sizeof(origin->job));
        require_texts_end(origin->host, sizeof(origin->host));
        fuzz_require(origin->rank < origin->size);
        require_comms(recording, origin->size);
        require_calls(recording);
        require_alignment(recording);
        hoop_recording_destroy(recording);
    }
    free(memory);
    return 0;
}
