/*
 * core/action_list.h - the actions of one step, and the memory they point to
 *
 * What an action points to is either older than the step and lives longer,
 * or is copied here.
 */

#ifndef CORE_ACTION_LIST_H
#define CORE_ACTION_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

struct action_list_chunk;

/* Zeroed: empty. */
struct action_list {
    struct cluster_action *actions;
    size_t n_actions;
    size_t n_room;
    struct action_list_chunk *chunks;
};

void
action_list_deinit(struct action_list *action_list);

/* Forget the actions and their memory. */
void
action_list_clear(struct action_list *action_list);

/* An OK reply without a body, to be filled in before the next action. */
struct cluster_reply *
action_list_reply(struct action_list *action_list, uint64_t ticket);

/* Give a reply its failure and the text for the user. */
void
action_list_refuse(struct action_list *action_list,
                   struct cluster_reply *reply,
                   enum hoop_status status,
                   const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Like notice, whose text is replaced. */
void
action_list_notice(struct action_list *action_list,
                   const struct cluster_notice *notice,
                   const char *format,
                   ...) __attribute__((format(printf, 3, 4)));

/* Zeroed, to be filled in before the next action. */
struct cluster_record *
action_list_record(struct action_list *action_list);

/* Zeroed, suitably aligned, lives until the action list is cleared. */
void *
action_list_memory(struct action_list *action_list,
                   size_t n_items,
                   size_t n_bytes);

/* Lives until the action list is cleared; NULL: "". */
const char *
action_list_text(struct action_list *action_list, const char *text);

#endif
