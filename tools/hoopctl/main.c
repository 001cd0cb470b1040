/*
 * hoopctl/main.c - lets operators query a coordinator from the shell
 *
 * A table of subcommands, one or two words each. Each has its own file.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoopctl/command.h"
#include "hoopctl/local_job.h"
#include "hoopctl/options.h"
#include "hoopctl/shown.h"
#include "standard_output.h"
#include "variable.h"

enum command_need {
    COMMAND_ASKS,  /* needs a coordinator */
    COMMAND_LOOKS, /* the same, and changes nothing: it may be that of a job
                      that hooprun runs here */
    COMMAND_ALONE,
    COMMAND_SPEAKS, /* needs none, and prints its own errors */
};

struct command {
    const char *first;
    const char *second; /* NULL: one word */
    int n_arguments_min;
    int n_arguments_max;
    const char *usage;
    command_fn *run;
    enum command_need need;
};

static const struct command commands[] = {
    {"status", NULL, 0, 0, "status", status_run, COMMAND_LOOKS},
    {"ranks", NULL, 0, 1, "ranks [JOB]", ranks_run, COMMAND_LOOKS},
    {"why", NULL, 0, 1, "why [JOB] [--all]", why_run, COMMAND_LOOKS},
    {"groups", NULL, 0, 1, "groups [JOB]", groups_run, COMMAND_LOOKS},
    {"health", NULL, 0, 0, "health", health_run, COMMAND_ASKS},
    {"store", "get", 1, 1, "store get KEY", store_get_run, COMMAND_ASKS},
    {"store", "wait", 1, 1, "store wait KEY", store_wait_run, COMMAND_ASKS},
    {"store", "set", 2, 2, "store set KEY VALUE", store_set_run, COMMAND_ASKS},
    {"store", "add", 1, 2, "store add KEY [N]", store_add_run, COMMAND_ASKS},
    {"store", "list", 0, 1, "store list [PREFIX]", store_list_run,
     COMMAND_ASKS},
    {"store", "watch", 0, 1, "store watch [PREFIX]", store_watch_run,
     COMMAND_ASKS},
    {"store", "delete", 1, 1, "store delete KEY", store_delete_run,
     COMMAND_ASKS},
    {"token", NULL, 1, 1, "token ROLE", token_run, COMMAND_ALONE},
    {"record", NULL, 0, INT_MAX,
     "record [JOB|FILE|DIR...] [--format text|json|chrome|torch] "
     "[--output PATH]",
     record_run, COMMAND_SPEAKS},
    {"doctor", NULL, 0, 0, "doctor [--peer HOST:PORT | --listen[=PORT]]",
     doctor_run, COMMAND_SPEAKS},
};

static const struct command *const commands_end =
    commands + sizeof(commands) / sizeof(commands[0]);

static int
command_words(const struct command *command)
{
    return command->second ? 2 : 1;
}

static bool
command_matches(const struct command *command, const struct options *options)
{
    if (options->n_words < command_words(command) ||
        strcmp(options->words[0], command->first) != 0)
        return false;
    return !command->second || strcmp(options->words[1], command->second) == 0;
}

/* Report an unknown command, and list those that begin with the same word. */
static void
mistake_show(const struct options *options)
{
    struct shown shown;
    unsigned n_alike = 0;

    for (const struct command *it = commands; it < commands_end; it++) {
        if (strcmp(options->words[0], it->first) == 0)
            fprintf(stderr, "%s hoopctl %s\n",
                    n_alike++ == 0 ? "usage:" : "      ", it->usage);
    }
    if (n_alike == 0)
        fprintf(stderr, "hoopctl: there is no command '%s'; see --help\n",
                show(options->words[0], &shown));
}

/* Return NULL after printing an error. */
static const struct command *
command_find(const struct options *options)
{
    const struct command *command = commands;

    while (command < commands_end && !command_matches(command, options))
        command++;
    if (command == commands_end) {
        mistake_show(options);
        return NULL;
    }

    const int n_arguments = options->n_words - command_words(command);
    if (n_arguments < command->n_arguments_min ||
        n_arguments > command->n_arguments_max) {
        fprintf(stderr, "usage: hoopctl %s\n", command->usage);
        return NULL;
    }
    if (command->run != doctor_run &&
        (options->peer || options->is_listening)) {
        fprintf(stderr, "hoopctl: --listen and --peer are for doctor\n");
        return NULL;
    }
    if (command->run != why_run && options->has_all) {
        fprintf(stderr, "hoopctl: --all is for why\n");
        return NULL;
    }
    if (command->run != record_run &&
        (options->output || options->record_format != RECORD_TEXT ||
         options->n_last_calls > 0)) {
        fprintf(stderr,
                "hoopctl: --format, --last and --output are for record\n");
        return NULL;
    }
    return command;
}

/* 1 says of why that something holds the job up, and so nothing else. */
static int
exit_code(const struct command *command, enum hoop_status status)
{
    if (command->run == why_run && status == HOOP_E_NOT_FOUND)
        return OPTIONS_EXIT_NO_JOB;
    if (status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT)
        return OPTIONS_EXIT_UNAVAILABLE;
    if (status == HOOP_E_UNAUTHENTICATED || status == HOOP_E_DENIED)
        return OPTIONS_EXIT_DENIED;
    return command->run == why_run ? OPTIONS_EXIT_UNAVAILABLE : EXIT_FAILURE;
}

static int
failure_show(const struct command *command, enum hoop_status status)
{
    /* The coordinator of a job of hooprun is nobody's to start. */
    const bool is_refused = strstr(hoop_error_text(), "start hoopd there");

    fprintf(stderr, "hoopctl: %s: %s%s\n", hoop_status_name(status),
            hoop_error_text(),
            is_refused ? "; if hooprun had started it, the job has ended" : "");
    return exit_code(command, status);
}

/* Return the job that why is about if the user names none: the only one that
 * runs or, if none does, the only one that has ended. NULL: there are several,
 * which are printed, or one is "default", or nobody answers. */
static const char *
only_job(hoop_control_t *control)
{
    const struct hoop_control_overview *overview = NULL;
    const struct hoop_control_job *only = NULL;
    struct shown name;
    size_t n_wanted = 0;

    if (hoop_control_status(control, &overview) != HOOP_OK)
        return NULL;
    for (size_t i = 0; i < overview->n_jobs; i++) {
        const struct hoop_control_job *job = &overview->jobs[i];
        const bool has_ended = strcmp(job->state, "ended") == 0;

        if (strcmp(job->name, hoop_control_job_name(control)) == 0)
            return NULL;
        /* Those that live come first. */
        if (has_ended && only && strcmp(only->state, "ended") != 0)
            break;
        only = job;
        n_wanted++;
    }
    if (n_wanted <= 1)
        return only ? only->name : NULL;
    for (size_t i = 0; i < n_wanted; i++)
        fprintf(stderr, "%s hoopctl why %s\n", i == 0 ? "usage:" : "      ",
                show(overview->jobs[i].name, &name));
    return NULL;
}

/* Return HOOP_E_INVALID after printing why, if a job of hooprun is meant, but
 * not which one. */
static enum hoop_status
control_open(const struct command *command,
             struct hoop_control_options *options,
             hoop_control_t **out_control)
{
    static char name[256];

    enum hoop_status status =
        command->need == COMMAND_LOOKS ? local_job_adopt(options) : HOOP_OK;
    if (status == HOOP_E_INVALID)
        return status;
    if (status == HOOP_E_NOT_FOUND)
        local_job_tell_absence(options->job);
    status = hoop_control_create(options, out_control);
    if (status != HOOP_OK) {
        failure_show(command, status);
        return status;
    }
    if (command->run != why_run || options->job || variable("HOOP_JOB"))
        return HOOP_OK;
    const char *job = only_job(*out_control);
    if (!job)
        return HOOP_OK;
    snprintf(name, sizeof(name), "%s", job);
    options->job = name;
    hoop_control_destroy(*out_control);
    *out_control = NULL;
    return hoop_control_create(options, out_control);
}

static int
command_run(const struct command *command, const struct options *options)
{
    struct hoop_control_options control_options = options->control;
    hoop_control_t *control = NULL;
    enum hoop_status status = HOOP_OK;
    bool is_held_up = false;

    /* Their argument, if they take one, is a job. */
    if (command->need == COMMAND_LOOKS &&
        options->n_words > command_words(command))
        control_options.job = options->words[command_words(command)];
    if (command->need == COMMAND_ASKS || command->need == COMMAND_LOOKS)
        status = control_open(command, &control_options, &control);
    if (status != HOOP_OK)
        return status == HOOP_E_INVALID ? OPTIONS_EXIT_USAGE
                                        : exit_code(command, status);

    status = command->run(&(struct command_call){
        .options = &control_options,
        .control = control,
        .format = options->format,
        .peer = options->peer,
        .listen_port = options->listen_port,
        .is_listening = options->is_listening,
        .has_all = options->has_all,
        .out_is_held_up = &is_held_up,
        .record_format = options->record_format,
        .n_last_calls = options->n_last_calls,
        .output = options->output,
        .n_arguments = options->n_words - command_words(command),
        .arguments = options->words + command_words(command),
    });
    int code = is_held_up ? OPTIONS_EXIT_HELD_UP : EXIT_SUCCESS;
    if (status != HOOP_OK)
        code = command->need == COMMAND_SPEAKS ? exit_code(command, status)
                                               : failure_show(command, status);
    /* If no coordinator was asked, the command line was wrong. */
    if (status == HOOP_E_INVALID && !control)
        code = OPTIONS_EXIT_USAGE;
    hoop_control_destroy(control);
    return code;
}

int
main(int argc, char **argv)
{
    struct options options;

    standard_output_check_at_exit();
    options_parse(argc, argv, &options);
    const struct command *command = command_find(&options);
    if (!command)
        return OPTIONS_EXIT_USAGE;

    return command_run(command, &options);
}
