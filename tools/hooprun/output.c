/* hooprun/output.c - prints the workers' lines on hooprun's stdout and
 * stderr */

#include "hooprun/output.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "hooprun/hosts.h"

enum {
    READ_MAX = 16 * 1024,
    FEW_RANKS = 16, /* up to this many ranks, all lines are written */
    TELL_S = 1,     /* interval at which counted lines are reported */
    RANK_TEXT = HOST_NAME_BYTES + 24,
};

/* Reported once for stdout, stderr and the files. The run continues, since the
 * workers' results still count. */
static void
failure_tell(struct output *output, int fd)
{
    bool *has_failed = fd <= STDERR_FILENO ? &output->has_failed[fd]
                                           : &output->has_failed_file;

    if (*has_failed)
        return;
    *has_failed = true;
    if (fd == STDOUT_FILENO)
        warn("cannot write standard output");
    else if (fd == STDERR_FILENO)
        warn("cannot write standard error");
    else
        warn("cannot write a file of --output");
}

/* Return whether to repeat a write that has failed. Another process that shares
 * the file may have set it to O_NONBLOCK. */
static bool
write_is_repeated(int fd)
{
    if (errno == EAGAIN)
        poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
    return errno == EINTR || errno == EAGAIN;
}

/* If possible, one writev(2), so that no other line comes in between. */
static void
parts_write(struct output *output, int fd, struct iovec *parts, int n_parts)
{
    while (n_parts > 0) {
        const ssize_t n = writev(fd, parts, n_parts);
        size_t n_left = n < 0 ? 0 : (size_t)n;

        if (n < 0 && write_is_repeated(fd))
            continue;
        if (n < 0) {
            failure_tell(output, fd);
            return;
        }
        while (n_parts > 0 && n_left >= parts->iov_len) {
            n_left -= parts->iov_len;
            parts++;
            n_parts--;
        }
        if (n_parts > 0) {
            parts->iov_base = (char *)parts->iov_base + n_left;
            parts->iov_len -= n_left;
        }
    }
}

static void
bytes_write(struct output *output, int fd, const char *bytes, size_t n_bytes)
{
    struct iovec part = {(void *)(uintptr_t)bytes, n_bytes};

    parts_write(output, fd, &part, 1);
}

static void
last_keep(struct output_pipe *pipe, const char *bytes, size_t n_bytes)
{
    struct output_last *last = &pipe->output->last[pipe->rank];
    char *line = last->lines[last->n_lines++ % OUTPUT_LAST_LINES];

    snprintf(line, OUTPUT_LAST_MAX, "%.*s", (int)n_bytes, bytes);
}

/* With many ranks, warnings of libhoop are counted and, after a failure, all
 * lines on stderr. Results, on stdout, are always written. */
static bool
is_counted(struct output_pipe *pipe, const char *bytes, size_t n_bytes)
{
    struct output *output = pipe->output;

    return pipe->target_fd == STDERR_FILENO &&
           output->n_pipes > 2 * FEW_RANKS &&
           (output->is_failing || alike_is_log(bytes, n_bytes)) &&
           alike_hides(&output->alike, pipe->rank, bytes, n_bytes);
}

/* "3", "3 (host b)" */
static void
rank_describe(const struct output *output,
              uint32_t rank,
              char out_text[static RANK_TEXT])
{
    const char *host = output->pipes[2 * (size_t)rank].host;

    snprintf(out_text, RANK_TEXT, host ? "%u (host %s)" : "%u", rank, host);
}

/* Report how many lines were counted in place of being written, and of which
 * ranks. */
static void
alike_tell(struct output *output)
{
    struct alike_kind kind;

    output->told_s = time(NULL);
    while (alike_next(&output->alike, &kind)) {
        char first[RANK_TEXT];
        char last[RANK_TEXT];

        rank_describe(output, kind.lowest_rank, first);
        rank_describe(output, kind.highest_rank, last);
        output_clear_progress(output);
        if (kind.n_hidden == 1)
            warnx("1 more line, from rank %s, is like: %s", first, kind.text);
        else
            warnx("%u more lines, from ranks %s to %s, are like: %s",
                  kind.n_hidden, first, last, kind.text);
    }
}

static void
alike_look(struct output *output)
{
    if (time(NULL) - output->told_s > TELL_S)
        alike_tell(output);
}

static void
line_write(struct output_pipe *pipe, const char *bytes, size_t n_bytes)
{
    char prefix[24];
    const int n_prefix = snprintf(prefix, sizeof(prefix), "[%u] ", pipe->rank);
    const struct iovec whole[] = {
        {prefix, (size_t)n_prefix},
        {(void *)(uintptr_t)bytes, n_bytes},
        {(void *)(uintptr_t) "\n", 1},
    };
    struct iovec parts[3];

    memcpy(parts, whole, sizeof(whole));
    if (!is_counted(pipe, bytes, n_bytes))
        parts_write(pipe->output, pipe->target_fd, parts, 3);
    if (pipe->file_fd < 0)
        return;
    memcpy(parts, whole + 1, 2 * sizeof(*whole));
    parts_write(pipe->output, pipe->file_fd, parts, 2);
}

static size_t
terminal_columns(int fd)
{
    struct winsize size = {0};

    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return 80;
    return size.ws_col;
}

static void
progress_draw(struct output *output)
{
    char line[OUTPUT_PROGRESS_MAX + 32];
    const int fd = output->progress->target_fd;
    int n = snprintf(line, sizeof(line), "\r[%u] %s", output->progress->rank,
                     output->text);
    const size_t n_columns = terminal_columns(fd);

    /* A line that wraps could not be erased. */
    if ((size_t)n > n_columns)
        n = (int)n_columns;
    bytes_write(output, fd, line, (size_t)n);
    bytes_write(output, fd, "\033[K", 3);
}

static void
progress_erase(struct output *output)
{
    if (output->progress)
        bytes_write(output, output->progress->target_fd, "\r\033[K", 4);
}

static void
status_erase(struct output *output)
{
    if (output->has_status)
        bytes_write(output, STDERR_FILENO, "\r\033[K", 4);
    output->has_status = false;
}

void
output_clear_progress(struct output *output)
{
    progress_erase(output);
    status_erase(output);
    output->progress = NULL;
}

/* Return how many bytes of text fit. No character is wider than its bytes are
 * many, and none is split. */
static size_t
bytes_that_fit(const char *text, size_t n_columns)
{
    size_t n = strlen(text);

    if (n <= n_columns)
        return n;
    n = n_columns;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

void
output_show_status(struct output *output, const char *text)
{
    char line[OUTPUT_PROGRESS_MAX + 8];

    if (output->progress || !*text) {
        status_erase(output);
        return;
    }
    /* In the last column, the next character would begin a line. */
    const size_t n_fits =
        bytes_that_fit(text, terminal_columns(STDERR_FILENO) - 1);
    const int n =
        snprintf(line, sizeof(line), "\r%.*s\033[K", (int)n_fits, text);

    bytes_write(output, STDERR_FILENO, line, (size_t)n);
    output->has_status = true;
}

static void
progress_show(struct output_pipe *pipe, const char *bytes, size_t n_bytes)
{
    struct output *output = pipe->output;

    if (!output->is_terminal[pipe->target_fd])
        return;
    if (n_bytes == 0) {
        if (output->progress == pipe)
            output_clear_progress(output);
        return;
    }
    char text[OUTPUT_PROGRESS_MAX];
    snprintf(text, sizeof(text), "%.*s", (int)n_bytes, bytes);
    if (output->progress == pipe && strcmp(text, output->text) == 0)
        return;
    status_erase(output);
    output->progress = pipe;
    memcpy(output->text, text, sizeof(text));
    progress_draw(output);
}

static void
line_print(void *owner, enum line_kind kind, const char *bytes, size_t n_bytes)
{
    struct output_pipe *pipe = owner;
    struct output *output = pipe->output;

    if (kind == LINE_PROGRESS) {
        progress_show(pipe, bytes, n_bytes);
        return;
    }
    progress_erase(output);
    status_erase(output);
    if (output->progress == pipe)
        output->progress = NULL;
    line_write(pipe, bytes, n_bytes);
    last_keep(pipe, bytes, n_bytes);
    output->n_lines++;
    if (output->progress)
        progress_draw(output);
}

/* Return -1 on failure, after printing why to stderr. */
static int
file_open(const char *folder, uint32_t rank, int flags)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/rank%u.log", folder, rank);
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        warn("cannot write %s", path);
    return fd;
}

enum hoop_status
output_prepare(const char *folder, uint32_t n_workers)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        warn("cannot make the folder %s", folder);
        return HOOP_E_UNAVAILABLE;
    }
    for (uint32_t rank = 0; rank < n_workers; rank++) {
        const int fd = file_open(folder, rank, O_CREAT | O_TRUNC);

        if (fd < 0)
            return HOOP_E_UNAVAILABLE;
        close(fd);
    }
    return HOOP_OK;
}

static void
pipe_init(struct output_pipe *pipe,
          struct output *output,
          const struct worker *worker,
          int target_fd)
{
    pipe->output = output;
    pipe->rank = worker->rank;
    pipe->host = worker->host ? host_name(worker->host) : NULL;
    pipe->fd = target_fd == STDOUT_FILENO ? worker->out_fd : worker->err_fd;
    pipe->target_fd = target_fd;
    pipe->file_fd = -1;
    if (pipe->fd >= 0)
        fcntl(pipe->fd, F_SETFL, O_NONBLOCK);
}

enum hoop_status
output_init(struct output *output,
            struct worker *workers,
            uint32_t n_workers,
            const char *folder)
{
    *output = (struct output){
        .is_terminal = {false, isatty(STDOUT_FILENO) == 1,
                        isatty(STDERR_FILENO) == 1},
        .told_s = time(NULL),
        .n_pipes = 2 * n_workers,
        .pipes = calloc(2 * (size_t)n_workers, sizeof(*output->pipes)),
        .last = calloc(n_workers, sizeof(*output->last)),
    };
    if (!output->pipes || !output->last)
        return HOOP_E_EXHAUSTED;

    for (uint32_t i = 0; i < n_workers; i++) {
        pipe_init(&output->pipes[2 * i], output, &workers[i], STDOUT_FILENO);
        pipe_init(&output->pipes[2 * i + 1], output, &workers[i],
                  STDERR_FILENO);
    }
    /* Both streams of a rank share one file, which the first closes. */
    for (uint32_t i = 0; folder && i < n_workers; i++) {
        const int fd = file_open(folder, workers[i].rank, 0);

        if (fd < 0)
            return HOOP_E_UNAVAILABLE;
        output->pipes[2 * i].file_fd = output->pipes[2 * i + 1].file_fd = fd;
    }
    return HOOP_OK;
}

static void
pipe_end(struct output_pipe *pipe)
{
    stream_end(&pipe->stream, line_print, pipe);
    close(pipe->fd);
    pipe->fd = -1;
}

/* Return false if nothing more is available now. */
static bool
pipe_read(struct output_pipe *pipe)
{
    char bytes[READ_MAX];
    const ssize_t n = read(pipe->fd, bytes, sizeof(bytes));

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        pipe_end(pipe);
        return false;
    }
    stream_feed(&pipe->stream, bytes, (size_t)n, line_print, pipe);
    return true;
}

void
output_read(struct output_pipe *pipe)
{
    pipe_read(pipe);
    alike_look(pipe->output);
}

void
output_feed(struct output *output,
            uint32_t rank,
            int target_fd,
            const char *bytes,
            size_t n_bytes)
{
    struct output_pipe *pipe =
        &output->pipes[2 * (size_t)rank + (target_fd == STDERR_FILENO)];

    if (output->is_verbatim)
        bytes_write(output, target_fd, bytes, n_bytes);
    else
        stream_feed(&pipe->stream, bytes, n_bytes, line_print, pipe);
    alike_look(output);
}

void
output_drain(struct output *output)
{
    for (uint32_t i = 0; i < output->n_pipes; i++) {
        struct output_pipe *pipe = &output->pipes[i];

        while (pipe->fd >= 0 && pipe_read(pipe))
            continue;
        if (pipe->fd >= 0)
            pipe_end(pipe);
        else
            stream_end(&pipe->stream, line_print, pipe);
    }
    alike_tell(output);
}

void
output_repeat_last(struct output *output, uint32_t rank)
{
    const struct output_last *last = &output->last[rank];
    const uint32_t n =
        last->n_lines < OUTPUT_LAST_LINES ? last->n_lines : OUTPUT_LAST_LINES;

    for (uint32_t i = last->n_lines - n; i < last->n_lines; i++) {
        const char *line = last->lines[i % OUTPUT_LAST_LINES];
        char prefix[24];
        const int n_prefix = snprintf(prefix, sizeof(prefix), "[%u] ", rank);
        struct iovec parts[] = {
            {prefix, (size_t)n_prefix},
            {(void *)(uintptr_t)line, strlen(line)},
            {(void *)(uintptr_t) "\n", 1},
        };

        parts_write(output, STDERR_FILENO, parts, 3);
    }
}

bool
output_is_whole(const struct output *output)
{
    return !output->has_failed[STDOUT_FILENO] &&
           !output->has_failed[STDERR_FILENO] && !output->has_failed_file;
}

void
output_deinit(struct output *output)
{
    for (uint32_t i = 0; output->pipes && i < output->n_pipes; i++) {
        if (output->pipes[i].fd >= 0)
            close(output->pipes[i].fd);
        if (i % 2 == 0 && output->pipes[i].file_fd >= 0)
            close(output->pipes[i].file_fd);
    }
    free(output->pipes);
    free(output->last);
    *output = (struct output){0};
}
