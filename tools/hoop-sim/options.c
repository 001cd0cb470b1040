/* hoop-sim/options.c - the command line of hoop-sim */

#include "hoop-sim/options.h"

#include <argp.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "help_options.h"

enum {
    EXIT_USAGE = 64,

    KEY_PER_HOST = 256,
    KEY_ELEMENT,
    KEY_CSV,
    KEY_SVG,
    KEY_PROCESSORS,
    KEY_OVERHEAD,
    KEY_SEND_OVERHEAD,
    KEY_RECEIVE_OVERHEAD,
    KEY_LATENCY,
    KEY_LATENCY_INSIDE,
    KEY_LINK,
    KEY_LINK_INSIDE,
    KEY_SEND,
    KEY_RECEIVE,
    KEY_COPY,
    KEY_REDUCE,
    KEY_WAIT,
};

const char *argp_program_version = "hoop-sim " VERSION_TEXT;

static const char description[] =
    "Tell what hoop's collectives would cost on a cluster, by running their "
    "plans on a model of it. Nothing is sent, and no coordinator is needed.\v"
    "A LIST is numbers separated by commas; 8..1K doubles, 8..64M:8 multiplies "
    "by 8; K, M and G each multiply by another 1024. Times are in us, rates in "
    "GB/s (10^9 bytes; 10 Gbit/s are 1.25); a rate of 0 means unlimited. The "
    "fastest algorithm is marked *; ~ says that there were too many steps to "
    "simulate each of them.";

static const struct argp_option table[] = {
    {"op", 'o', "NAME[,NAME...]", 0,
     "allreduce (default), reduce, broadcast, allgather, reduce_scatter, "
     "gather, scatter, alltoall, scan, exscan, barrier, or all",
     0},
    {"algorithm", 'a', "NAME[,NAME...]", 0,
     "simulate only these algorithms (default: all)", 0},
    {"ranks", 'n', "LIST", 0, "numbers of ranks (default: 2..1K:2)", 0},
    {"sizes", 's', "LIST", 0, "bytes of the larger buffer (default: 1K,1M,64M)",
     0},
    {"element", KEY_ELEMENT, "BYTES", 0, "size of one element (default: 4)", 0},
    {"csv", KEY_CSV, "FILE", 0,
     "also write CSV to FILE; -: to standard output instead of the table", 0},
    {"svg", KEY_SVG, "FILE", 0,
     "also draw time over ranks, or over sizes if there is one number of ranks",
     0},
    {0, 0, 0, 0, "The machine (default: 10 GbE):", 1},
    {"per-host", KEY_PER_HOST, "N", 0, "ranks on each host (default: 1)", 1},
    {"processors", KEY_PROCESSORS, "N", 0,
     "processors of each host (default: 8)", 1},
    {"overhead", KEY_OVERHEAD, "US", 0,
     "processor time of a message, at each end (default: 2)", 1},
    {"send-overhead", KEY_SEND_OVERHEAD, "US", 0, "the same at the sender only",
     1},
    {"receive-overhead", KEY_RECEIVE_OVERHEAD, "US", 0,
     "the same at the receiver only", 1},
    {"latency", KEY_LATENCY, "US", 0, "latency between hosts (default: 20)", 1},
    {"latency-inside", KEY_LATENCY_INSIDE, "US", 0,
     "latency within a host (default: 5)", 1},
    {"link", KEY_LINK, "RATE", 0,
     "a host's network interface, each way (default: 1.25)", 1},
    {"link-inside", KEY_LINK_INSIDE, "RATE", 0,
     "what connects two ranks of a host (default: 0)", 1},
    {"send", KEY_SEND, "RATE", 0,
     "one processor passing bytes to the kernel (default: 8)", 1},
    {"receive", KEY_RECEIVE, "RATE", 0,
     "one processor taking bytes from the kernel (default: 8)", 1},
    {"copy", KEY_COPY, "RATE", 0, "one processor copying (default: 10)", 1},
    {"reduce", KEY_REDUCE, "RATE", 0,
     "one processor reducing received data (default: 20)", 1},
    {"wait", KEY_WAIT, "US", 0,
     "processor time that a waiting rank takes from the others when a message "
     "wakes it, if there are more ranks than processors (default: 4)",
     1},
    {0},
};

static const struct hoop_machine machine_default = {
    .send_us = 2,
    .receive_us = 2,
    .latency_us = 20,
    .latency_inside_us = 5,
    .link_gbs = 1.25,
    .send_gbs = 8,
    .receive_gbs = 8,
    .copy_gbs = 10,
    .reduce_gbs = 20,
    .n_processors = 8,
    .wait_us = 4,
};

/* Where an option's number is stored. */
struct amount {
    int key;
    const char *name;
    size_t offset;
};

static const struct amount amounts[] = {
    {KEY_OVERHEAD, "--overhead", offsetof(struct hoop_machine, send_us)},
    {KEY_SEND_OVERHEAD, "--send-overhead",
     offsetof(struct hoop_machine, send_us)},
    {KEY_RECEIVE_OVERHEAD, "--receive-overhead",
     offsetof(struct hoop_machine, receive_us)},
    {KEY_LATENCY, "--latency", offsetof(struct hoop_machine, latency_us)},
    {KEY_LATENCY_INSIDE, "--latency-inside",
     offsetof(struct hoop_machine, latency_inside_us)},
    {KEY_LINK, "--link", offsetof(struct hoop_machine, link_gbs)},
    {KEY_LINK_INSIDE, "--link-inside",
     offsetof(struct hoop_machine, link_inside_gbs)},
    {KEY_SEND, "--send", offsetof(struct hoop_machine, send_gbs)},
    {KEY_RECEIVE, "--receive", offsetof(struct hoop_machine, receive_gbs)},
    {KEY_COPY, "--copy", offsetof(struct hoop_machine, copy_gbs)},
    {KEY_REDUCE, "--reduce", offsetof(struct hoop_machine, reduce_gbs)},
    {KEY_WAIT, "--wait", offsetof(struct hoop_machine, wait_us)},
};

static void
amount_take(struct argp_state *state,
            const struct amount *amount,
            const char *text)
{
    struct options *options = state->input;
    char *end = NULL;
    const double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value < 0)
        argp_failure(state, EXIT_USAGE, 0,
                     "%s %s: a number from 0 on is expected", amount->name,
                     text);
    *(double *)(void *)((char *)&options->machine + amount->offset) = value;
    if (amount->key == KEY_OVERHEAD)
        options->machine.receive_us = value;
}

static error_t
machine_option_take(int key, const char *value, struct argp_state *state)
{
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        if (amounts[i].key == key) {
            amount_take(state, &amounts[i], value);
            return 0;
        }
    return ARGP_ERR_UNKNOWN;
}

static size_t
number_take(struct argp_state *state, const char *name, const char *text)
{
    struct number_list list = {0};

    if (number_list_parse(text, &list) != HOOP_OK || list.n_numbers != 1 ||
        list.numbers[0] > INT32_MAX)
        argp_failure(state, EXIT_USAGE, 0,
                     "%s %s: a whole number from 1 on is expected", name, text);
    return list.numbers[0];
}

static void
list_take(struct argp_state *state,
          const char *name,
          const char *text,
          struct number_list *out_list)
{
    const enum hoop_status status = number_list_parse(text, out_list);

    if (status == HOOP_E_RANGE)
        argp_failure(state, EXIT_USAGE, 0, "%s %s: more than %d numbers", name,
                     text, NUMBER_LIST_MAX);
    if (status != HOOP_OK)
        argp_failure(state, EXIT_USAGE, 0,
                     "%s %s: a list like 2,8..1K,8..64M:8 is expected", name,
                     text);
}

static const char *
collective_find(const char *name)
{
    const char *found;

    for (size_t i = 0; (found = hoop_simulate_collective(i)); i++)
        if (strcmp(found, name) == 0)
            return found;
    return NULL;
}

static void
collectives_take(struct argp_state *state, char *text)
{
    struct options *options = state->input;
    const char *found;
    char *rest = NULL;

    options->n_collectives = 0;
    if (strcmp(text, "all") == 0) {
        while ((found = hoop_simulate_collective(options->n_collectives)) &&
               options->n_collectives < OPTIONS_NAMES_MAX)
            options->collectives[options->n_collectives++] = found;
        return;
    }
    for (char *name = strtok_r(text, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest)) {
        found = collective_find(name);
        if (!found)
            argp_failure(state, EXIT_USAGE, 0,
                         "--op %s: there is no such operation; see --help",
                         name);
        if (options->n_collectives < OPTIONS_NAMES_MAX)
            options->collectives[options->n_collectives++] = found;
    }
    if (options->n_collectives == 0)
        argp_failure(state, EXIT_USAGE, 0, "--op: which operation?");
}

static void
algorithms_take(struct argp_state *state, char *text)
{
    struct options *options = state->input;
    char *rest = NULL;

    options->n_algorithms = 0;
    for (char *name = strtok_r(text, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        if (options->n_algorithms < OPTIONS_NAMES_MAX)
            options->algorithms[options->n_algorithms++] = name;
    if (options->n_algorithms == 0)
        argp_failure(state, EXIT_USAGE, 0, "--algorithm: which?");
}

/* Return whether one of the chosen operations has the algorithm. */
static bool
algorithm_is_known(const struct options *options, const char *algorithm)
{
    const char *name;

    for (size_t i = 0; i < options->n_collectives; i++)
        for (size_t j = 0;
             (name = hoop_simulate_algorithm(options->collectives[i], j)); j++)
            if (strcmp(name, algorithm) == 0)
                return true;
    return false;
}

static void
options_check(struct argp_state *state, const struct options *options)
{
    for (size_t i = 0; i < options->n_algorithms; i++)
        if (!algorithm_is_known(options, options->algorithms[i]))
            argp_failure(state, EXIT_USAGE, 0,
                         "--algorithm %s: no operation chosen has it; without "
                         "--algorithm all are shown",
                         options->algorithms[i]);
}

static error_t
option_take(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'o':
        collectives_take(state, value);
        return 0;
    case 'a':
        algorithms_take(state, value);
        return 0;
    case 'n':
        list_take(state, "--ranks", value, &options->ranks);
        return 0;
    case 's':
        list_take(state, "--sizes", value, &options->sizes);
        return 0;
    case KEY_PER_HOST:
        options->n_per_host = (uint32_t)number_take(state, "--per-host", value);
        return 0;
    case KEY_PROCESSORS:
        options->machine.n_processors =
            (uint32_t)number_take(state, "--processors", value);
        return 0;
    case KEY_ELEMENT:
        options->element_size = number_take(state, "--element", value);
        return 0;
    case KEY_CSV:
        options->csv = value;
        return 0;
    case KEY_SVG:
        options->svg = value;
        return 0;
    case ARGP_KEY_END:
        options_check(state, options);
        return 0;
    default:
        return machine_option_take(key, value, state);
    }
}

void
options_parse(int argc, char **argv, struct options *out_options)
{
    const struct argp parser = {
        .options = table,
        .parser = option_take,
        .doc = description,
        .children = help_options(),
    };

    *out_options = (struct options){
        .collectives = {"allreduce"},
        .n_collectives = 1,
        .ranks = {10, {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
        .sizes = {3, {1 << 10, 1 << 20, 64 << 20}},
        .n_per_host = 1,
        .element_size = 4,
        .machine = machine_default,
    };
    argp_parse(&parser, argc, argv, 0, NULL, out_options);
}
