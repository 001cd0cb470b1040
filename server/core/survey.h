/* core/survey.h - what operators see of jobs and members */

#ifndef CORE_SURVEY_H
#define CORE_SURVEY_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_reply;
struct job;

/* Answer CLUSTER_JOBS (job is NULL), answer or park CLUSTER_JOB. */
enum hoop_status
survey_jobs(struct cluster *cluster,
            struct job *job,
            const struct cluster_event *event);
enum hoop_status
survey_job(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event);

/* Describe job in reply, without activities. */
void
survey_fill(struct cluster *cluster,
            struct job *job,
            enum cluster_view view,
            struct cluster_reply *reply);

#endif
