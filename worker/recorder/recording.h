/*
 * recorder/recording.h - reads the memory of a recorder (hoop/recorder.h)
 *
 * Reading has two halves: a copy in which every record is whole, taken while
 * the rank may be writing, and a pure parser of that copy, which believes
 * nothing.
 */

#ifndef RECORDER_RECORDING_H
#define RECORDER_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/recorder.h"

#include "recorder/layout.h"

/* Private to recorder/. */
struct hoop_recording {
    struct hoop_recorded_rank origin;
    struct hoop_recorded_call *calls;
    size_t n_calls;
    struct hoop_recorded_comm *comms;
    size_t n_comms;
    uint64_t *n_forming; /* [n_comms]: collectives that formed it */
    uint32_t *members;   /* of all communicators */
    char names[RECORDER_TABLES][RECORDER_NAMES][RECORDER_NAME_BYTES];
    /* Its clocks. Differences of times are modulo 2^64. */
    uint64_t clock_id;             /* as in struct recorder_header */
    uint64_t wall_minus_monotonic; /* its times minus CLOCK_MONOTONIC */
    bool is_compared;              /* with the coordinator's clock */
    struct recorder_comparison comparison;
};

/* Copy the file at fd, which stays the caller's, as it is now. The caller frees
 * the copy. Handle: HOOP_E_INVALID, HOOP_E_DATA_LOSS, HOOP_E_EXHAUSTED. */
enum hoop_status
recording_copy(int fd, struct recorder_memory **out_memory);

/* Parse a copy of a recorder's memory. Names that are numbers in it are looked
 * up in its own tables. Handle: HOOP_E_INVALID, HOOP_E_DATA_LOSS,
 * HOOP_E_EXHAUSTED. */
enum hoop_status
recording_parse(const uint8_t *bytes,
                size_t n_bytes,
                hoop_recording_t **out_recording);

#endif
