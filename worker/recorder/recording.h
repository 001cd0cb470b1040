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

/* Parse a copy of a recorder's memory. Names that are numbers in it are looked
 * up in its own tables. Handle: HOOP_E_INVALID, HOOP_E_DATA_LOSS,
 * HOOP_E_EXHAUSTED. */
enum hoop_status
recording_parse(const uint8_t *bytes,
                size_t n_bytes,
                hoop_recording_t **out_recording);

#endif
