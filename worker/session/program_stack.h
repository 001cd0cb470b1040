/*
 * session/program_stack.h - where the program is, as its language tells it
 *
 * hoop cannot read the stack of an interpreter, but the interpreter can:
 * hoop_set_stack_reader() names a function that does. It is called by a thread
 * of its own, which lives for one question, since it may have to wait for the
 * interpreter's lock, and no thread of hoop's may wait for that.
 *
 * Thread: any, except for struct stack_wait.
 */

#ifndef SESSION_PROGRAM_STACK_H
#define SESSION_PROGRAM_STACK_H

#include <stdbool.h>

#include "hoop/session.h"

#include "base/limits.h"
#include "net/loop.h"

/* Begin to read the stack, unless that is under way. Returns false if the
 * program has named no reader. */
bool
program_stack_ask(void);

/* Return whether a stack is being read. */
bool
program_stack_is_pending(void);

/* Write the stack as it was read last; if it could not be read, why; or "" if
 * the program has named no reader. */
void
program_stack_copy(char text[LIMIT_PROGRAM_STACK]);

/* The wait of a session for the stack. Thread: the loop's. */
struct stack_wait;

/* on_end(owner) is called by the loop. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
stack_wait_create(struct loop *loop,
                  loop_fn *on_end,
                  void *owner,
                  struct stack_wait **out_wait);
/* NULL is fine. on_end is not called any more. */
void
stack_wait_destroy(struct stack_wait *wait);

/* Ask for the stack, and call on_end once when it has been read, or after
 * LIMIT_PROGRAM_STACK_MS. A second start replaces the first. */
void
stack_wait_start(struct stack_wait *wait);

#endif
