/* options.h - read hoopd's options: command line, environment, file */

#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>

#include "hoop/coordinator.h"
#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"

struct settings;

enum {
    OPTIONS_EXIT_USAGE = 64,
};

enum options_task {
    OPTIONS_TASK_SERVE,
    OPTIONS_TASK_REPAIR, /* the data folder, then end */
    OPTIONS_TASK_CHECK,  /* ask the coordinator at check whether it serves */
};

struct options {
    enum options_task task;
    char check[LIMIT_ADDRESS];
    bool is_standby;
    uint32_t until_empty_s; /* for the first member to come; 0: it goes on */
    struct hoop_coordinator_options coordinator;
    enum log_level log_level;
    enum log_format log_format;

    struct settings *settings; /* what the texts above are borrowed from */
    char token[LIMIT_TOKEN];
};

/*
 * --help, --version and a wrong command line end the process, as argp does.
 * Handle: HOOP_E_INVALID, HOOP_E_NOT_FOUND (a file). The options must stay
 * where they are.
 */
enum hoop_status
options_init(int argc, char **argv, struct options *options);

/* Wipes the token. Zeroed memory is fine. */
void
options_deinit(struct options *options);

static inline void
options_deinit_at(struct options *at)
{
    options_deinit(at);
}

#endif
