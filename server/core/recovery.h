/*
 * core/recovery.h - how the parts of a record are read
 *
 * Between core/recovery.c, which knows what a cluster is made of, and
 * core/recovery_job.c, which knows what a job is. What is to be called stands in
 * core/cluster.h.
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

/* Reads a key from its front. */
struct key_reader {
    const uint8_t *at;
    size_t n_left;
};

/* False: the key ends too soon. */
bool
recovery_key_number(struct key_reader *key, uint64_t *out_number);

/* HOOP_E_DATA_LOSS, with its text. */
enum hoop_status
recovery_key_refuse(void);
enum hoop_status
recovery_mismatch(const struct job *job, const char *what);

/* A value has been read, n_fields of it known ones: later ones are passed over,
 * they are a newer release's. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
recovery_close(struct unpack *unpack, size_t n_known, size_t n_fields);

/* Back from the wall clock; what was before this machine began is 0, and
 * nothing has happened in the future. */
uint64_t
recovery_time(const struct cluster *cluster, struct unpack *unpack);

/* A record of the job that is being read, cluster->recovering. */
enum hoop_status
recovery_part(struct cluster *cluster,
              enum journal_part part,
              struct key_reader *key,
              struct unpack *unpack);

/* All of the job has been read. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
recovery_job_finish(struct cluster *cluster, struct job *job);

#endif
