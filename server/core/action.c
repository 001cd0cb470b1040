/* core/action.c - the actions of one step, and an arena for their data */

#include "core/action.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/memory.h"

enum {
    ACTION_ARENA_CHUNK_BYTES = 16 * 1024,
    ACTION_ARENA_ALIGNMENT = 16,
};

struct action_list_chunk {
    struct action_list_chunk *next;
    size_t n_used;
    size_t n_bytes;
    _Alignas(ACTION_ARENA_ALIGNMENT) char memory[];
};

static void
action_list_chunks_free(struct action_list_chunk *chunk)
{
    while (chunk) {
        struct action_list_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void
action_list_deinit(struct action_list *action_list)
{
    action_list_chunks_free(action_list->chunks);
    free(action_list->actions);
}

void
action_list_clear(struct action_list *action_list)
{
    action_list_chunks_free(action_list->chunks);
    action_list->chunks = NULL;
    action_list->n_actions = 0;

    /* A step may produce ten thousand replies where the next produces one. */
    if (action_list->n_room > LIMIT_LIST_PAGE_ENTRIES) {
        action_list->n_room = LIMIT_LIST_PAGE_ENTRIES;
        action_list->actions =
            memory_realloc(action_list->actions, action_list->n_room,
                           sizeof(*action_list->actions));
    }
}

static struct cluster_action *
action_list_append(struct action_list *action_list,
                   enum cluster_action_kind kind)
{
    if (action_list->n_actions == action_list->n_room) {
        action_list->n_room =
            action_list->n_room ? 2 * action_list->n_room : 16;
        action_list->actions =
            memory_realloc(action_list->actions, action_list->n_room,
                           sizeof(*action_list->actions));
    }

    struct cluster_action *action =
        &action_list->actions[action_list->n_actions++];

    memset(action, 0, sizeof(*action));
    action->kind = kind;
    return action;
}

struct cluster_reply *
action_list_add_reply(struct action_list *action_list, uint64_t ticket)
{
    struct cluster_reply *reply =
        &action_list_append(action_list, CLUSTER_REPLY)->reply;

    reply->ticket = ticket;
    reply->status = HOOP_OK;
    reply->text = "";
    return reply;
}

static const char *
action_list_format_text(struct action_list *action_list,
                        const char *format,
                        va_list arguments)
{
    char text[LIMIT_ERROR_TEXT];

    vsnprintf(text, sizeof(text), format, arguments);
    return action_list_copy_text(action_list, text);
}

void
action_list_fail_reply(struct action_list *action_list,
                       struct cluster_reply *reply,
                       enum hoop_status status,
                       const char *format,
                       ...)
{
    va_list arguments;

    assert(status != HOOP_OK);
    assert(status <= HOOP_E_UNAUTHENTICATED);
    va_start(arguments, format);
    reply->status = status;
    reply->text = action_list_format_text(action_list, format, arguments);
    va_end(arguments);
}

void
action_list_add_notice(struct action_list *action_list,
                       const struct cluster_log_notice *notice,
                       const char *format,
                       ...)
{
    struct cluster_action *action =
        action_list_append(action_list, CLUSTER_LOG_NOTICE);
    va_list arguments;

    va_start(arguments, format);
    action->notice = *notice;
    action->notice.job = action_list_copy_text(action_list, notice->job);
    action->notice.text =
        action_list_format_text(action_list, format, arguments);
    va_end(arguments);
}

struct cluster_journal_record *
action_list_add_record(struct action_list *action_list)
{
    return &action_list_append(action_list, CLUSTER_ACTION_STORE_RECORD)
                ->record;
}

void *
action_list_alloc(struct action_list *action_list,
                  size_t n_items,
                  size_t n_bytes)
{
    const size_t n_wanted = (n_items * n_bytes + ACTION_ARENA_ALIGNMENT - 1) /
                            ACTION_ARENA_ALIGNMENT * ACTION_ARENA_ALIGNMENT;
    struct action_list_chunk *chunk = action_list->chunks;

    if (!chunk || chunk->n_bytes - chunk->n_used < n_wanted) {
        const size_t n_room = n_wanted > ACTION_ARENA_CHUNK_BYTES
                                  ? n_wanted
                                  : ACTION_ARENA_CHUNK_BYTES;

        chunk = memory_calloc(1, sizeof(*chunk) + n_room);
        chunk->n_bytes = n_room;
        chunk->next = action_list->chunks;
        action_list->chunks = chunk;
    }

    void *memory = chunk->memory + chunk->n_used;

    chunk->n_used += n_wanted;
    return memory;
}

const char *
action_list_copy_text(struct action_list *action_list, const char *text)
{
    if (!text)
        return "";

    const size_t n_bytes = strlen(text) + 1;

    return memcpy(action_list_alloc(action_list, n_bytes, 1), text, n_bytes);
}

const uint8_t *
action_list_copy_bytes(struct action_list *action_list,
                       const uint8_t *bytes,
                       size_t n_bytes)
{
    if (n_bytes == 0)
        return NULL;

    uint8_t *copy = action_list_alloc(action_list, n_bytes, 1);

    memcpy(copy, bytes, n_bytes);
    return copy;
}
