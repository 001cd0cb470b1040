/* base/random.c - unpredictable bytes from the kernel */

#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/error.h"

enum hoop_status
random_fill(void *out_bytes, size_t n_bytes)
{
    uint8_t *bytes = out_bytes;
    size_t n_filled = 0;

    while (n_filled < n_bytes) {
        const ssize_t n = getrandom(bytes + n_filled, n_bytes - n_filled, 0);

        if (n < 0 && errno != EINTR)
            return error_raise(HOOP_E_UNAVAILABLE,
                               "the kernel gives no random bytes: %s",
                               strerror(errno));
        if (n > 0)
            n_filled += (size_t)n;
    }
    return HOOP_OK;
}
