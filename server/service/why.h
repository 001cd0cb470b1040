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

struct pack;

/* Write the verdict on a job, and the places of its members in the order of
 * diagnosis_order(); out_order has room for all of them, or is NULL. Handle:
 * HOOP_E_EXHAUSTED (no memory). */
enum hoop_status
why_explain(const struct cluster_job_detail *job,
            struct verdict *out_verdict,
            uint32_t *out_order);

/* Encode the reply to hoop.v1.Status/Why. Handle: HOOP_E_EXHAUSTED (no
 * memory). */
enum hoop_status
why_encode(const struct cluster_job_detail *job, struct pack *pack);

#endif
