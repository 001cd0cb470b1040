/* hoopctl/local_job.h - finds the jobs that hooprun runs for this user here */

#ifndef HOOPCTL_LOCAL_JOB_H
#define HOOPCTL_LOCAL_JOB_H

#include <hoop/control.h>
#include <limits.h>

/*
 * If the user says neither by options nor by the environment how to reach a
 * coordinator, set the environment variables that do, as the workers of the
 * only job have them that hooprun runs here. options.coordinator and
 * options.job choose among several.
 *
 * Handle: HOOP_E_INVALID (there are several, which are printed),
 * HOOP_E_NOT_FOUND (there is none, and the user names no coordinator).
 */
enum hoop_status
local_job_adopt(const struct hoop_control_options *options);

/* Tell who asks after the end of a job why there is nothing to ask. job may be
 * NULL: any. */
void
local_job_tell_absence(const char *job);

/*
 * Write the folder (HOOP_RECORDER_DIR) in which the workers of the only job keep
 * their records that hooprun runs here, or of the one that options.job names;
 * "": there is none.
 *
 * Handle: HOOP_E_INVALID (there are several jobs, which are printed).
 */
enum hoop_status
local_job_find_records(const struct hoop_control_options *options,
                       char out_path[PATH_MAX]);

#endif
