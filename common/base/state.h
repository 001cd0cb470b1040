/*
 * base/state.h - state machines as tables of allowed transitions
 *
 * A state is an enum; a table gives its name and the allowed next states. Every
 * change goes through state_transition(), which asserts that the table allows
 * it.
 */

#ifndef BASE_STATE_H
#define BASE_STATE_H

#include <stdint.h>

#define SM_TO(state) (1u << (state))

struct state_table_row {
    const char *name;
    uint32_t allowed; /* SM_TO(x) | SM_TO(y) */
};

/* Returns next. subject is for the debug log, such as "peer". */
unsigned
state_transition(const struct state_table_row *table,
                 const char *subject,
                 unsigned now,
                 unsigned next);

#endif
