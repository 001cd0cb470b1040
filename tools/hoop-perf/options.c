/* hoop-perf/options.c - the command line of hoop-perf */

#include "hoop-perf/options.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "help_options.h"
#include "hoop-perf/byte_size.h"
#include "hoop-perf/element.h"
#include "hoop-perf/race_log.h"

enum {
    EXIT_USAGE = 64,

    KEY_MIN = 256,
    KEY_MAX,
    KEY_FACTOR,
    KEY_DTYPE,
    KEY_REDUCE,
    KEY_INPLACE,
    KEY_ROOT,
    KEY_CSV,
    KEY_JSON,
    KEY_INJECT,
    KEY_EXPLAIN,
    KEY_ALGORITHMS,
    KEY_ROUNDS,
    KEY_TUNE,
};

const char *argp_program_version = "hoop-perf " VERSION_TEXT;

static const char description[] =
    "Measure hoop's collectives the way nccl-tests does. Run it on every rank: "
    "hooprun -n 4 hoop-perf\v"
    "Times are those of the slowest rank; p50 and p99 are over the iterations. "
    "Sizes may end in K, M or G. The exit code is 1 if an element was wrong or "
    "a call failed.";

static const struct argp_option table[] = {
    {"op", 'o', "NAME[,NAME...]", 0,
     "allreduce (default), reduce, broadcast, allgather, reduce_scatter, "
     "gather, scatter, alltoall, scan, "
     "exscan, sendrecv, barrier, or all; the five from allgather to alltoall "
     "also as allgatherv and so on",
     0},
    {"min", KEY_MIN, "SIZE", 0, "smallest buffer (default: 8)", 0},
    {"max", KEY_MAX, "SIZE", 0, "largest buffer (default: 16M)", 0},
    {"factor", KEY_FACTOR, "N", 0,
     "factor from one size to the next (default: 2)", 0},
    {"iters", 'i', "N", 0, "timed iterations (default: 20)", 0},
    {"warmup", 'w', "N", 0,
     "iterations before the timed ones (default: 5); with --algorithms one "
     "before each turn, or with 0 before the first turn only",
     0},
    {"dtype", KEY_DTYPE, "TYPE", 0,
     "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 c64 c128 bool "
     "(default: f32)",
     0},
    {"reduce", KEY_REDUCE, "NAME", 0,
     "sum (default), product, min, max, bor, band, bxor, avg", 0},
    {"inplace", KEY_INPLACE, NULL, 0,
     "use one buffer for input and output, if the operation can", 0},
    {"root", KEY_ROOT, "RANK", 0,
     "root of broadcast, reduce, gather and scatter (default: 0)", 0},
    {"check", 'c', NULL, 0, "run once more and compare every element", 0},
    {"explain", KEY_EXPLAIN, NULL, 0,
     "print the algorithm chosen for each size and what it and the runner-up "
     "are estimated to take; measure nothing",
     0},
    {"algorithms", KEY_ALGORITHMS, "NAME[,NAME...]", 0,
     "measure these algorithms in turns: auto (the one that hoop chooses), "
     "names, all, or forced (all but auto)",
     0},
    {"rounds", KEY_ROUNDS, "N", 0,
     "number of turns of each algorithm (default: 11)", 0},
    {"tune", KEY_TUNE, "FILE", 0,
     "add the times of all algorithms to FILE, for HOOP_TUNING, which needs at "
     "least three runs; --op all means all operations with a choice",
     0},
    {"csv", KEY_CSV, "FILE", 0,
     "also write CSV to FILE; -: to standard output instead of the table", 0},
    {"json", KEY_JSON, "FILE", 0,
     "also write JSON to FILE; -: to standard output instead of the table", 0},
    {"inject-wrong", KEY_INJECT, "RANK:INDEX", 0,
     "change this element of RANK's result before --check compares it, to "
     "test the check itself",
     0},
    {0},
};

static size_t
size_take(struct argp_state *state, const char *name, const char *text)
{
    size_t value = 0;

    if (byte_size_parse(text, &value) != HOOP_OK)
        argp_failure(state, EXIT_USAGE, 0,
                     "%s %s: a size like 8, 64K or 256M is expected", name,
                     text);
    return value;
}

static size_t
number_take(struct argp_state *state, const char *name, const char *text)
{
    const size_t value = size_take(state, name, text);

    if (value > INT32_MAX)
        argp_failure(state, EXIT_USAGE, 0, "%s %s: too much", name, text);
    return value;
}

static void
operations_take(struct argp_state *state, char *text)
{
    struct options *options = state->input;
    char *rest = NULL;

    options->n_chosen = 0;
    options->takes_all = strcmp(text, "all") == 0;
    if (options->takes_all) {
        for (size_t i = 0; i < OPERATION_COUNT; i++)
            options->chosen[options->n_chosen++] = &operations[i];
        return;
    }
    for (char *name = strtok_r(text, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest)) {
        const struct operation *found = operation_find(name);
        if (!found)
            argp_failure(state, EXIT_USAGE, 0,
                         "--op %s: there is no such operation; see --help",
                         name);
        if (found && options->n_chosen < OPERATION_COUNT)
            options->chosen[options->n_chosen++] = found;
    }
    if (options->n_chosen == 0)
        argp_failure(state, EXIT_USAGE, 0, "--op: which operation?");
}

static void
injection_take(struct argp_state *state, const char *text)
{
    struct options *options = state->input;
    struct injection *injection = &options->injection;
    char end = '\0';

    if (sscanf(text, "%u:%zu%c", &injection->rank, &injection->index, &end) !=
        2)
        argp_failure(state, EXIT_USAGE, 0,
                     "--inject-wrong %s: RANK:INDEX is expected", text);
    injection->is_wanted = true;
}

static void
types_take(struct argp_state *state, int key, const char *text)
{
    struct options *options = state->input;
    const enum hoop_status status =
        key == KEY_DTYPE ? element_parse_dtype(text, &options->dtype)
                         : element_parse_reduce_op(text, &options->reduce_op);

    if (status != HOOP_OK)
        argp_failure(state, EXIT_USAGE, 0, "--%s %s: unknown; see --help",
                     key == KEY_DTYPE ? "dtype" : "reduce", text);
}

/* Return whether --op all includes the operation: the chosen operator must be
 * defined for it (a prefix has no average), and --tune must be able to use
 * it. */
static bool
operation_is_meant(const struct options *options,
                   const struct operation *operation)
{
    const bool is_prefix = operation->result == RESULT_PREFIX ||
                           operation->result == RESULT_BEFORE;

    if (is_prefix && options->reduce_op == HOOP_AVG)
        return false;
    return !options->tune || race_log_takes(operation);
}

/* For --op all, keep only the operations that the other options allow. */
static void
operations_narrow(struct options *options)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < options->n_chosen; i++)
        if (operation_is_meant(options, options->chosen[i]))
            options->chosen[n_kept++] = options->chosen[i];
    options->n_chosen = n_kept;
}

/* Return whether the name is "auto" or an algorithm of a chosen operation. */
static bool
algorithm_is_known(const struct options *options, const char *algorithm)
{
    const char *name = NULL;

    if (strcmp(algorithm, "auto") == 0)
        return true;
    for (size_t i = 0; i < options->n_chosen; i++)
        for (uint32_t j = 0;
             (name = hoop_algorithm_name(options->chosen[i]->name, j)); j++)
            if (strcmp(name, algorithm) == 0)
                return true;
    return false;
}

static void
algorithms_check(struct argp_state *state, const struct options *options)
{
    char list[256];
    char *rest = NULL;

    if (!options->algorithms || strcmp(options->algorithms, "all") == 0 ||
        strcmp(options->algorithms, "forced") == 0)
        return;
    snprintf(list, sizeof(list), "%s", options->algorithms);
    for (char *name = strtok_r(list, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        if (!algorithm_is_known(options, name))
            argp_failure(state, EXIT_USAGE, 0,
                         "--algorithms %s: no operation chosen has it; all "
                         "shows what there is",
                         name);
}

static void
options_check(struct argp_state *state, const struct options *options)
{
    algorithms_check(state, options);
    if (options->min_bytes > options->max_bytes)
        argp_failure(state, EXIT_USAGE, 0, "--min is larger than --max");
    if (options->factor < 2)
        argp_failure(state, EXIT_USAGE, 0, "--factor must be at least 2");
    if (options->n_iterations < 1)
        argp_failure(state, EXIT_USAGE, 0, "--iters must be at least 1");
    if (options->n_rounds < 1)
        argp_failure(state, EXIT_USAGE, 0, "--rounds must be at least 1");
    if (options->injection.is_wanted && !options->has_check)
        argp_failure(state, EXIT_USAGE, 0, "--inject-wrong needs --check");
}

/* Handle the options whose value is a number. */
static error_t
number_option_take(int key, const char *value, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case KEY_MIN:
        options->min_bytes = size_take(state, "--min", value);
        return 0;
    case KEY_MAX:
        options->max_bytes = size_take(state, "--max", value);
        return 0;
    case KEY_FACTOR:
        options->factor = number_take(state, "--factor", value);
        return 0;
    case 'i':
        options->n_iterations = number_take(state, "--iters", value);
        return 0;
    case 'w':
        options->n_warmups = number_take(state, "--warmup", value);
        return 0;
    case KEY_ROUNDS:
        options->n_rounds = number_take(state, "--rounds", value);
        return 0;
    case KEY_ROOT:
        options->root = (uint32_t)number_take(state, "--root", value);
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
    case 'o':
        operations_take(state, value);
        return 0;
    case KEY_DTYPE:
    case KEY_REDUCE:
        types_take(state, key, value);
        return 0;
    case KEY_INPLACE:
        options->placement = PLACEMENT_IN_PLACE;
        return 0;
    case 'c':
        options->has_check = true;
        return 0;
    case KEY_CSV:
        options->csv = value;
        return 0;
    case KEY_JSON:
        options->json = value;
        return 0;
    case KEY_EXPLAIN:
        options->only_explains = true;
        return 0;
    case KEY_ALGORITHMS:
        options->algorithms = value;
        return 0;
    case KEY_TUNE:
        options->tune = value;
        return 0;
    case KEY_INJECT:
        injection_take(state, value);
        return 0;
    case ARGP_KEY_END:
        if (options->takes_all)
            operations_narrow(options);
        if (options->tune && !options->algorithms)
            options->algorithms = "all";
        options_check(state, options);
        return 0;
    default:
        return number_option_take(key, value, state);
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
        .chosen = {&operations[0]},
        .n_chosen = 1,
        .min_bytes = 8,
        .max_bytes = (size_t)16 << 20,
        .factor = 2,
        .n_iterations = 20,
        .n_warmups = 5,
        .n_rounds = 11,
        .dtype = HOOP_FLOAT32,
        .reduce_op = HOOP_SUM,
    };
    argp_parse(&parser, argc, argv, 0, NULL, out_options);
}

size_t
options_sizes(const struct options *options,
              size_t out_sizes[static OPTIONS_SIZES_MAX])
{
    size_t n_sizes = 0;

    for (size_t size = options->min_bytes; n_sizes < OPTIONS_SIZES_MAX;) {
        out_sizes[n_sizes++] = size;
        if (size > options->max_bytes / options->factor)
            break;
        size = size > 0 ? size * options->factor : 1;
        if (size > options->max_bytes)
            break;
    }
    return n_sizes;
}
