/*
 * recorder/recorder_signal.c - a copy of the record on a signal
 *
 * The handler may interrupt a thread that writes a record, and other threads
 * may write meanwhile. It takes each record again until its word has not
 * changed; one that the interrupted thread was writing keeps the mark that says
 * so. It calls only what a handler may call.
 */

#include "recorder/recorder_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "recorder/recorder_file.h"

enum {
    COPIES_MAX = 16,   /* sessions of a process that are copied */
    SLOTS_AT_ONCE = 8, /* on the stack of a handler, which may be small */
    TRIES_MAX = 100,
};

/* What a handler needs of a recorder. */
struct signal_copy {
    const struct recorder_memory *memory;
    int folder_fd;
    char unfinished[LIMIT_NAME];
    char name[RECORDER_FILE_NAME];
};

static _Atomic(struct signal_copy *) copies[COPIES_MAX];
static atomic_uint n_handlers; /* that run now */
static atomic_flag is_copying = ATOMIC_FLAG_INIT;
static atomic_int owner_pid; /* the process that these are of */

/* Copy words in their order. What is loaded afterwards is loaded later. */
static void
words_copy(const _Atomic uint64_t *words, size_t n_bytes, void *out_words)
{
    uint64_t *to = out_words;

    for (size_t i = 0; i < n_bytes / sizeof(*words); i++)
        to[i] = atomic_load_explicit(&words[i], memory_order_acquire);
}

/* Copy an entry that begins with a word whose lowest bit says that it is being
 * written. */
static void
entry_copy(const _Atomic uint64_t *entry, size_t n_bytes, uint64_t *out_entry)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        const uint64_t word =
            atomic_load_explicit(&entry[0], memory_order_acquire);

        words_copy(entry, n_bytes, out_entry);
        if (out_entry[0] == word &&
            atomic_load_explicit(&entry[0], memory_order_relaxed) == word)
            return;
    }
    out_entry[0] |= RECORDER_IS_BEING_WRITTEN;
}

static bool
bytes_write(int fd, const void *bytes, size_t n_bytes)
{
    const uint8_t *from = bytes;

    while (n_bytes > 0) {
        const ssize_t n = write(fd, from, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

/* Write the header with the moments and comparisons as they were when it counted
 * them. */
static bool
header_write(int fd, const struct recorder_memory *memory)
{
    const struct recorder_header *from = &memory->header;
    struct recorder_header header;

    for (unsigned i = 0; i < TRIES_MAX; i++) {
        const uint64_t n_moments = atomic_load_explicit(
            &from->calibration.n_moments, memory_order_acquire);
        const uint64_t n_comparisons =
            atomic_load_explicit(&from->n_comparisons, memory_order_acquire);

        words_copy((const _Atomic uint64_t *)from, sizeof(header), &header);
        atomic_store_explicit(&header.calibration.n_moments, n_moments,
                              memory_order_relaxed);
        atomic_store_explicit(&header.n_comparisons, n_comparisons,
                              memory_order_relaxed);
        if (atomic_load_explicit(&from->calibration.n_moments,
                                 memory_order_relaxed) == n_moments &&
            atomic_load_explicit(&from->n_comparisons, memory_order_relaxed) ==
                n_comparisons)
            break;
    }
    return bytes_write(fd, &header, sizeof(header));
}

static bool
memory_write(int fd, const struct recorder_memory *memory)
{
    uint64_t entry[sizeof(struct recorder_comm) / sizeof(uint64_t)];
    uint64_t slots[SLOTS_AT_ONCE]
                  [sizeof(struct recorder_slot) / sizeof(uint64_t)];
    bool is_good = header_write(fd, memory) &&
                   bytes_write(fd, &memory->names,
                               offsetof(struct recorder_memory, comms) -
                                   offsetof(struct recorder_memory, names));

    for (size_t i = 0; is_good && i < LIMIT_RECORDER_COMMS; i++) {
        entry_copy(&memory->comms[i].word, sizeof(entry), entry);
        is_good = bytes_write(fd, entry, sizeof(entry));
    }
    is_good =
        is_good && bytes_write(fd, &memory->members,
                               offsetof(struct recorder_memory, slots) -
                                   offsetof(struct recorder_memory, members));
    for (size_t i = 0; is_good && i < LIMIT_RECORDER_CALLS;
         i += SLOTS_AT_ONCE) {
        for (size_t j = 0; j < SLOTS_AT_ONCE; j++)
            entry_copy(&memory->slots[i + j].word, sizeof(slots[0]), slots[j]);
        is_good = bytes_write(fd, slots, sizeof(slots));
    }
    return is_good;
}

static_assert(sizeof(struct recorder_header) % sizeof(uint64_t) == 0 &&
                  sizeof(struct recorder_comm) % sizeof(uint64_t) == 0 &&
                  offsetof(struct recorder_memory, names) ==
                      sizeof(struct recorder_header) &&
                  LIMIT_RECORDER_CALLS % SLOTS_AT_ONCE == 0,
              "all bytes are written");

static void
copy_make(const struct signal_copy *copy)
{
    (void)unlinkat(copy->folder_fd, copy->unfinished, 0);
    const int fd = openat(copy->folder_fd, copy->unfinished,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          RECORDER_FILE_MODE);
    if (fd < 0)
        return;
    const bool is_good = memory_write(fd, copy->memory);

    close(fd);
    if (!is_good || renameat(copy->folder_fd, copy->unfinished, copy->folder_fd,
                             copy->name) != 0)
        (void)unlinkat(copy->folder_fd, copy->unfinished, 0);
}

static void
signal_handle(int number)
{
    const int error = errno;
    /* A thread that is cancelled here would leave both marks. */
    CLEANUP(cancel_release) const int held = cancel_hold();

    (void)number;
    if (atomic_load(&owner_pid) != getpid())
        return;
    atomic_fetch_add(&n_handlers, 1);
    if (!atomic_flag_test_and_set(&is_copying)) {
        for (size_t i = 0; i < COPIES_MAX; i++) {
            const struct signal_copy *copy = atomic_load(&copies[i]);

            if (copy)
                copy_make(copy);
        }
        atomic_flag_clear(&is_copying);
    }
    atomic_fetch_sub(&n_handlers, 1);
    errno = error;
}

/* Those that a process may get at any time, and go on. Returns 0: none. */
static int
signal_find(const char *name)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT, SIGWINCH};

    name += strncmp(name, "SIG", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, sigabbrev_np(numbers[i])) == 0)
            return numbers[i];
    }
    return 0;
}

static enum hoop_status
handler_install(const char *name)
{
    const struct sigaction handler = {.sa_handler = signal_handle,
                                      .sa_flags = SA_RESTART};
    const int number = signal_find(name);
    struct sigaction before;

    if (number == 0)
        return error_raise(HOOP_E_INVALID,
                           "HOOP_RECORDER_SIGNAL=%.40s: USR1, USR2, HUP, QUIT "
                           "or WINCH is expected",
                           name);
    sigaction(number, NULL, &before);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN &&
        before.sa_handler != signal_handle)
        return error_raise(HOOP_E_INVALID,
                           "HOOP_RECORDER_SIGNAL=%.40s: the program handles "
                           "this signal itself: name another one",
                           name);
    sigaction(number, &handler, NULL);
    return HOOP_OK;
}

static enum hoop_status
copy_add(struct signal_copy *copy)
{
    for (size_t i = 0; i < COPIES_MAX; i++) {
        struct signal_copy *none = NULL;

        if (atomic_compare_exchange_strong(&copies[i], &none, copy))
            return HOOP_OK;
    }
    return error_raise(HOOP_E_EXHAUSTED,
                       "HOOP_RECORDER_SIGNAL is for %d sessions of a process",
                       COPIES_MAX);
}

enum hoop_status
recorder_signal_add(const struct recorder_memory *memory,
                    const struct recorder_options *options)
{
    struct signal_copy *copy = calloc(1, sizeof(*copy));
    enum hoop_status status = HOOP_OK;

    if (!copy)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the recorder");
    atomic_store(&owner_pid, getpid());
    copy->memory = memory;
    recorder_file_name(options, ".copy", copy->name);
    copy->folder_fd = open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy->folder_fd < 0)
        status = error_raise(HOOP_E_UNAVAILABLE, "'%.300s': %s",
                             options->folder, strerror(errno));
    if (status == HOOP_OK)
        status = recorder_file_name_draw(copy->unfinished);
    if (status == HOOP_OK)
        status = handler_install(options->signal);
    if (status == HOOP_OK)
        status = copy_add(copy);
    if (status == HOOP_OK)
        return HOOP_OK;
    if (copy->folder_fd >= 0)
        close(copy->folder_fd);
    free(copy);
    return error_pass(status);
}

void
recorder_signal_remove(const struct recorder_memory *memory)
{
    for (size_t i = 0; i < COPIES_MAX; i++) {
        struct signal_copy *copy = atomic_load(&copies[i]);

        if (!copy || copy->memory != memory)
            continue;
        atomic_store(&copies[i], NULL);
        /* A handler that has seen it on another thread ends soon. */
        while (atomic_load(&n_handlers) > 0)
            sched_yield();
        close(copy->folder_fd);
        free(copy);
    }
}

void
recorder_signal_forget(void)
{
    for (size_t i = 0; i < COPIES_MAX; i++)
        atomic_store(&copies[i], NULL);
    atomic_store(&n_handlers, 0);
    atomic_flag_clear(&is_copying);
}
