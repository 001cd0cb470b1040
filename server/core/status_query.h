/* core/status_query.h - jobs and members as operators see them */

#ifndef CORE_STATUS_QUERY_H
#define CORE_STATUS_QUERY_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_reply;
struct job;

/* Answer CLUSTER_JOBS (job is NULL); answer or park CLUSTER_JOB. */
enum hoop_status
status_query_jobs(struct cluster *cluster,
                  struct job *job,
                  const struct cluster_event *event);
enum hoop_status
status_query_job(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event);

/* Fill in reply with the job of world. The members are those of that world;
 * everything else is the root job's if world has formed. Activities are left
 * out. */
void
status_query_fill_reply(struct cluster *cluster,
                        struct job *world,
                        enum cluster_job_view view,
                        struct cluster_reply *reply);

#endif
