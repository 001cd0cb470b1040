/* hooprun/options.c - the command line of hooprun */

#include "hooprun/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_options.h"
#include "hooprun/host_text.h"
#include "hooprun/reach.h"
#include "hooprun/settings_rows.h"
#include "variable.h"

enum {
    RESTARTS_DEFAULT = 3,

    KEY_NO_PREFIX = 256,
    KEY_NO_STATUS,
    KEY_ON_EXIT,
    KEY_OUTPUT,
    KEY_NP,
    KEY_GRACE,
    KEY_NODES,
    KEY_TLS,
    KEY_RECORD,
    KEY_SETTINGS,
    KEY_HOSTS,
    KEY_HOSTFILE,
    KEY_RSH,
    KEY_PREFIX,
    KEY_WDIR,
    KEY_AGENT,
};

const char *argp_program_version = "hooprun " VERSION_TEXT;

static const char description[] =
    "Run N copies of a program, on this machine or on others, as one hoop "
    "job.\v"
    "Each copy finds its rank, the coordinator and the job's token in the "
    "environment (HOOP_RANK, HOOP_COORDINATOR, HOOP_TOKEN ...). The exit code "
    "is 0, or that of the first rank that failed, or 128 + the signal that "
    "ended it; 124 after --timeout.\n\n"
    "Workers read other settings from the environment, too (HOOP_TRANSPORT, "
    "HOOP_CODEC, HOOP_LOG ...): --settings lists them.";

static const char settings_description[] =
    "Workers read these variables, for example with "
    "HOOP_CODEC=zstd hooprun -n 4 ./program:\v"
    "hooprun itself sets HOOP_COORDINATOR, HOOP_JOB, HOOP_RANK, "
    "HOOP_WORLD_SIZE and HOOP_ENDINGS, without --coordinator also HOOP_TOKEN, "
    "with --nodes HOOP_NODE, and with --tls HOOP_TLS.";

static const struct argp_option table[] = {
    {"workers", 'n', "N", 0,
     "number of workers (required without hosts); also -np N", 0},
    {"np", KEY_NP, "N", OPTION_HIDDEN, NULL, 0},
    {"hosts", KEY_HOSTS, "HOST[:SLOTS],...", 0,
     "run SLOTS workers (default: 1) on each of these hosts, over ssh", 0},
    {"host", 'H', "HOSTS", OPTION_HIDDEN, NULL, 0},
    {"hostfile", KEY_HOSTFILE, "FILE", 0,
     "read the hosts from a file with lines HOST slots=SLOTS", 0},
    {"machinefile", KEY_HOSTFILE, "FILE", OPTION_HIDDEN, NULL, 0},
    {"export", 'x', "NAME[=VALUE]", 0,
     "set this variable for the workers, also on other hosts", 0},
    {"rsh", KEY_RSH, "COMMAND", 0,
     "what to run instead of ssh (default: HOOP_RSH or ssh)", 0},
    {"prefix", KEY_PREFIX, "DIR", 0,
     "run DIR/bin/hooprun on other hosts (default: hooprun in their PATH)", 0},
    {"wdir", KEY_WDIR, "DIR", 0,
     "run the workers in this folder (default: the current one)", 0},
    {"agent", KEY_AGENT, NULL, OPTION_HIDDEN, NULL, 0},
    {"coordinator", 'c', "HOST:PORT", 0,
     "use this coordinator instead of starting one", 0},
    {"job", 'j', "NAME", 0, "name of the job (default: HOOP_JOB or default)",
     0},
    {"timeout", 't', "SECONDS", 0, "end everything after this time", 0},
    {"nodes", KEY_NODES, "N", 0,
     "let this machine act as N nodes of consecutive ranks (HOOP_NODE)", 0},
    {"grace", KEY_GRACE, "SECONDS", 0,
     "time between SIGTERM and SIGKILL when ending workers (default: 5)", 0},
    {"on-exit", KEY_ON_EXIT, "WHAT", 0,
     "when a worker fails: end the others, continue with them, or "
     "restart[=N] all, N times at most (default: end; continue where "
     "HOOP_ON_FAILURE is retry)",
     0},
    {"output", KEY_OUTPUT, "DIR", 0,
     "also write the lines of each rank to a file of its own", 0},
    {"tls", KEY_TLS, NULL, 0, "encrypt all connections, as HOOP_TLS=on does",
     0},
    {"no-prefix", KEY_NO_PREFIX, NULL, 0,
     "pass output through as it is, without the rank in front", 0},
    {"no-status", KEY_NO_STATUS, NULL, 0, "show no status line on a terminal",
     0},
    {"record", KEY_RECORD, NULL, 0,
     "let the workers record their last calls for hoopctl record JOB, while "
     "they run and after a failure",
     0},
    {"settings", KEY_SETTINGS, NULL, 0,
     "list the variables that workers read, and exit", 0},
    {0},
};

static uint32_t
number_parse(struct argp_state *state, const char *name, const char *text)
{
    char *end = NULL;

    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value > INT32_MAX ||
        strchr(text, '-'))
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "%s %s: a whole number is expected", name, text);
    return (uint32_t)value;
}

static uint32_t
workers_parse(struct argp_state *state, const char *text)
{
    const uint32_t n = number_parse(state, "-n", text);

    if (n < 1 || n > OPTIONS_WORKERS_MAX)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "-n %s: between 1 and %d workers are possible", text,
                     OPTIONS_WORKERS_MAX);
    return n;
}

/* getopt reads -np N as -n with the value "p"; N is then the next argument. */
static const char *
workers_text(struct argp_state *state, const char *value)
{
    if (strcmp(value, "p") != 0)
        return value;
    if (state->next >= state->argc)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0, "-np: how many workers?");
    return state->argv[state->next++];
}

/* Add the hosts of --hosts or --hostfile, which may be combined. */
static void
hosts_take(struct argp_state *state, int key, const char *text)
{
    struct options *options = state->input;
    char error[HOST_ERROR_BYTES];
    const bool is_good = key == KEY_HOSTFILE
                             ? host_list_read(&options->hosts, text, error)
                             : host_list_add(&options->hosts, text, error);

    if (!is_good)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0, "%s %s",
                     key == KEY_HOSTFILE ? "--hostfile" : "--hosts", error);
}

static void
export_take(struct argp_state *state, char *text)
{
    struct options *options = state->input;
    const char **exported = reallocarray(
        options->exported, options->n_exported + 1, sizeof(*options->exported));

    if (!exported)
        argp_failure(state, EXIT_FAILURE, errno, "-x %s", text);
    options->exported = exported;
    options->exported[options->n_exported++] = text;
    if (*text == '\0' || *text == '=')
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "-x %s: NAME or NAME=VALUE is expected", text);
    if (!strchr(text, '=') && !getenv(text))
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "-x %s: it is not set; say -x %s=VALUE", text, text);
}

/* Set variables in hooprun's environment, from which workers inherit them. With
 * other hosts only HOOP_ ones are set, which hooprun's coordinator reads too;
 * ssh must not get the others. */
static void
exported_set(struct argp_state *state, const struct options *options)
{
    for (uint32_t i = 0; i < options->n_exported; i++) {
        const char *variable = options->exported[i];

        if (strchr(variable, '=') &&
            (options->hosts.n_hosts == 0 ||
             strncmp(variable, "HOOP_", 5) == 0) &&
            putenv((char *)(uintptr_t)variable) != 0)
            argp_failure(state, EXIT_FAILURE, errno, "-x %s", variable);
    }
}

static uint32_t
words_count(const char *text)
{
    uint32_t n = 0;

    while (*(text += strspn(text, " \t"))) {
        text += strcspn(text, " \t");
        n++;
    }
    return n;
}

static void
on_exit_take(struct argp_state *state, const char *text)
{
    static const char restart[] = "restart=";
    struct options *options = state->input;

    options->n_restarts = 0;
    if (strcmp(text, "end") == 0) {
        options->on_exit = ON_EXIT_END;
        return;
    }
    if (strcmp(text, "continue") == 0) {
        options->on_exit = ON_EXIT_CONTINUE;
        return;
    }
    options->on_exit = ON_EXIT_RESTART;
    if (strcmp(text, "restart") == 0)
        options->n_restarts = RESTARTS_DEFAULT;
    else if (strncmp(text, restart, strlen(restart)) == 0)
        options->n_restarts =
            number_parse(state, "--on-exit restart=", text + strlen(restart));
    else
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--on-exit %s: end, continue or restart[=N] is expected",
                     text);
}

static void
unset_fill(struct options *options)
{
    const char *job = variable("HOOP_JOB");
    const char *rsh = variable("HOOP_RSH");
    const char *remedy = variable("HOOP_ON_FAILURE");

    if (!options->job)
        options->job = job ? job : "default";
    if (!options->rsh)
        options->rsh = rsh ? rsh : "ssh";
    if (options->on_exit == ON_EXIT_UNSET)
        options->on_exit = remedy && strcmp(remedy, "retry") == 0
                               ? ON_EXIT_CONTINUE
                               : ON_EXIT_END;
}

/* A loopback address would mean a different host on each host. */
static void
coordinator_check(struct argp_state *state, const struct options *options)
{
    char host[REACH_HOST_BYTES];

    if (!options->coordinator || !reach_is_loopback(options->coordinator, host))
        return;
    for (uint32_t i = 0; i < options->hosts.n_hosts; i++) {
        const char *name = options->hosts.hosts[i].name;

        if (!host_is_this(name))
            argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                         "--coordinator %s: %s is another host on %s: give an "
                         "address that all hosts reach",
                         options->coordinator, host[0] ? host : "loopback",
                         name);
    }
}

static void
hosts_check(struct argp_state *state, struct options *options)
{
    const uint32_t n_asked = options->n_workers;
    const uint32_t n_slots = host_list_fill(&options->hosts, n_asked);

    if (options->n_nodes > 0)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--nodes: hosts are nodes already; say one of the two");
    if (n_slots < n_asked)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "-n %u: the hosts have only %u slots; name more of them, "
                     "or HOST:SLOTS",
                     n_asked, n_slots);
    if (n_slots > OPTIONS_WORKERS_MAX)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "the hosts have %u slots: %d workers are possible",
                     n_slots, OPTIONS_WORKERS_MAX);
    options->n_workers = n_slots;
    coordinator_check(state, options);
    const uint32_t n_words = words_count(options->rsh);
    if (n_words == 0)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--rsh: which command runs another on a host?");
    if (n_words > HOST_RSH_MAX)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--rsh: %u words, and %d are possible; a script may have "
                     "more",
                     n_words, HOST_RSH_MAX);
}

static void
options_check(struct argp_state *state, struct options *options)
{
    if (options->is_agent)
        return;
    if (options->hosts.n_hosts == 0 && (options->rsh || options->prefix))
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--rsh and --prefix are for other hosts: name them with "
                     "--hosts");
    exported_set(state, options);
    unset_fill(options);
    if (options->hosts.n_hosts > 0)
        hosts_check(state, options);
    if (options->n_workers == 0)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "how many workers? Say -n N, for example: "
                     "hooprun -n 4 ./program");
    if (options->n_nodes > options->n_workers)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--nodes %u: there are only %u workers", options->n_nodes,
                     options->n_workers);
    if (options->output && options->style == OUTPUT_VERBATIM)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "--output %s: hooprun sees no lines with --no-prefix",
                     options->output);
    if (!options->command)
        argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                     "which program? Say it after the options, for example: "
                     "hooprun -n 4 ./program");
}

static void
settings_print(void)
{
    size_t n_rows = 0;

    while (settings_rows[n_rows].variable)
        n_rows++;
    struct argp_option *rows = calloc(n_rows + 1, sizeof(*rows));
    if (!rows) {
        perror("hooprun: settings");
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < n_rows; i++) {
        rows[i].name = settings_rows[i].variable;
        rows[i].flags = OPTION_DOC;
        rows[i].doc = settings_rows[i].help;
    }
    const struct argp list = {.options = rows, .doc = settings_description};
    argp_help(&list, stdout, ARGP_HELP_DOC | ARGP_HELP_LONG,
              program_invocation_short_name);
    free(rows);
}

/* Handle the options for other hosts. */
static error_t
host_option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_HOSTS:
    case 'H':
    case KEY_HOSTFILE:
        hosts_take(state, key, value);
        return 0;
    case 'x':
        export_take(state, value);
        return 0;
    case KEY_RSH:
        options->rsh = value;
        return 0;
    case KEY_PREFIX:
        options->prefix = value;
        return 0;
    case KEY_WDIR:
        options->folder = value;
        return 0;
    case KEY_AGENT:
        options->is_agent = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'n':
    case KEY_NP:
        options->n_workers = workers_parse(state, workers_text(state, value));
        return 0;
    case 'c':
        options->coordinator = value;
        return 0;
    case 'j':
        options->job = value;
        return 0;
    case 't':
        options->timeout_s = number_parse(state, "--timeout", value);
        return 0;
    case KEY_GRACE:
        options->grace_s = number_parse(state, "--grace", value);
        return 0;
    case KEY_NODES:
        options->n_nodes = number_parse(state, "--nodes", value);
        if (options->n_nodes == 0)
            argp_failure(state, OPTIONS_EXIT_USAGE, 0,
                         "--nodes 0: at least one is needed");
        return 0;
    case KEY_ON_EXIT:
        on_exit_take(state, value);
        return 0;
    case KEY_OUTPUT:
        options->output = value;
        return 0;
    case KEY_TLS:
        options->is_encrypted = true;
        return 0;
    case KEY_NO_STATUS:
        options->is_status_off = true;
        return 0;
    case KEY_NO_PREFIX:
        options->style = OUTPUT_VERBATIM;
        return 0;
    case KEY_RECORD:
        options->is_recorded = true;
        return 0;
    case KEY_SETTINGS:
        settings_print();
        exit(EXIT_SUCCESS);
    case ARGP_KEY_ARG:
        /* The rest belongs to the program, including options. */
        options->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        options_check(state, options);
        return 0;
    default:
        return host_option_take(key, value, state);
    }
}

void
options_parse(int argc, char **argv, struct options *out_options)
{
    const struct argp parser = {
        .options = table,
        .parser = option_take,
        .args_doc = "PROGRAM [ARGUMENT...]",
        .doc = description,
        .children = help_options(),
    };

    *out_options = (struct options){.grace_s = 5, .style = OUTPUT_PREFIXED};
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, out_options);
    /* It is only for hooprun. */
    unsetenv("HOOP_RSH");
    if (out_options->n_workers == 1 && !out_options->output &&
        out_options->hosts.n_hosts == 0)
        out_options->style = OUTPUT_VERBATIM;
}
