/*
 * session/config.h - resolves the configuration with which a session joins
 *
 * Each setting comes from the options of the call, else from the environment,
 * else (rank and world size only) from a launcher's variables, else from the
 * default. A launcher's variables count only if they contradict no setting that
 * was given: all processes that a user starts in a Slurm shell inherit
 * SLURM_PROCID=0.
 */

#ifndef SESSION_CONFIG_H
#define SESSION_CONFIG_H

#include "hoop/session.h"

#include "base/config.h"
#include "rpc/messages/rendezvous_messages.h"

/*
 * Resolve all settings. options may be NULL. Reads the environment, the token
 * file and, unless this process asks for a rank other than 0, the file of
 * HOOP_TUNING.
 * Handle: HOOP_E_INVALID (the text names the setting), HOOP_E_NOT_FOUND (a file
 * is missing).
 * Thread: any, while no thread calls setenv().
 */
enum hoop_status
config_resolve(const struct hoop_join_options *options,
               struct config *out_config);

/* Configure the process-wide log, unless an earlier config that enables logging
 * has already done so. Thread: any. */
void
config_apply_log(const struct config *config);

/* The job name that the user knows, also for a world by which the job has
 * grown. Borrowed. */
const char *
config_job_name(const struct config *config);

#endif
