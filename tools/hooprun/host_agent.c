/*
 * hooprun/host_agent.c - `hooprun --agent`, for a hooprun on another host
 *
 * It only waits in poll(). While its output is not taken it stops reading its
 * workers, as if they wrote to a full pipe.
 */

#include "hooprun/host_agent.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock_ms.h"
#include "hooprun/ends.h"
#include "hooprun/exit_report.h"
#include "hooprun/host_text.h"
#include "hooprun/link.h"
#include "hooprun/outcome.h"
#include "hooprun/process_group.h"
#include "hooprun/reach.h"
#include "hooprun/records.h"

enum {
    REACH_MS = 3000,
    GIVEN_MS = 10 * 1000, /* for a given coordinator, which may still be
                             starting */
    AGAIN_MS = 200,
    TICK_MS = LINK_PING_S * 1000 / 2, /* often enough that pings are not late */
    SETUP_MAX = 16 * 1024 * 1024,
    TURNS_MAX = 20, /* reads of what an ended worker left in a pipe */
    POLL_SIGNALS = 0,
    POLL_FRONT,
    POLL_LINK_IN,
    POLL_LINK_OUT,
    POLL_INPUT,
    POLL_OTHERS,
};

struct host_agent {
    struct worker_setup *setup;
    struct options options;
    struct worker_node node;
    struct host_run run;
    char *text; /* the description of the run */
    size_t n_text;
    struct reached reached;
    char master_address[HOST_NAME_BYTES];
    char master_port[16];
    uint32_t n_started;
    uint32_t n_running;
    struct worker *workers;
    struct pollfd *polls;
    struct exit_report exit_report;
    struct ends ends;
    struct records records;
    int signal_fd;
    int input_fd; /* to rank 0 */
    bool has_input_end;
    bool was_signalled;
    bool is_over;
    int code;
    size_t n_input;
    char input[LINK_INPUT_MAX];
    int64_t heard_ms;
    int64_t pinged_ms;
    struct link link;
};

/* End without a report, since hooprun is gone. */
static void
agent_vanish(struct host_agent *agent)
{
    agent_kill_descendants(0);
    (void)records_close(&agent->records, EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* Tell hooprun that the agent cannot begin. The reason is on stderr. */
static void
agent_refuse(struct host_agent *agent, int code)
{
    const char byte = (char)code;

    link_send(&agent->link,
              &(struct frame){FRAME_REFUSED, 0, sizeof(byte), 0, &byte});
    agent->code = code;
    agent->is_over = true;
}

static void
environment_take(const struct host_run *run)
{
    for (uint32_t i = 0; i < run->n_variables; i++) {
        char *value = strchr(run->variables[i], '=');

        if (!value)
            continue;
        *value = '\0';
        setenv(run->variables[i], value + 1, 1);
        /* The token was sent in place of its file, which may differ here. */
        if (strcmp(run->variables[i], "HOOP_TOKEN") == 0)
            unsetenv("HOOP_TOKEN_FILE");
    }
}

/* The address from which ssh has connected, "10.0.0.1". */
static void
ssh_address(char out_from[static REACH_ADDRESS_BYTES])
{
    const char *text = getenv("SSH_CONNECTION");

    if (!text || sscanf(text, "%63s", out_from) < 1)
        out_from[0] = '\0';
}

/* Try for a while, since a given coordinator may still be starting. */
static bool
given_reach(struct host_agent *agent, const char *from)
{
    const int64_t end_ms = now_ms() + GIVEN_MS;
    char text[REACH_TEXT_BYTES];

    while (!reach_first(agent->run.coordinator, from, REACH_MS, &agent->reached,
                        text)) {
        if (now_ms() >= end_ms) {
            warnx("cannot reach the coordinator of --coordinator from here: "
                  "%s; start hoopd there first, with HOOP_TOKEN, without which "
                  "it serves its own host alone; or give an address and port "
                  "that all hosts reach",
                  text);
            return false;
        }
        poll(NULL, 0, AGAIN_MS);
    }
    return true;
}

static bool
coordinator_reach(struct host_agent *agent)
{
    char text[REACH_TEXT_BYTES];
    char from[REACH_ADDRESS_BYTES];

    ssh_address(from);
    if (agent->run.has_coordinator)
        return given_reach(agent, from);
    if (reach_first(agent->run.coordinator, from, REACH_MS, &agent->reached,
                    text))
        return true;
    warnx("cannot reach the coordinator, which hooprun has started, from here: "
          "%s; let firewalls pass all ports between the hosts, or, where they "
          "pass some, start hoopd on one of these, give it with --coordinator, "
          "the same HOOP_TOKEN to it and to hooprun, and the others to the "
          "workers with HOOP_PORT",
          text);
    return false;
}

static void
agent_prepare(struct host_agent *agent)
{
    char port[16];

    if (!host_text_decode(agent->text, agent->n_text, &agent->run)) {
        warnx("what hooprun has sent is not complete");
        agent_refuse(agent, EXIT_FAILURE);
        return;
    }
    environment_take(&agent->run);
    if (chdir(agent->run.folder) != 0) {
        warnx("cannot enter %s: %s; make it on all hosts, or say another one "
              "with --wdir",
              agent->run.folder, strerror(errno));
        agent_refuse(agent, EXIT_FAILURE);
        return;
    }
    if (!coordinator_reach(agent)) {
        agent_refuse(agent, EXIT_FAILURE);
        return;
    }
    snprintf(port, sizeof(port), "%u",
             reach_free_port(agent->reached.own[0] ? agent->reached.own
                                                   : "0.0.0.0"));
    const char *fields[] = {agent->reached.own, port,
                            agent->reached.coordinator};
    char bytes[LINK_PAYLOAD_MAX];
    const uint16_t n_bytes = host_fields_encode(fields, 3, bytes);

    link_send(&agent->link, &(struct frame){FRAME_READY, 0, n_bytes, 0, bytes});
}

static void
input_open(struct host_agent *agent)
{
    int pipes[2];

    agent->setup->input_fd = agent->input_fd = -1;
    if (agent->run.place.first_rank != 0 || pipe2(pipes, O_CLOEXEC) != 0)
        return;
    agent->setup->input_fd = pipes[0];
    agent->input_fd = pipes[1];
    fcntl(agent->input_fd, F_SETFL, O_NONBLOCK);
}

static void
setup_fill(struct host_agent *agent)
{
    const struct host_run *run = &agent->run;
    struct worker_setup *setup = agent->setup;

    agent->options = (struct options){
        .n_workers = run->n_workers,
        .job = run->job,
        .style = OUTPUT_PREFIXED,
        .command = run->command,
    };
    agent->node = (struct worker_node){
        .number = run->place.number,
        .n_nodes = run->place.n_hosts,
        .first_rank = run->place.first_rank,
        .n_ranks = run->place.n_ranks,
    };
    setup->options = &agent->options;
    setup->node = &agent->node;
    setup->coordinator =
        run->has_coordinator ? run->coordinator : agent->reached.coordinator;
    setup->endings = agent->exit_report.path;
    if (run->is_recorded)
        records_open(&agent->records, run->place.n_ranks);
    setup->records = agent->records.path;
    setup->n_restarts = run->n_restarts;
    setup->has_terminal = run->has_terminal;
    setup->master_address = agent->master_address;
    setup->master_port = agent->master_port;
}

static void
children_start(struct host_agent *agent)
{
    const struct host_place *place = &agent->run.place;
    const enum hoop_status status =
        workers_start(agent->setup, place->first_rank, place->n_ranks,
                      agent->workers, &agent->n_started);

    agent->n_running = agent->n_started;
    for (uint32_t i = 0; i < agent->n_started; i++) {
        struct worker *worker = &agent->workers[i];

        fcntl(worker->out_fd, F_SETFL, O_NONBLOCK);
        fcntl(worker->err_fd, F_SETFL, O_NONBLOCK);
        /* Otherwise the failure's text would go out as an output line, not as
         * the reason. */
        if (status == HOOP_OK)
            link_send_number(&agent->link, FRAME_STARTED, worker->rank,
                             (uint32_t)worker->pid);
    }
    if (status != HOOP_OK)
        agent_refuse(agent, outcome_start_code(status));
}

static void
start_take(struct host_agent *agent, const struct frame *frame)
{
    const char *fields[3] = {"", "", ""};
    const uint32_t n = agent->run.place.n_ranks;

    if (n == 0 || agent->workers)
        return;
    host_fields_decode(frame->bytes, frame->n_bytes, fields, 3);
    snprintf(agent->master_address, sizeof(agent->master_address), "%s",
             fields[0]);
    snprintf(agent->master_port, sizeof(agent->master_port), "%s", fields[1]);
    if (fields[2][0])
        snprintf(agent->reached.coordinator, sizeof(agent->reached.coordinator),
                 "%s", fields[2]);
    agent->workers = calloc(n, sizeof(*agent->workers));
    free(agent->polls);
    agent->polls = calloc(2 * (size_t)n + POLL_OTHERS, sizeof(*agent->polls));
    if (!agent->workers || !agent->polls) {
        warn("cannot prepare %u workers", n);
        agent_refuse(agent, EXIT_FAILURE);
        return;
    }
    setup_fill(agent);
    input_open(agent);
    children_start(agent);
    if (agent->setup->input_fd >= 0)
        close(agent->setup->input_fd);
}

/* Write input to rank 0. What it does not take now is kept for later. */
static void
input_pass_on(struct host_agent *agent)
{
    ssize_t n = 0;

    if (agent->input_fd < 0)
        return;
    if (agent->n_input > 0)
        n = link_write(agent->input_fd, agent->input, agent->n_input);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        agent->n_input -= (size_t)n;
        memmove(agent->input, agent->input + n, agent->n_input);
        link_send_number(&agent->link, FRAME_INPUT_TAKEN, 0, (uint32_t)n);
    }
    /* Rank 0 reads no more, or all input has been passed on. */
    if (n < 0 || (agent->n_input == 0 && agent->has_input_end)) {
        close(agent->input_fd);
        agent->input_fd = -1;
    }
}

static void
input_take(struct host_agent *agent, const struct frame *frame)
{
    if (agent->n_input + frame->n_bytes > sizeof(agent->input))
        return;
    memcpy(agent->input + agent->n_input, frame->bytes, frame->n_bytes);
    agent->n_input += frame->n_bytes;
    agent->has_input_end = agent->has_input_end || frame->n_bytes == 0;
    input_pass_on(agent);
}

static void
signal_take(struct host_agent *agent, const struct frame *frame)
{
    const uint32_t i = frame->rank - agent->run.place.first_rank;

    if (frame->n_bytes != 1 || i >= agent->n_started)
        return;
    const int number = frame->bytes[0];
    agent->was_signalled =
        agent->was_signalled || (number != SIGSTOP && number != SIGCONT);
    if (agent->workers[i].is_running)
        worker_signal(&agent->workers[i], number);
}

static void
text_append(struct host_agent *agent, const struct frame *frame)
{
    char *text = agent->n_text + frame->n_bytes > SETUP_MAX
                     ? NULL
                     : realloc(agent->text, agent->n_text + frame->n_bytes);

    if (!text) {
        warnx("no memory for the description of the run");
        agent_refuse(agent, EXIT_FAILURE);
        return;
    }
    agent->text = text;
    memcpy(text + agent->n_text, frame->bytes, frame->n_bytes);
    agent->n_text += frame->n_bytes;
}

static void
frame_take(void *owner, const struct frame *frame)
{
    struct host_agent *agent = owner;

    if (frame->kind == FRAME_SETUP)
        text_append(agent, frame);
    else if (frame->kind == FRAME_READY)
        agent_prepare(agent);
    else if (frame->kind == FRAME_START)
        start_take(agent, frame);
    else if (frame->kind == FRAME_SIGNAL)
        signal_take(agent, frame);
    else if (frame->kind == FRAME_INPUT)
        input_take(agent, frame);
    else if (frame->kind == FRAME_NOTICE)
        exit_report_write(
            &agent->exit_report,
            &(struct ending){.rank = frame->rank,
                             .wait_status = (int)frame_number(frame)});
    else if (frame->kind == FRAME_LEAVE)
        agent->is_over = true;
}

/* Return whether there may be more output. */
static bool
output_pass_on(struct host_agent *agent, uint32_t rank, int *fd, int stream)
{
    char bytes[LINK_PAYLOAD_MAX];
    const ssize_t n = *fd < 0 ? -1 : read(*fd, bytes, sizeof(bytes));

    if (n > 0)
        link_send(&agent->link, &(struct frame){FRAME_OUTPUT, (uint8_t)stream,
                                                (uint16_t)n, rank, bytes});
    if (n == 0) {
        close(*fd);
        *fd = -1;
    }
    return n > 0;
}

static void
worker_reap(struct host_agent *agent, struct worker *worker)
{
    struct ending ending = {.rank = worker->rank, .pid = worker->pid};
    siginfo_t ended = {0};

    /* Until it is reaped, its group's number cannot be reused. */
    waitid(P_PID, (id_t)worker->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_code != CLD_EXITED || ended.si_status != 0 ||
        agent->was_signalled)
        worker_signal(worker, SIGKILL);
    waitpid(worker->pid, &ending.wait_status, 0);
    worker->is_running = false;
    agent->n_running--;
    exit_report_write(&agent->exit_report, &ending);
    /* Send what it wrote before its end first. */
    for (int i = 0; i < TURNS_MAX; i++) {
        const bool has_out =
            output_pass_on(agent, worker->rank, &worker->out_fd, STDOUT_FILENO);
        const bool has_err =
            output_pass_on(agent, worker->rank, &worker->err_fd, STDERR_FILENO);
        if (!has_out && !has_err)
            break;
    }
    link_send_number(&agent->link, FRAME_ENDED, worker->rank,
                     (uint32_t)ending.wait_status);
}

/* Return the next worker in the order in which they have ended. */
static struct worker *
ended_next(struct host_agent *agent)
{
    int64_t rank;

    while ((rank = ends_next(&agent->ends)) >= 0) {
        struct worker *worker =
            &agent->workers[rank - agent->run.place.first_rank];

        if (worker->is_running)
            return worker;
    }
    return NULL;
}

static struct worker *
worker_find(struct host_agent *agent, pid_t pid)
{
    for (uint32_t i = 0; i < agent->n_started; i++) {
        if (agent->workers[i].pid == pid && agent->workers[i].is_running)
            return &agent->workers[i];
    }
    return NULL;
}

static void
children_reap(struct host_agent *agent)
{
    for (;;) {
        struct worker *worker = ended_next(agent);
        siginfo_t ended = {0};

        if (!worker) {
            if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
                ended.si_pid == 0)
                return;
            worker = worker_find(agent, ended.si_pid);
            /* Others may have ended just now, and before it. */
            struct worker *before = worker ? ended_next(agent) : NULL;
            worker = before ? before : worker;
        }
        if (worker)
            worker_reap(agent, worker);
        else
            waitpid(ended.si_pid, NULL, 0);
    }
}

static void
stops_look(struct host_agent *agent)
{
    for (uint32_t i = 0; i < agent->n_started; i++) {
        const struct worker *worker = &agent->workers[i];
        siginfo_t seen = {0};

        if (!worker->is_running ||
            waitid(P_PID, (id_t)worker->pid, &seen,
                   WSTOPPED | WCONTINUED | WNOHANG) != 0 ||
            seen.si_pid == 0)
            continue;
        const char byte =
            seen.si_code == CLD_CONTINUED ? 0 : (char)seen.si_status;
        link_send(&agent->link, &(struct frame){FRAME_STOPPED, 0, sizeof(byte),
                                                worker->rank, &byte});
    }
}

/* Pass on the signal of a process on this host that wants the workers to
 * end. */
static void
signal_pass_on(struct host_agent *agent, int number)
{
    agent->was_signalled = true;
    for (uint32_t i = 0; i < agent->n_started; i++) {
        if (agent->workers[i].is_running)
            worker_signal(&agent->workers[i], number);
    }
    if (agent->n_running > 0)
        return;
    agent->code = 128 + number;
    agent->is_over = true;
}

static void
signals_take(struct host_agent *agent)
{
    struct signalfd_siginfo received;

    while (read(agent->signal_fd, &received, sizeof(received)) ==
           (ssize_t)sizeof(received)) {
        const int number = (int)received.ssi_signo;

        if (number == SIGCHLD) {
            stops_look(agent);
            children_reap(agent);
        } else if (number != SIGCONT && number != SIGTSTP &&
                   number != SIGTTIN && number != SIGTTOU) {
            signal_pass_on(agent, number);
        }
    }
}

static uint32_t
polls_fill(struct host_agent *agent)
{
    struct pollfd *polls = agent->polls;
    const bool is_full = agent->link.n_queued > LINK_QUEUE_FULL;

    polls[POLL_SIGNALS] = (struct pollfd){agent->signal_fd, POLLIN, 0};
    polls[POLL_FRONT] = (struct pollfd){agent->setup->front->fd, POLLIN, 0};
    polls[POLL_LINK_IN] = (struct pollfd){agent->link.in_fd, POLLIN, 0};
    polls[POLL_LINK_OUT] = (struct pollfd){
        agent->link.n_queued > 0 ? agent->link.out_fd : -1, POLLOUT, 0};
    polls[POLL_INPUT] =
        (struct pollfd){agent->n_input > 0 ? agent->input_fd : -1, POLLOUT, 0};
    for (uint32_t i = 0; i < agent->n_started; i++) {
        const struct worker *worker = &agent->workers[i];
        struct pollfd *mine = polls + POLL_OTHERS + 2 * (size_t)i;

        mine[0] = (struct pollfd){is_full ? -1 : worker->out_fd, POLLIN, 0};
        mine[1] = (struct pollfd){is_full ? -1 : worker->err_fd, POLLIN, 0};
    }
    return POLL_OTHERS + 2 * agent->n_started;
}

static void
workers_read(struct host_agent *agent)
{
    const struct pollfd *polls = agent->polls + POLL_OTHERS;

    for (uint32_t i = 0; i < agent->n_started; i++) {
        struct worker *worker = &agent->workers[i];

        if (polls[2 * (size_t)i].revents != 0)
            output_pass_on(agent, worker->rank, &worker->out_fd, STDOUT_FILENO);
        if (polls[2 * (size_t)i + 1].revents != 0)
            output_pass_on(agent, worker->rank, &worker->err_fd, STDERR_FILENO);
    }
}

static void
clock_look(struct host_agent *agent)
{
    const int64_t now = now_ms();

    if (now - agent->pinged_ms >= LINK_PING_S * 1000) {
        agent->pinged_ms = now;
        link_send(&agent->link, &(struct frame){.kind = FRAME_PING});
    }
    if (now - agent->heard_ms < LINK_SILENCE_S * 1000)
        return;
    warnx("nothing was heard of hooprun's host for %d s; ending the workers",
          LINK_SILENCE_S);
    agent_vanish(agent);
}

static void
agent_turn(struct host_agent *agent)
{
    const uint32_t n_polls = polls_fill(agent);
    const struct pollfd *polls = agent->polls;
    const int n_ready = poll(agent->polls, n_polls, TICK_MS);

    if (n_ready > 0) {
        if (polls[POLL_FRONT].revents != 0)
            agent_vanish(agent);
        workers_read(agent);
        if (polls[POLL_INPUT].revents != 0)
            input_pass_on(agent);
        if (polls[POLL_SIGNALS].revents != 0)
            signals_take(agent);
        if (polls[POLL_LINK_OUT].revents != 0)
            link_flush(&agent->link);
        /* Last, since it may change polls. */
        if (polls[POLL_LINK_IN].revents != 0) {
            agent->heard_ms = now_ms();
            if (link_receive(&agent->link, frame_take, agent) != LINK_OPEN)
                agent_vanish(agent);
        }
    }
    clock_look(agent);
}

/* Send what is queued, unless nothing takes it. */
static void
farewell_send(struct host_agent *agent)
{
    struct pollfd out = {agent->link.out_fd, POLLOUT, 0};

    while (agent->link.n_queued > 0 && poll(&out, 1, 2000) > 0)
        link_flush(&agent->link);
}

static int
agent_open(struct host_agent *agent)
{
    static const char preamble[] = LINK_PREAMBLE VERSION_TEXT "\n";
    sigset_t mask;

    process_group_mask(&mask);
    agent->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    agent->polls = calloc(POLL_OTHERS, sizeof(*agent->polls));
    exit_report_open(&agent->exit_report);
    ends_open(&agent->ends);
    agent->records.fd = -1;
    agent->setup->ends = &agent->ends;
    agent->link.in_fd = STDIN_FILENO;
    agent->link.out_fd = STDOUT_FILENO;
    agent->input_fd = -1;
    agent->heard_ms = agent->pinged_ms = now_ms();
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    if (agent->signal_fd < 0 || !agent->polls)
        return -1;
    return link_write(STDOUT_FILENO, preamble, sizeof(preamble) - 1) > 0 ? 0
                                                                         : -1;
}

int
host_agent_run(void *owner, const struct agent_front *front)
{
    static struct host_agent of_process;
    struct host_agent *agent = &of_process;

    agent->setup = owner;
    agent->setup->front = front;
    if (agent_open(agent) != 0)
        err(EXIT_FAILURE, "cannot begin");
    while (!agent->is_over)
        agent_turn(agent);
    farewell_send(agent);
    if (agent->code != EXIT_SUCCESS)
        agent_kill_descendants(0);
    (void)records_close(&agent->records, agent->code);
    return agent->code;
}
