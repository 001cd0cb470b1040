/*
 * service/why.h - explains a job: from what the core knows to a verdict
 *
 * Makes a snapshot (diagnosis/snapshot.h) of the members and of what the ranks
 * have told of their activities. Thread: any.
 */

#ifndef SERVICE_WHY_H
#define SERVICE_WHY_H

#include "hoop/status.h"

#include "core/action.h"
#include "diagnosis/diagnosis.h"

struct activity_details;
struct pack;

/* The snapshot of a job, and what it points to. Zeroed: there is none. */
struct job_snapshot {
    struct snapshot snapshot;
    struct snapshot_rank *ranks;      /* [n_members] of the job; owned */
    struct activity_details *details; /* likewise, decoded */
};

/* Make the snapshot of a job, whose texts it borrows. Handle: HOOP_E_EXHAUSTED
 * (no memory). */
enum hoop_status
job_snapshot_init(const struct cluster_job_detail *from,
                  struct job_snapshot *out_job);

void
job_snapshot_deinit(struct job_snapshot *job);

static inline void
job_snapshot_deinit_at(struct job_snapshot *job)
{
    job_snapshot_deinit(job);
}

/* Write the verdict on a job. Handle: HOOP_E_EXHAUSTED (no memory). */
enum hoop_status
why_explain(const struct cluster_job_detail *job, struct verdict *out_verdict);

/* Encode the reply to hoop.v1.Status/Why. Handle: HOOP_E_EXHAUSTED (no
 * memory). */
enum hoop_status
why_encode(const struct cluster_job_detail *job, struct pack *pack);

#endif
