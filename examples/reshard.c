/*
 * examples/reshard.c - brings one tensor into several layouts over the ranks
 *
 *   hooprun -n 8 reshard
 *   hooprun -n 8 reshard --from 2x4:S0,S1 --to 4x2:S01,R --to 2x2@4:R,S10
 *
 * The program makes a distributed tensor, saves it as a checkpoint, and brings
 * it into each of the other layouts twice: it loads the checkpoint into the
 * layout, and it redistributes the tensor. Hashes show whether the result is
 * the same tensor. reshard/layout.h explains the notation, and
 * reshard/resharding.c calls hoop.
 */

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "hoop/hoop.h"

#include "reshard/folder.h"
#include "reshard/options.h"
#include "reshard/problem.h"
#include "reshard/resharding.h"
#include "reshard/task.h"

enum {
    FAREWELL_MS = 5000,
};

static enum hoop_status
folder_run(hoop_session_t *session,
           const struct options *options,
           const struct task *task)
{
    hoop_comm_t *world = hoop_world(session);
    struct folder folder = {0};

    enum hoop_status status = folder_open(options->folder, world, &folder);
    if (status != HOOP_OK)
        return status;
    status = resharding_run(session, &(struct resharding_options){
                                         .task = task,
                                         .folder = folder.path,
                                         .is_damaged = options->is_damaged,
                                     });
    if (hoop_comm_rank(world) != 0)
        return status;
    if (options->is_kept || !folder.is_temporary)
        printf("\nThe checkpoint is in %s\n", folder.path);
    else
        folder_remove(&folder);
    return status;
}

/* All ranks find the same problem, and rank 0 prints it. */
static enum hoop_status
task_run(hoop_session_t *session, const struct options *options)
{
    const hoop_comm_t *world = hoop_world(session);
    struct problem problem;
    struct task task;

    if (task_make(options, hoop_comm_size(world), &task, &problem))
        return folder_run(session, options, &task);
    if (hoop_comm_rank(world) == 0)
        warnx("%s", problem.text);
    return HOOP_E_INVALID;
}

/* hooprun ends all ranks when one has failed. So a rank waits here until the
 * one that prints the reason, or removes the folder, has done so. */
static void
others_await(hoop_comm_t *world)
{
    hoop_comm_set_timeout(world, FAREWELL_MS);
    if (hoop_barrier(world) != HOOP_OK)
        warnx("rank %u: %s", hoop_comm_rank(world), hoop_error_text());
}

int
main(int argc, char **argv)
{
    struct options options;
    hoop_session_t *session = NULL;

    /* The folder must be removed even if a reader such as head closes the
     * output early. */
    signal(SIGPIPE, SIG_IGN);
    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);
    if (hoop_join(NULL, &session) != HOOP_OK)
        errx(EXIT_FAILURE, "%s (to start 8 ranks here: hooprun -n 8 %s)",
             hoop_error_text(), argv[0]);

    const enum hoop_status status = task_run(session, &options);
    others_await(hoop_world(session));
    hoop_leave(session);
    return status == HOOP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
