/*
 * base/copy.h - copies between the caches of two processors
 *
 * memcpy() gives what is more than 2 KiB to the processor in one instruction.
 * Where the lines are in another's cache that is slower than a loop, and where
 * the two ends differ by 1 to 15 modulo a page, 16 times so.
 */

#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    COPY_AT_ONCE = 2048
};

/* As memcpy(). */
static inline void
copy_bytes(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
    for (; n_bytes > COPY_AT_ONCE; n_bytes -= COPY_AT_ONCE) {
        memcpy(to, from, COPY_AT_ONCE);
        to += COPY_AT_ONCE;
        from += COPY_AT_ONCE;
    }
    memcpy(to, from, n_bytes);
}

#endif
