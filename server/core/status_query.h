/* core/status_query.h - what operators see of jobs and members */

#ifndef CORE_STATUS_QUERY_H
#define CORE_STATUS_QUERY_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_reply;
struct job;

/* Answer CLUSTER_JOBS (job is NULL), answer or park CLUSTER_JOB. */
enum hoop_status
status_query_jobs(struct cluster *cluster,
                  struct job *job,
                  const struct cluster_event *event);
enum hoop_status
status_query_job(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event);

/* Describe in reply the job of world: its members are those of that world, all else
 * is the job's, unless world has not formed. Without activities. */
void
status_query_fill(struct cluster *cluster,
                  struct job *world,
                  enum cluster_view view,
                  struct cluster_reply *reply);

#endif
