/*
 * tests/fault/matrix/fault_matrix.c - every fault in every call: a table
 *
 *   fault_matrix --part SEED --seconds N   some cells, others for another seed
 *   fault_matrix --commit-of DIR ...       the same, for its commit
 *   fault_matrix --all [--document PATH]   all of them, or as far as it gets;
 *                                          with namespaces it appends to PATH
 *   fault_matrix --fault NAME              all cells of one fault
 *   fault_matrix --cell N                  one cell
 *
 * SEED is the hash of a commit, or any hexadecimal number. With --jobs N, that
 * many cells run at a time. HOOPD in the environment is the coordinator. With
 * --own-pids each rank has a PID namespace of its own. With --networks
 * NAME,NAME... --coordinator ADDRESS each rank is in one of these network
 * namespaces. Their network may be bad, so the failure timeout is the default
 * and more time is allowed. With either, ranks share no memory, and only the
 * cells over TCP run.
 */

#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fault/matrix/fault_run.h"
#include "fault/matrix/fault_table.h"
#include "integration/daemon.h"

/* A sanitizer slows all ranks, and on a busy machine some have to wait. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum {
    FAILURE_TIMEOUT_MS = 2000,
    LENIENCE = 10,
};
#else
enum {
    FAILURE_TIMEOUT_MS = 200,
    LENIENCE = 5,
};
#endif

enum {
    CRASH_MS = 100,
    SLACK_MS = 250,
    OP_MS = 6000,
    CELL_MS = 9000,
    /* These hold over a bad network. A silence may last 20 s, and 8 s more if
     * the process still answers. The messages that report it may be lost as
     * well. */
    BAD_TIMEOUT_MS = 2000,
    BAD_CRASH_MS = 5000,
    BAD_SLACK_MS = 40000,
    BAD_OP_MS = 60000,
    BAD_CELL_MS = 90000,
    TRIES = 3, /* of a cell, unless the promised times must hold */
    TRIES_STRICT = 2,
    STRANGE_MAX = 12, /* how many failures are shown */
    JOBS_MAX = 16,
};

struct matrix_order {
    uint32_t first;
    uint32_t n_cells;
    uint64_t seed;
    unsigned n_seconds; /* 0: as long as all cells take */
    unsigned n_jobs;    /* cells that run at a time */
    bool is_strict;     /* the promised times must hold */
    bool is_shuffled;
    const char *document; /* NULL: none */
    struct fault_spaces spaces;
    const char *coordinator; /* NULL: the program starts one */
};

static void
usage(void)
{
    fprintf(stderr, "usage: fault_matrix --part SEED --seconds N | "
                    "--commit-of DIR --seconds N | --all "
                    "[--seconds N] [--strict] [--document PATH] | "
                    "--fault NAME | --cell N; all: [--jobs N] [--own-pids] "
                    "[--networks NAMES --coordinator ADDRESS]\n");
    exit(64);
}

/* Takes some digits of a hash, which has more than fit in a number. */
static void
order_take_part(struct matrix_order *order, const char *digits)
{
    char text[16];

    snprintf(text, sizeof(text), "%.12s", digits);
    order->seed = strtoull(text, NULL, 16);
    order->is_shuffled = true;
    order->n_cells = fault_n_cells();
}

/* Takes the hash of the commit that is checked out. Without git the seed is
 * 1. */
static void
order_take_commit(struct matrix_order *order, const char *folder)
{
    char command[1024];
    char digits[64] = "1";

    snprintf(command, sizeof(command), "git -C '%s' rev-parse HEAD", folder);
    FILE *git = popen(command, "r");
    if (git && !fgets(digits, sizeof(digits), git))
        snprintf(digits, sizeof(digits), "1");
    if (git)
        pclose(git);
    printf("cells of %.12s\n", digits);
    order_take_part(order, digits);
}

/* Takes all cells of one fault, in the order of their numbers. */
static void
order_take_fault(struct matrix_order *order, const char *name)
{
    const uint32_t n_each = fault_n_cells() / n_fault_rows;

    for (uint32_t row = 0; row < n_fault_rows; row++) {
        if (strcmp(fault_rows[row].name, name) != 0)
            continue;
        order->first = row * n_each;
        order->n_cells = n_each;
    }
}

/* Takes the names, which commas separate. They are split in place. */
static void
order_take_networks(struct matrix_order *order, char *names)
{
    uint32_t n = 0;

    for (char *name = strtok(names, ","); name && n < FAULT_RANKS;
         name = strtok(NULL, ","))
        order->spaces.networks[n++] = name;
    if (n < FAULT_RANKS)
        usage();
}

static struct matrix_order
order_read(int argc, char **argv)
{
    static const struct option options[] = {
        {"part", required_argument, NULL, 'p'},
        {"commit-of", required_argument, NULL, 'o'},
        {"seconds", required_argument, NULL, 's'},
        {"fault", required_argument, NULL, 'f'},
        {"cell", required_argument, NULL, 'c'},
        {"jobs", required_argument, NULL, 'j'},
        {"document", required_argument, NULL, 'd'},
        {"strict", no_argument, NULL, 't'},
        {"all", no_argument, NULL, 'a'},
        {"own-pids", no_argument, NULL, 'i'},
        {"networks", required_argument, NULL, 'n'},
        {"coordinator", required_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct matrix_order order = {.n_jobs = 1};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'p') {
            order_take_part(&order, optarg);
        } else if (c == 'o') {
            order_take_commit(&order, optarg);
        } else if (c == 's') {
            order.n_seconds = (unsigned)strtoul(optarg, NULL, 10);
        } else if (c == 'c') {
            order.first = (uint32_t)strtoul(optarg, NULL, 10);
            order.n_cells = 1;
        } else if (c == 'f') {
            order_take_fault(&order, optarg);
        } else if (c == 'j') {
            order.n_jobs = (unsigned)strtoul(optarg, NULL, 10);
        } else if (c == 'd') {
            order.document = optarg;
        } else if (c == 't') {
            order.is_strict = true;
        } else if (c == 'a') {
            order_take_part(&order, "0");
        } else if (c == 'i') {
            order.spaces.has_own_pids = true;
        } else if (c == 'n') {
            order_take_networks(&order, optarg);
        } else if (c == 'h') {
            order.coordinator = optarg;
        } else {
            usage();
        }
    }
    if (order.n_jobs < 1 || order.n_jobs > JOBS_MAX || order.n_cells == 0 ||
        order.first + order.n_cells > fault_n_cells() ||
        !order.spaces.networks[0] != !order.coordinator)
        usage();
    return order;
}

static void
cell_describe(uint32_t number, char *out_text, size_t n_text)
{
    const struct fault_cell cell = fault_cell_at(number);

    snprintf(out_text, n_text, "cell %u (%s, %s, %s, %u ranks, %s)", number,
             cell.fault->name, cell.call.name, fault_place_names[cell.place],
             cell.size, cell.transport);
}

/* Runs a cell again if it has failed, because a host may stop a processor for a
 * second, and the rank that runs there is then silent for too long. That is no
 * reason for a wrong result. */
static struct fault_mark
cell_run(const struct matrix_order *order,
         const struct fault_lab *lab,
         uint32_t number,
         struct fault_outcome *out_outcome)
{
    char text[160];
    const unsigned n_tries = order->is_strict ? TRIES_STRICT : TRIES;
    unsigned n_failed = 0;

    fault_run(lab, number, out_outcome);
    while (out_outcome->grade == FAULT_FAILED && !out_outcome->is_wrong &&
           ++n_failed < n_tries) {
        cell_describe(number, text, sizeof(text));
        printf("%s, once: %s\n", text, out_outcome->text);
        fault_run(lab, number, out_outcome);
    }
    return (struct fault_mark){
        .has_run = true,
        .is_second = n_failed > 0,
        .grade = out_outcome->grade,
        .took_ns = out_outcome->took_ns,
    };
}

/* All jobs write to this memory. */
struct matrix_board {
    atomic_uint next;
    atomic_uint n_failed;
    struct fault_mark marks[]; /* [cell] */
};

static size_t
board_bytes(void)
{
    return sizeof(struct matrix_board) +
           fault_n_cells() * sizeof(struct fault_mark);
}

static struct matrix_board *
board_open(void)
{
    struct matrix_board *board =
        mmap(NULL, board_bytes(), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (board == MAP_FAILED) {
        perror("fault matrix");
        exit(99);
    }
    return board;
}

static struct fault_lab
lab_of(const struct matrix_order *order, const char *coordinator)
{
    const unsigned lenience = order->is_strict ? 1 : LENIENCE;

    if (order->spaces.networks[0])
        return (struct fault_lab){
            .coordinator = coordinator,
            .spaces = order->spaces,
            .failure_timeout_ms = BAD_TIMEOUT_MS,
            .is_default = true,
            .crash_ms = BAD_CRASH_MS,
            .slack_ms = BAD_SLACK_MS,
            .op_ms = BAD_OP_MS,
            .cell_ms = BAD_CELL_MS,
        };
    return (struct fault_lab){
        .coordinator = coordinator,
        .spaces = order->spaces,
        .failure_timeout_ms = FAILURE_TIMEOUT_MS,
        .crash_ms = CRASH_MS * lenience,
        .slack_ms = SLACK_MS * lenience,
        .op_ms = OP_MS,
        .cell_ms = CELL_MS + FAILURE_TIMEOUT_MS,
    };
}

static bool
shares_no_memory(const struct fault_spaces *spaces)
{
    return spaces->has_own_pids || spaces->networks[0];
}

/* Runs cells, as the other jobs do, until all are done or the time is over. */
static void
job_run(const struct matrix_order *order,
        const struct fault_lab *lab,
        struct matrix_board *board)
{
    const uint64_t deadline_ns =
        order->n_seconds > 0 ? clock_deadline_ns(1000ULL * order->n_seconds)
                             : CLOCK_NEVER;

    while (!clock_is_past(deadline_ns)) {
        const uint32_t i = atomic_fetch_add(&board->next, 1);
        struct fault_outcome outcome;
        char text[160];

        if (i >= order->n_cells)
            return;
        const uint32_t number = order->is_shuffled
                                    ? fault_cell_shuffled(i, order->seed)
                                    : order->first + i;
        if (shares_no_memory(&lab->spaces) &&
            strcmp(fault_cell_at(number).transport, "tcp") != 0)
            continue;
        board->marks[number] = cell_run(order, lab, number, &outcome);
        if (outcome.grade != FAULT_FAILED ||
            atomic_fetch_add(&board->n_failed, 1) >= STRANGE_MAX)
            continue;
        cell_describe(number, text, sizeof(text));
        printf("%s: %s\n", text, outcome.text);
        fflush(stdout);
    }
}

/* Runs each job in a process of its own, because a cell waits for any child. */
static void
jobs_run(const struct matrix_order *order,
         const struct fault_lab *lab,
         struct matrix_board *board)
{
    pid_t pids[JOBS_MAX];

    fflush(NULL);
    for (unsigned i = 0; i < order->n_jobs; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            job_run(order, lab, board);
            fflush(NULL);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < order->n_jobs; i++) {
        int how = -1;

        waitpid(pids[i], &how, 0);
        if (how == 0)
            continue;
        printf("job %u ended with %#x\n", i, (unsigned)how);
        atomic_fetch_add(&board->n_failed, 1);
    }
}

/* Returns how many cells have failed. */
static unsigned
matrix_run(const struct matrix_order *order, const char *coordinator)
{
    const struct fault_lab lab = lab_of(order, coordinator);
    struct fault_table *table = fault_table_create();
    struct matrix_board *board = board_open();

    jobs_run(order, &lab, board);
    for (uint32_t number = 0; number < fault_n_cells(); number++)
        fault_table_add(table, number, &board->marks[number]);
    fault_table_write(table, stdout);
    if (order->document && shares_no_memory(&lab.spaces))
        fault_table_append(table, &lab, order->document);
    else if (order->document)
        fault_table_document(table, order->is_strict ? 1 : LENIENCE,
                             order->document);
    fault_table_destroy(table);
    const unsigned n_failed = atomic_load(&board->n_failed);
    munmap(board, board_bytes());
    return n_failed;
}

int
main(int argc, char **argv)
{
    const struct matrix_order order = order_read(argc, argv);
    const char *arguments[] = {"--lease=5s", NULL};
    struct daemon daemon;

    if (order.coordinator)
        return matrix_run(&order, order.coordinator) > 0;
    if (!getenv("HOOPD")) {
        fprintf(stderr, "fault_matrix: HOOPD must name the program hoopd\n");
        return 64;
    }
    daemon_start(&daemon, arguments);
    const unsigned n_failed = matrix_run(&order, daemon.address);
    daemon_stop(&daemon);
    return n_failed > 0;
}
