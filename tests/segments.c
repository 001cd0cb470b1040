/* tests/segments.c - the transport settings, for tests that make connections */

#include "segments.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/settings.h"
#include "check.h"

enum shm_mode
segments_mode(void)
{
    const struct setting *row = setting_row(SETTING_TRANSPORT);
    const char *text = getenv(row->environment);

    if (!text)
        text = row->default_text;
    for (unsigned i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0)
            return (enum shm_mode)i;
    }
    fail_msg("%s=%s", row->environment, text);
    return SHM_MODE_NEVER;
}

unsigned
segments_streams(void)
{
    const char *text = getenv(setting_row(SETTING_STREAMS)->environment);

    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

bool
segments_encrypted(void)
{
    const char *text = getenv(setting_row(SETTING_TLS)->environment);

    return text && strcmp(text, "on") == 0;
}

void
segments_open(struct segment *out_ends[2])
{
    struct shared_memory_handle place;

    out_ends[0] = NULL;
    out_ends[1] = NULL;
    if (segments_mode() == SHM_MODE_NEVER)
        return;
    assert_ok(segment_create(LIMIT_RING_MIN, &place, &out_ends[0]));
    assert_ok(segment_open(&place, &out_ends[1]));
    segment_close_fd(out_ends[0]);
}

void
pair_open(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
}
