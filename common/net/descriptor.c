/* net/descriptor.c - track open descriptors, so that a forked child can close
 * them */

#include "net/descriptor.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORD_BITS = 64,
};

/* One bit per descriptor; numbers are small, because the kernel always assigns
 * the lowest free one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *words;
static size_t n_words;

static uint64_t
descriptor_bit(int fd)
{
    return (uint64_t)1 << ((size_t)fd % WORD_BITS);
}

static size_t
descriptor_word_index(int fd)
{
    return (size_t)fd / WORD_BITS;
}

/* Make room for fd. Called with the lock. */
static uint64_t *
descriptor_bitmap_grow(int fd)
{
    const size_t n_wanted = descriptor_word_index(fd) + 1;

    if (n_wanted <= n_words)
        return words;

    uint64_t *grown = reallocarray(words, 2 * n_wanted, sizeof(*words));
    if (!grown)
        return NULL;
    memset(grown + n_words, 0, (2 * n_wanted - n_words) * sizeof(*words));
    n_words = 2 * n_wanted;
    words = grown;
    return words;
}

void
descriptor_track(int fd)
{
    if (fd < 0)
        return;
    descriptor_lock();
    if (descriptor_bitmap_grow(fd))
        words[descriptor_word_index(fd)] |= descriptor_bit(fd);
    descriptor_unlock();
}

void
descriptor_close(int fd)
{
    if (fd < 0)
        return;
    /* Clear the bit and close under one lock: the number may be reused as soon
     * as it is closed. */
    descriptor_lock();
    if (descriptor_word_index(fd) < n_words)
        words[descriptor_word_index(fd)] &= ~descriptor_bit(fd);
    close(fd);
    descriptor_unlock();
}

void
descriptor_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
descriptor_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void
descriptor_close_all(void)
{
    for (size_t i = 0; i < n_words; i++) {
        for (int bit = 0; bit < WORD_BITS; bit++) {
            if (words[i] >> bit & 1)
                close((int)i * WORD_BITS + bit);
        }
        words[i] = 0;
    }
}
