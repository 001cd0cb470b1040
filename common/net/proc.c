/* net/proc.c - this process as other processes of its host see it */

#include "net/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum hoop_status
proc_own_pid(uint32_t *out_pid)
{
    char text[16];
    const ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

    if (n <= 0)
        return error_raise(HOOP_E_UNAVAILABLE, "no /proc/self: %s",
                           strerror(errno));
    text[n] = '\0';
    *out_pid = (uint32_t)strtoul(text, NULL, 10);
    return HOOP_OK;
}
