/*
 * hooprun/hosts.c - hooprun's side of the agents on other hosts
 *
 *   CONNECTING --preamble--> PREPARING --ready--> READY --all are--> RUNNING
 *
 * and from each of them to GONE, when ssh has ended. A timer signal sends a
 * ping to each agent even while hooprun waits to write its output. So an agent
 * that hears nothing knows that hooprun's host is gone.
 */

#include "hooprun/hosts.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock_ms.h"
#include "hooprun/host_child.h"
#include "hooprun/host_text.h"
#include "hooprun/link.h"
#include "hooprun/reach.h"
#include "hooprun/stream.h"

enum {
    BEGIN_MS = 60 * 1000, /* time until all must be ready */
    SILENT_MS = 2 * LINK_PING_S * 1000,
    WORD_MS = 5 * 1000, /* time after which hooprun prints what it waits for */
    END_MS = 5 * 1000,  /* time between its end and that of ssh */
    LIST_BYTES = 200,
    SAID_BYTES = 4096,
};

enum host_state {
    HOST_CONNECTING,
    HOST_PREPARING,
    HOST_READY,
    HOST_RUNNING,
    HOST_GONE,
};

struct host {
    struct hosts *hosts;
    const char *name;
    uint32_t number;
    uint32_t first_rank;
    uint32_t n_ranks;
    uint32_t n_started;
    enum host_state state;
    enum host_state last_state; /* before it was GONE */
    pid_t pid;                  /* process id of ssh; 0: reaped */
    int wait_status;            /* of ssh */
    int err_fd;
    int refused_code; /* the exit code with which the agent refused to begin */
    bool is_local;
    bool was_silent;
    int silent_ms; /* silence after which it was given up */
    int64_t heard_ms;
    char address[REACH_ADDRESS_BYTES];
    char port[16];
    char coordinator[REACH_ADDRESS_BYTES];
    char version[32]; /* version of its hooprun, if it differs from this one */
    size_t n_said;
    char said[SAID_BYTES]; /* its standard error before the workers ran */
    struct stream err;
    struct link link;
};

struct hosts {
    const struct worker_setup *setup;
    const struct hosts_events *events;
    void *owner;
    uint32_t n_hosts;
    struct host *hosts;
    int64_t begun_ms;
    bool has_begun;
    bool was_told;    /* what it waits for was printed */
    pid_t input_pid;  /* process that reads standard input; 0: reaped */
    int input_fd;     /* what that process reads; -1: its end was passed on */
    uint32_t n_input; /* bytes that rank 0's host accepts now */
};

/* Restart the pings, whenever a descriptor is to be closed. */
static void
pings_set(const struct hosts *hosts)
{
    int fds[HOST_LIST_MAX];
    int n = 0;

    link_pings_set(NULL, 0);
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        const struct host *host = &hosts->hosts[i];

        if (host->state != HOST_GONE && host->link.out_fd >= 0)
            fds[n++] = host->link.out_fd;
    }
    link_pings_set(fds, n);
}

static void
host_describe_run(struct host *host)
{
    const struct host_place place = {
        .number = host->number,
        .n_hosts = host->hosts->setup->options->hosts.n_hosts,
        .first_rank = host->first_rank,
        .n_ranks = host->n_ranks,
    };
    size_t n_bytes = 0;
    char *text = host_text_encode(host->hosts->setup, &place, &n_bytes);

    link_send_all(&host->link, FRAME_SETUP, text, n_bytes);
    link_send(&host->link, &(struct frame){.kind = FRAME_READY});
    explicit_bzero(text, n_bytes);
    free(text);
}

static bool
host_start(struct host *host)
{
    struct host_child child;

    if (!host_child_start(host->hosts->setup, host->name, &child))
        return false;
    host->pid = child.pid;
    host->link.in_fd = child.out_fd;
    host->link.out_fd = child.in_fd;
    host->err_fd = child.err_fd;
    host->heard_ms = now_ms();
    host_describe_run(host);
    return true;
}

struct hosts *
hosts_create(const struct worker_setup *setup,
             const struct hosts_events *events,
             void *owner)
{
    const struct host_list *list = &setup->options->hosts;
    struct hosts *hosts = calloc(1, sizeof(*hosts));
    uint32_t n_ranks = 0;

    if (hosts)
        hosts->hosts = calloc(list->n_hosts, sizeof(*hosts->hosts));
    if (!hosts || !hosts->hosts) {
        warn("cannot prepare %u hosts", list->n_hosts);
        free(hosts);
        return NULL;
    }
    hosts->setup = setup;
    hosts->events = events;
    hosts->owner = owner;
    hosts->begun_ms = now_ms();
    hosts->input_fd = -1;
    for (uint32_t i = 0; i < list->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];

        *host = (struct host){
            .hosts = hosts,
            .name = list->hosts[i].name,
            .number = i,
            .first_rank = n_ranks,
            .n_ranks = list->hosts[i].n_slots,
            .is_local = host_is_this(list->hosts[i].name),
            .err_fd = -1,
            .link = {.in_fd = -1, .out_fd = -1},
        };
        n_ranks += host->n_ranks;
        hosts->n_hosts++;
        if (!host_start(host)) {
            hosts_end(hosts);
            hosts_destroy(hosts);
            return NULL;
        }
    }
    pings_set(hosts);
    link_pings_start();
    return hosts;
}

static void
line_said(void *owner, enum line_kind kind, const char *bytes, size_t n_bytes)
{
    struct host *host = owner;

    if (kind != LINE_WHOLE || n_bytes == 0)
        return;
    /* Before that, its lines say why it cannot begin. */
    if (host->n_started == host->n_ranks) {
        fprintf(stderr, "[host %s] %.*s\n", host->name, (int)n_bytes, bytes);
        return;
    }
    /* Keep the last lines, which say why. */
    if (n_bytes > SAID_BYTES / 4)
        n_bytes = SAID_BYTES / 4;
    while (host->n_said + n_bytes + 2 > SAID_BYTES) {
        const char *next =
            (const char *)memchr(host->said, '\n', host->n_said) + 1;

        host->n_said -= (size_t)(next - host->said);
        memmove(host->said, next, host->n_said);
    }
    memcpy(host->said + host->n_said, bytes, n_bytes);
    host->n_said += n_bytes;
    host->said[host->n_said++] = '\n';
    host->said[host->n_said] = '\0';
}

static void
errors_read(struct host *host)
{
    char bytes[4096];
    ssize_t n;

    while (host->err_fd >= 0 &&
           (n = read(host->err_fd, bytes, sizeof(bytes))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        stream_feed(&host->err, bytes, (size_t)n, line_said, host);
    }
    if (host->err_fd < 0)
        return;
    stream_end(&host->err, line_said, host);
    close(host->err_fd);
    host->err_fd = -1;
}

static int
lost_code(const struct host *host)
{
    return host->refused_code != 0 ? host->refused_code : EXIT_FAILURE;
}

/* ssh ends soon after its input or output; its exit code says why. */
static void
host_gone(struct host *host)
{
    if (host->state == HOST_GONE)
        return;
    host->last_state = host->state;
    host->state = HOST_GONE;
    pings_set(host->hosts);
    link_close(&host->link);
    host_child_end(&host->pid, &host->wait_status, END_MS / 2);
    errors_read(host);
    host->hosts->events->on_lost(host->hosts->owner, host, lost_code(host));
}

int
host_silent_ms(const struct host *host)
{
    return (int)(now_ms() - host->heard_ms);
}

/* Data that has come but was not read yet counts. */
static bool
host_is_silent(const struct host *host, int for_ms)
{
    struct pollfd readable = {host->link.in_fd, POLLIN, 0};

    return host_silent_ms(host) >= for_ms && poll(&readable, 1, 0) <= 0;
}

void
host_abandon(struct host *host)
{
    host->was_silent = true;
    host->silent_ms = host_silent_ms(host);
    if (host->pid > 0)
        kill(host->pid, SIGKILL);
    host_gone(host);
}

/* Read the fields of a FRAME_READY. */
static void
ready_take(struct host *host, const struct frame *frame)
{
    const char *fields[3] = {"", "", ""};

    host_fields_decode(frame->bytes, frame->n_bytes, fields, 3);
    snprintf(host->address, sizeof(host->address), "%s", fields[0]);
    snprintf(host->port, sizeof(host->port), "%s", fields[1]);
    snprintf(host->coordinator, sizeof(host->coordinator), "%s", fields[2]);
    host->state = HOST_READY;
}

static void
frame_take(void *owner, const struct frame *frame)
{
    struct host *host = owner;
    struct hosts *hosts = host->hosts;
    const struct hosts_events *events = hosts->events;
    const bool is_of_rank = frame->rank >= host->first_rank &&
                            frame->rank - host->first_rank < host->n_ranks;

    if (frame->kind == FRAME_READY && host->state == HOST_PREPARING)
        ready_take(host, frame);
    if (frame->kind == FRAME_REFUSED && frame->n_bytes == 1)
        host->refused_code = (unsigned char)frame->bytes[0];
    if (frame->kind == FRAME_INPUT_TAKEN && host->number == 0)
        hosts->n_input += frame_number(frame);
    if (!is_of_rank || host->state != HOST_RUNNING)
        return;
    if (frame->kind == FRAME_STARTED) {
        host->n_started++;
        events->on_started(hosts->owner, frame->rank,
                           (pid_t)frame_number(frame));
    } else if (frame->kind == FRAME_OUTPUT) {
        events->on_output(hosts->owner, frame->rank,
                          frame->stream == STDERR_FILENO ? STDERR_FILENO
                                                         : STDOUT_FILENO,
                          frame->bytes, frame->n_bytes);
    } else if (frame->kind == FRAME_ENDED) {
        events->on_ended(hosts->owner, frame->rank, (int)frame_number(frame));
    } else if (frame->kind == FRAME_STOPPED && frame->n_bytes == 1) {
        events->on_stopped(hosts->owner, frame->rank, frame->bytes[0]);
    }
}

/* Drop what a login shell has printed, and the preamble when it is complete. */
static void
preamble_find(struct host *host)
{
    const size_t n_mark = sizeof(LINK_PREAMBLE) - 1;
    struct link *link = &host->link;
    char *at = memmem(link->in, link->n_in, LINK_PREAMBLE, n_mark);

    if (!at) {
        const size_t n_kept = link->n_in < n_mark ? link->n_in : n_mark;

        memmove(link->in, link->in + link->n_in - n_kept, n_kept);
        link->n_in = n_kept;
        return;
    }
    const char *version = at + n_mark;
    char *end = memchr(at, '\n', link->n_in - (size_t)(at - link->in));
    if (!end)
        return;
    if ((size_t)(end - version) != strlen(VERSION_TEXT) ||
        memcmp(version, VERSION_TEXT, strlen(VERSION_TEXT)) != 0) {
        *end = '\0';
        snprintf(host->version, sizeof(host->version), "%.*s",
                 (int)sizeof(host->version) - 1, version);
        host_abandon(host);
        return;
    }
    link->n_in -= (size_t)(end + 1 - link->in);
    memmove(link->in, end + 1, link->n_in);
    host->state = HOST_PREPARING;
    link_deliver(link, frame_take, host);
}

static void
host_receive(struct host *host)
{
    struct link *link = &host->link;
    enum link_state state;

    if (host->state == HOST_CONNECTING) {
        const ssize_t n = read(link->in_fd, link->in + link->n_in,
                               sizeof(link->in) - link->n_in);
        if (n > 0) {
            link->n_in += (size_t)n;
            preamble_find(host);
        }
        state = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))
                    ? LINK_OPEN
                    : LINK_ENDED;
    } else {
        state = link_receive(link, frame_take, host);
    }
    host->heard_ms = now_ms();
    if (state != LINK_OPEN)
        host_gone(host);
}

/* The address where rank 0 may listen: the one its agent found, or the one by
 * which other hosts reach this one. */
static const char *
master_address(const struct hosts *hosts, char text[static HOST_NAME_BYTES])
{
    const struct host *first = &hosts->hosts[0];
    const char *at = strrchr(first->name, '@');

    if (first->address[0] && strncmp(first->address, "127.", 4) != 0 &&
        strcmp(first->address, "::1") != 0)
        return first->address;
    if (first->is_local && (hosts->n_hosts == 1 || !first->address[0]))
        return "127.0.0.1";
    snprintf(text, HOST_NAME_BYTES, "%s", at ? at + 1 : first->name);
    return text;
}

/* The coordinator's address as the first other host reached it. Workers here
 * use it too, and so advertise an address that others reach. */
static const char *
coordinator_here(const struct hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        if (!hosts->hosts[i].is_local && hosts->hosts[i].coordinator[0])
            return hosts->hosts[i].coordinator;
    }
    return "";
}

/* If the first host is this one, rank 0's address is that of the coordinator
 * that it uses. */
static void
first_address_set(struct hosts *hosts)
{
    struct host *first = &hosts->hosts[0];
    const char *here = coordinator_here(hosts);
    const char *colon = strrchr(here, ':');

    if (!first->is_local || !colon || hosts->setup->options->coordinator)
        return;
    const bool has_brackets = here[0] == '[';
    snprintf(first->address, sizeof(first->address), "%.*s",
             (int)(colon - here) - 2 * has_brackets, here + has_brackets);
}

/* Send n_bytes of input; 0 bytes mean that it has ended. */
static void
input_send(struct hosts *hosts, const char *bytes, size_t n_bytes)
{
    link_send(&hosts->hosts[0].link, &(struct frame){
                                         .kind = FRAME_INPUT,
                                         .n_bytes = (uint16_t)n_bytes,
                                         .bytes = bytes,
                                     });
}

static void
hosts_begin(struct hosts *hosts)
{
    char name[HOST_NAME_BYTES];

    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        if (hosts->hosts[i].state != HOST_READY)
            return;
    }
    first_address_set(hosts);
    hosts->has_begun = true;
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];
        const char *fields[] = {
            master_address(hosts, name),
            hosts->hosts[0].port,
            host->is_local ? coordinator_here(hosts) : "",
        };
        char bytes[LINK_PAYLOAD_MAX];

        host->state = HOST_RUNNING;
        link_send(&host->link,
                  &(struct frame){
                      .kind = FRAME_START,
                      .n_bytes = host_fields_encode(fields, 3, bytes),
                      .bytes = bytes,
                  });
    }
    hosts->n_input = LINK_INPUT_MAX;
    hosts->input_fd = host_input_start(hosts->setup, &hosts->input_pid);
    if (hosts->input_fd < 0)
        input_send(hosts, NULL, 0);
}

static void
input_take(struct hosts *hosts)
{
    char bytes[LINK_PAYLOAD_MAX];
    const size_t n_most =
        hosts->n_input < sizeof(bytes) ? hosts->n_input : sizeof(bytes);
    const ssize_t n = read(hosts->input_fd, bytes, n_most);

    if (n < 0)
        return;
    hosts->n_input -= (uint32_t)n;
    input_send(hosts, bytes, (size_t)n);
    if (n > 0)
        return;
    close(hosts->input_fd);
    hosts->input_fd = -1;
}

bool
hosts_have_begun(const struct hosts *hosts)
{
    return hosts->has_begun;
}

uint32_t
hosts_polls_max(const struct worker_setup *setup)
{
    return 3 * setup->options->hosts.n_hosts + 1;
}

uint32_t
hosts_poll(struct hosts *hosts, struct pollfd *out_polls)
{
    /* The same condition as in hosts_take(). */
    const bool has_room =
        hosts->n_input > 0 && hosts->hosts[0].state == HOST_RUNNING;
    uint32_t n = 0;

    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        const struct host *host = &hosts->hosts[i];
        const bool is_waiting = host->link.n_queued > 0;

        out_polls[n++] = (struct pollfd){host->link.in_fd, POLLIN, 0};
        out_polls[n++] =
            (struct pollfd){is_waiting ? host->link.out_fd : -1, POLLOUT, 0};
        out_polls[n++] = (struct pollfd){host->err_fd, POLLIN, 0};
    }
    out_polls[n++] =
        (struct pollfd){has_room ? hosts->input_fd : -1, POLLIN, 0};
    return n;
}

void
hosts_take(struct hosts *hosts, const struct pollfd *polls)
{
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];
        const struct pollfd *mine = polls + 3 * (size_t)i;

        if (mine[2].revents != 0)
            errors_read(host);
        if (mine[1].revents != 0 && host->state != HOST_GONE)
            link_flush(&host->link);
        if (mine[0].revents != 0 && host->state != HOST_GONE)
            host_receive(host);
    }
    if (polls[3 * (size_t)hosts->n_hosts].revents != 0 &&
        hosts->input_fd >= 0 && hosts->hosts[0].state == HOST_RUNNING)
        input_take(hosts);
    if (!hosts->has_begun)
        hosts_begin(hosts);
}

/* List the hosts that are not ready: "a, b and 3 more". */
static void
late_list(const struct hosts *hosts, char out_text[static LIST_BYTES])
{
    uint32_t n_more = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        const struct host *host = &hosts->hosts[i];

        if (host->state == HOST_READY)
            continue;
        if (n + strlen(host->name) + 24 > LIST_BYTES)
            n_more++;
        else
            n += (size_t)snprintf(out_text + n, LIST_BYTES - n, "%s%s",
                                  n > 0 ? ", " : "", host->name);
    }
    if (n_more > 0)
        snprintf(out_text + n, LIST_BYTES - n, " and %u more", n_more);
}

static void
hosts_look_before(struct hosts *hosts)
{
    const int64_t waited_ms = now_ms() - hosts->begun_ms;
    char list[LIST_BYTES] = "";

    if (waited_ms >= WORD_MS && !hosts->was_told) {
        late_list(hosts, list);
        warnx("waiting for %s to answer (since %d s; %d s are allowed)", list,
              WORD_MS / 1000, BEGIN_MS / 1000);
        hosts->was_told = true;
    }
    if (waited_ms < BEGIN_MS)
        return;
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        if (hosts->hosts[i].state < HOST_READY)
            host_abandon(&hosts->hosts[i]);
    }
}

void
hosts_look(struct hosts *hosts)
{
    if (!hosts->has_begun) {
        hosts_look_before(hosts);
        return;
    }
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];

        if (host->state != HOST_GONE &&
            host_is_silent(host, LINK_SILENCE_S * 1000))
            host_abandon(host);
    }
}

bool
hosts_reap(struct hosts *hosts, pid_t pid)
{
    if (hosts->input_pid == pid) {
        waitpid(pid, NULL, 0);
        hosts->input_pid = 0;
        return true;
    }
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];

        if (host->pid != pid)
            continue;
        waitpid(pid, &host->wait_status, 0);
        host->pid = 0;
        /* Its last frames are still in the pipe. */
        for (int turn = 0; turn < 1024 && host->state != HOST_GONE; turn++) {
            if (poll(&(struct pollfd){host->link.in_fd, POLLIN, 0}, 1, 0) <= 0)
                break;
            host_receive(host);
        }
        host_gone(host);
        return true;
    }
    return false;
}

void
hosts_notice(struct hosts *hosts, uint32_t rank, int wait_status)
{
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];

        if (host->state == HOST_RUNNING && host != hosts_of(hosts, rank))
            link_send_number(&host->link, FRAME_NOTICE, rank,
                             (uint32_t)wait_status);
    }
}

struct host *
hosts_of(struct hosts *hosts, uint32_t rank)
{
    uint32_t i = 0;

    while (rank - hosts->hosts[i].first_rank >= hosts->hosts[i].n_ranks)
        i++;
    return &hosts->hosts[i];
}

const char *
host_name(const struct host *host)
{
    return host->name;
}

void
host_signal(struct host *host, uint32_t rank, int number)
{
    const char byte = (char)number;

    if (host->state == HOST_RUNNING)
        link_send(&host->link,
                  &(struct frame){FRAME_SIGNAL, 0, 1, rank, &byte});
}

const struct host *
hosts_find_silent(const struct hosts *hosts)
{
    const struct host *most = NULL;

    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        const struct host *host = &hosts->hosts[i];

        if (host->state == HOST_RUNNING && host_is_silent(host, SILENT_MS) &&
            (!most || host->heard_ms < most->heard_ms))
            most = host;
    }
    return most;
}

bool
host_has_refused(const struct host *host)
{
    return host->refused_code != 0 || host->last_state < HOST_RUNNING;
}

static void
said_print(const struct host *host)
{
    const char *line = host->said;

    while (line < host->said + host->n_said) {
        const size_t n = strcspn(line, "\n");

        fprintf(stderr, "[host %s] %.*s\n", host->name, (int)n, line);
        line += n + 1;
    }
}

static enum host_failure_kind
host_failure_of(const struct host *host)
{
    if (host->refused_code != 0)
        return HOST_REFUSED;
    if (host->last_state == HOST_RUNNING)
        return host->was_silent ? HOST_SILENT : HOST_LOST;
    if (host->version[0])
        return HOST_OTHER_VERSION;
    return host->was_silent ? HOST_LATE : HOST_NOT_REACHED;
}

void
host_explain(const struct host *host)
{
    const struct host_failure failure = {
        .host = host->name,
        .program = host_program(host->hosts->setup->options),
        .rsh = host->is_local ? NULL : host->hosts->setup->options->rsh,
        .said = host->version[0] ? host->version : host->said,
        .wait_status = host->wait_status,
        .silent_s = (host->silent_ms + 500) / 1000,
        .kind = host_failure_of(host),
    };
    char text[HOST_FAILURE_BYTES];

    host_failure_describe(&failure, text);
    warnx("%s", text);
    /* Print all that it wrote, if that is more than the reason. */
    if (failure.kind == HOST_NOT_REACHED && host->n_said > 0 &&
        memchr(host->said, '\n', host->n_said) != host->said + host->n_said - 1)
        said_print(host);
}

static void
hosts_close(struct hosts *hosts)
{
    const int64_t end_ms = now_ms() + END_MS; /* for all of them together */

    link_pings_stop();
    if (hosts->input_pid > 0)
        kill(hosts->input_pid, SIGKILL);
    host_child_end(&hosts->input_pid, &(int){0}, END_MS);
    if (hosts->input_fd >= 0)
        close(hosts->input_fd);
    hosts->input_fd = -1;
    for (uint32_t i = 0; i < hosts->n_hosts; i++)
        link_close(&hosts->hosts[i].link);
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        struct host *host = &hosts->hosts[i];

        host_child_end(&host->pid, &host->wait_status,
                       (int)(end_ms - now_ms()));
        errors_read(host);
        host->last_state = host->state;
        host->state = HOST_GONE;
    }
}

void
hosts_end_well(struct hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->n_hosts; i++) {
        if (hosts->hosts[i].state == HOST_RUNNING)
            link_send(&hosts->hosts[i].link,
                      &(struct frame){.kind = FRAME_LEAVE});
    }
    hosts_close(hosts);
}

void
hosts_end(struct hosts *hosts)
{
    hosts_close(hosts);
}

void
hosts_destroy(struct hosts *hosts)
{
    if (!hosts)
        return;
    free(hosts->hosts);
    free(hosts);
}
