/*
 * core/recovery.h - how records are read
 *
 * The interface between core/recovery.c, which restores a cluster, and
 * core/recovery.c, which restores a job. The functions for the service are
 * in core/cluster.h.
 */

#ifndef CORE_RECOVERY_H
#define CORE_RECOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/journal.h"

struct cluster;
struct job;
struct unpack;

/* Reads the numbers of a key from its front. */
struct journal_key_reader {
    const uint8_t *at;
    size_t n_left;
};

/* Read the next number. Returns false if the key ends before it. */
bool
recovery_read_key_number(struct journal_key_reader *key, uint64_t *out_number);

/* Raise HOOP_E_DATA_LOSS. */
enum hoop_status
recovery_raise_bad_key(void);
enum hoop_status
recovery_raise_mismatch(const struct job *job, const char *what);

/* Finish reading a value with n_fields fields, of which n_known are known.
 * Later fields, written by a newer release, are skipped. Handle:
 * HOOP_E_DATA_LOSS. */
enum hoop_status
recovery_finish_reading_value(struct unpack *unpack,
                              size_t n_known,
                              size_t n_fields);

/* Read a wall clock time and convert it to the cluster's clock. A time before
 * this clock's start becomes 0, and a time in the future becomes now. */
uint64_t
recovery_read_time(const struct cluster *cluster, struct unpack *unpack);

/* Read a record of the job that is being restored, cluster->recovering. */
enum hoop_status
recovery_read_job_part(struct cluster *cluster,
                       enum journal_job_part part,
                       struct journal_key_reader *key,
                       struct unpack *unpack);

/* Call after all records of the job. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
recovery_job_finish(struct cluster *cluster, struct job *job);

#endif
