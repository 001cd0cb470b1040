/* hoopctl/options.c - the command line of hoopctl */

#include "hoopctl/options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "help_options.h"

enum {
    KEY_TOKEN_FILE = 256,
    KEY_PEER,
    KEY_LISTEN,
    KEY_ALL,
    KEY_FORMAT,
    KEY_LAST,
};

const char *argp_program_version = "hoopctl " VERSION_TEXT;

static const char description[] =
    "Ask a hoop coordinator about its jobs, and read and write their stores.\v"
    "Commands:\n"
    "  status                  the coordinator and its jobs\n"
    "  why [JOB]               what holds a job up, and which ranks are "
    "furthest\n"
    "                          behind; exit code 1 if something does. JOB may\n"
    "                          be left out if it is the only one that runs\n"
    "  ranks [JOB]             the members of a job\n"
    "  groups [JOB]            the groups of a job\n"
    "  store get KEY           print a value\n"
    "  store wait KEY          print it as soon as the key exists\n"
    "  store set KEY VALUE     write a value\n"
    "  store add KEY [N]       add N (default: 1) and print the sum\n"
    "  store list [PREFIX]     print keys\n"
    "  store watch [PREFIX]    print changes of keys as they happen\n"
    "  store delete KEY        remove a key\n"
    "  record [JOB]            write what the ranks called last, of a job that "
    "runs,\n"
    "                          or that failed here under hooprun --record\n"
    "  record FILE|DIR...      the same, from these records\n"
    "  health                  exit code 0 if the coordinator serves\n"
    "  doctor                  check whether workers could run on this host\n"
    "  token ROLE              print the token of a role, made from the "
    "job's:\n"
    "                          operator, metrics, or worker (the job's own)\n"
    "\n"
    "Exit code 0, 1 if the answer is an error, 69 if there is no answer, 77 if "
    "the token is refused, 64 for a wrong command line; of why, 66 if there is "
    "no such job.\n"
    "Without --coordinator and HOOP_COORDINATOR, status, why, ranks, groups "
    "and "
    "record ask the job that hooprun runs here, if it runs one.";

static const struct argp_option table[] = {
    {"coordinator", 'c', "HOST:PORT", 0,
     "the coordinator (default: HOOP_COORDINATOR)", 0},
    {"job", 'j', "NAME", 0, "the job (default: HOOP_JOB or default)", 0},
    {"token-file", KEY_TOKEN_FILE, "PATH", 0,
     "file with the job's token (default: HOOP_TOKEN or HOOP_TOKEN_FILE)", 0},
    {"timeout", 't', "SECONDS", 0,
     "wait this long for an answer (default: 5), or doctor --listen for a peer "
     "(default: 600)",
     0},
    {"peer", KEY_PEER, "HOST:PORT", 0,
     "doctor: test both directions with the host on which --listen runs", 0},
    {"listen", KEY_LISTEN, "PORT", OPTION_ARG_OPTIONAL,
     "doctor: wait for a host that runs --peer, on this port or one of a range "
     "(default: HOOP_PORT or any)",
     0},
    {"all", KEY_ALL, NULL, 0, "why: list all ranks, not only 20", 0},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "record: text (default), json, chrome (a trace for Perfetto), or torch "
     "(for PyTorch's flight recorder)",
     0},
    {"last", KEY_LAST, "N", 0,
     "record: below each rank in the text, list its last N calls", 0},
    {"output", 'o', "PATH", 0,
     "record: the file to write, or with --format torch the folder (default: "
     "standard output)",
     0},
    {"json", 'J', NULL, 0, "print one JSON object", 0},
    {0},
};

static uint32_t
timeout_parse(struct argp_state *state, const char *text)
{
    char *end = NULL;

    errno = 0;
    const double seconds = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(seconds >= 0.001) ||
        seconds > 86400)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--timeout %s: between 0.001 and 86400 seconds", text);
    return (uint32_t)(seconds * 1000);
}

static enum record_format
format_parse(struct argp_state *state, const char *text)
{
    static const char *const names[] = {
        [RECORD_TEXT] = "text",
        [RECORD_JSON] = "json",
        [RECORD_CHROME] = "chrome",
        [RECORD_TORCH] = "torch",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0)
            return (enum record_format)i;
    }
    argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                 "--format %s: text, json, chrome or torch", text);
    return RECORD_TEXT;
}

static size_t
count_parse(struct argp_state *state, const char *text)
{
    char *end = NULL;

    errno = 0;
    const unsigned long n = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-'))
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--last %s: a number of calls, as 10", text);
    return n;
}

/* Refuse options that contradict each other. */
static void
options_check(struct argp_state *state, const struct options *options)
{
    if (options->peer && options->is_listening)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--listen and --peer are for two hosts: say one of "
                     "the two");
    if (options->is_listening && options->format == COMMAND_JSON)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--listen prints no JSON object");
    if (options->format == COMMAND_JSON && options->record_format > RECORD_JSON)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--json is --format json: say one of the two");
    if (options->n_last_calls > 0 && (options->format == COMMAND_JSON ||
                                      options->record_format != RECORD_TEXT))
        argp_failure(
            state, OPTIONS_EXIT_USAGE, 0,
            "--last is for the text: the other formats have all calls");
}

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'c':
        options->control.coordinator = value;
        return 0;
    case 'j':
        options->control.job = value;
        return 0;
    case 't':
        options->control.timeout_ms = timeout_parse(state, value);
        return 0;
    case KEY_TOKEN_FILE:
        options->control.token_file = value;
        return 0;
    case KEY_PEER:
        options->peer = value;
        return 0;
    case KEY_LISTEN:
        options->is_listening = true;
        options->listen_port = value;
        return 0;
    case KEY_ALL:
        options->has_all = true;
        return 0;
    case KEY_FORMAT:
        options->record_format = format_parse(state, value);
        return 0;
    case KEY_LAST:
        options->n_last_calls = count_parse(state, value);
        return 0;
    case 'o':
        options->output = value;
        return 0;
    case 'J':
        options->format = COMMAND_JSON;
        return 0;
    case ARGP_KEY_ARGS:
        options->words = state->argv + state->next;
        options->n_words = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        options_check(state, options);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "which command? For example: hoopctl status");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void
options_parse(int argc, char **argv, struct options *out_options)
{
    const struct argp parser = {
        .options = table,
        .parser = option_take,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc = description,
        .children = help_options(),
    };

    argp_err_exit_status = OPTIONS_EXIT_USAGE;
    *out_options = (struct options){.format = COMMAND_TABLE};
    argp_parse(&parser, argc, argv, 0, NULL, out_options);
}
