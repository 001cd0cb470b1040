/* base/state.c - state machines as tables of allowed transitions */

#include "base/state.h"

#include <assert.h>

#include "base/log.h"

unsigned
state_transition(const struct state_table_row *table,
                 const char *subject,
                 unsigned now,
                 unsigned next)
{
    assert(table[now].allowed & SM_TO(next));
    log_debug(subject, "%s -> %s", table[now].name, table[next].name);
    return next;
}
