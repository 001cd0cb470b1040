/*
 * core/outbox.h - the actions of one step, and the memory they point to
 *
 * What an action points to is either older than the step and lives longer,
 * or is copied here.
 */

#ifndef CORE_OUTBOX_H
#define CORE_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

struct outbox_chunk;

/* Zeroed: empty. */
struct outbox {
    struct cluster_action *actions;
    size_t n_actions;
    size_t n_room;
    struct outbox_chunk *chunks;
};

void
outbox_deinit(struct outbox *outbox);

/* Forget the actions and their memory. */
void
outbox_clear(struct outbox *outbox);

/* An OK reply without a body, to be filled in before the next action. */
struct cluster_reply *
outbox_reply(struct outbox *outbox, uint64_t ticket);

/* Give a reply its failure and the text for the user. */
void
outbox_refuse(struct outbox *outbox,
              struct cluster_reply *reply,
              enum hoop_status status,
              const char *format,
              ...) __attribute__((format(printf, 4, 5)));

/* Like notice, whose text is replaced. */
void
outbox_notice(struct outbox *outbox,
              const struct cluster_notice *notice,
              const char *format,
              ...) __attribute__((format(printf, 3, 4)));

/* Zeroed, to be filled in before the next action. */
struct cluster_record *
outbox_record(struct outbox *outbox);

/* Zeroed, suitably aligned, lives until the outbox is cleared. */
void *
outbox_memory(struct outbox *outbox, size_t n_items, size_t n_bytes);

/* Lives until the outbox is cleared; NULL: "". */
const char *
outbox_text(struct outbox *outbox, const char *text);

#endif
