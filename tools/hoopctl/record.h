/*
 * hoopctl/record.h - the records of a job's ranks, and the formats in which
 * they are written
 *
 * Private to hoopctl record.
 */

#ifndef HOOPCTL_RECORD_H
#define HOOPCTL_RECORD_H

#include <hoop/control.h>
#include <hoop/recorder.h>
#include <stdbool.h>
#include <stdio.h>

/* One rank's record. What it points to lives as long as its recording. */
struct rank_record {
    hoop_recording_t *recording;
    const struct hoop_recorded_rank *origin;
    const struct hoop_recorded_call *calls;
    size_t n_calls;
    const struct hoop_recorded_comm *comms;
    size_t n_comms;
    uint64_t known_ns; /* until when it is known to have lived */
    bool is_running;   /* on this host, and it writes the record */
};

/* In the order of their ranks. */
struct record_set {
    struct rank_record *ranks;
    size_t n_ranks;
    bool is_of_world; /* they are those of one world, as its coordinator says */
    struct hoop_recorded_alignment alignment; /* of all times */
};

/* Say that there is no memory, and return HOOP_E_EXHAUSTED. */
enum hoop_status
record_no_memory(void);
/* Takes a recording, of which nobody knows whether its rank runs. Prints itself
 * what is wrong. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
record_set_add(struct record_set *set, hoop_recording_t *recording);

/*
 * Leave only the records that members of the job have written which options
 * name, and get those that are missing from the coordinator. Says which cannot be
 * had, and prints itself what is wrong; then the set has those that could be
 * had. Handle: whatever hoop_control_activities() and hoop_control_recording()
 * return.
 */
enum hoop_status
record_fetch(const struct hoop_control_options *options,
             struct record_set *set);

/* Returns the communicator of a call, or NULL: nothing is known of it. */
const struct hoop_recorded_comm *
record_find_comm(const struct rank_record *rank, uint64_t id);
/* Returns the world rank of a communicator's rank, or HOOP_NO_RANK. */
uint32_t
record_world_rank(const struct rank_record *rank,
                  uint64_t comm,
                  uint32_t comm_rank);
/* Write a time as "2026-11-27 14:20:03" of this host's time zone, and return
 * out_text. */
enum {
    RECORD_TIME_TEXT = 32
};
const char *
record_time_text(uint64_t time_ns, char out_text[RECORD_TIME_TEXT]);
/* "coordinator", "host", "each host" */
const char *
record_clock_name(enum hoop_recorded_clock clock);
/* "called", "begun", "done", "failed" */
const char *
record_state_name(enum hoop_recorded_state state);
/* Returns when the call ended or, of one that did not, when its rank is known
 * to have lived last. */
uint64_t
record_call_end_ns(const struct rank_record *rank,
                   const struct hoop_recorded_call *call);

/* Write all records, at least one. Errors of the stream are the caller's to
 * find. Of each rank, the text lists n_last_calls. */
void
record_write_text(const struct record_set *set, size_t n_last_calls, FILE *out);
void
record_write_json(const struct record_set *set, FILE *out);
/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
record_write_chrome(const struct record_set *set, FILE *out);
/* From which number on all ranks have kept the calls of a communicator. */
struct record_start {
    uint64_t comm;
    uint64_t number;
    size_t n_ranks; /* of how many, in their order, this is known */
};

struct record_starts {
    struct record_start *starts; /* for the caller to free */
    size_t n_starts;             /* communicators that are not here have kept
                                    all calls */
};

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
record_starts_find(const struct record_set *set,
                   struct record_starts *out_starts);
/* Write one rank's record from there on. */
void
record_write_torch(const struct record_starts *starts,
                   const struct rank_record *rank,
                   FILE *out);

#endif
