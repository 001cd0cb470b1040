/*
 * core/action_list.h - the actions of one step, and the memory they point to
 *
 * What an action points to either lives longer than the step or is copied into
 * the action list.
 */

#ifndef CORE_ACTION_LIST_H
#define CORE_ACTION_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

struct action_list_chunk;

/* A zeroed list is empty. */
struct action_list {
    struct cluster_action *actions;
    size_t n_actions;
    size_t n_room;
    struct action_list_chunk *chunks;
};

void
action_list_deinit(struct action_list *action_list);

/* Remove all actions and free their memory. */
void
action_list_clear(struct action_list *action_list);

/* Append an HOOP_OK reply without a body. The caller fills it in before it
 * appends the next action. */
struct cluster_reply *
action_list_add_reply(struct action_list *action_list, uint64_t ticket);

/* Make reply a failure with this status and message. */
void
action_list_fail_reply(struct action_list *action_list,
                       struct cluster_reply *reply,
                       enum hoop_status status,
                       const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* Append a notice. All fields are copied from notice except the text, which is
 * formatted. */
void
action_list_add_notice(struct action_list *action_list,
                       const struct cluster_log_notice *notice,
                       const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

/* Append a zeroed record. The caller fills it in before it appends the next
 * action. */
struct cluster_journal_record *
action_list_add_record(struct action_list *action_list);

/* Allocate zeroed memory, aligned for any type, that lives until the action
 * list is cleared. */
void *
action_list_alloc(struct action_list *action_list,
                  size_t n_items,
                  size_t n_bytes);

/* Copy text; the copy lives until the action list is cleared. NULL becomes
 * "". */
const char *
action_list_copy_text(struct action_list *action_list, const char *text);

#endif
