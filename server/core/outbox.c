/* core/outbox.c - the actions of one step, and a region for what they say */

#include "core/outbox.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/memory.h"

enum {
    CHUNK_BYTES = 16 * 1024,
    ALIGNMENT = 16,
};

struct outbox_chunk {
    struct outbox_chunk *next;
    size_t n_used;
    size_t n_bytes;
    _Alignas(ALIGNMENT) char memory[];
};

static void
chunks_destroy(struct outbox_chunk *chunk)
{
    while (chunk) {
        struct outbox_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
}

void
outbox_deinit(struct outbox *outbox)
{
    chunks_destroy(outbox->chunks);
    free(outbox->actions);
}

void
outbox_clear(struct outbox *outbox)
{
    chunks_destroy(outbox->chunks);
    outbox->chunks = NULL;
    outbox->n_actions = 0;

    /* One step may have answered ten thousand; the next answers one. */
    if (outbox->n_room > LIMIT_PAGE) {
        outbox->n_room = LIMIT_PAGE;
        outbox->actions = memory_resize(outbox->actions, outbox->n_room,
                                        sizeof(*outbox->actions));
    }
}

static struct cluster_action *
outbox_append(struct outbox *outbox, enum cluster_action_kind kind)
{
    if (outbox->n_actions == outbox->n_room) {
        outbox->n_room = outbox->n_room ? 2 * outbox->n_room : 16;
        outbox->actions = memory_resize(outbox->actions, outbox->n_room,
                                        sizeof(*outbox->actions));
    }

    struct cluster_action *action = &outbox->actions[outbox->n_actions++];

    memset(action, 0, sizeof(*action));
    action->kind = kind;
    return action;
}

struct cluster_reply *
outbox_reply(struct outbox *outbox, uint64_t ticket)
{
    struct cluster_reply *reply = &outbox_append(outbox, CLUSTER_REPLY)->reply;

    reply->ticket = ticket;
    reply->status = HOOP_OK;
    reply->text = "";
    return reply;
}

static const char *
outbox_format(struct outbox *outbox, const char *format, va_list arguments)
{
    char text[LIMIT_ERROR_TEXT];

    vsnprintf(text, sizeof(text), format, arguments);
    return outbox_text(outbox, text);
}

void
outbox_refuse(struct outbox *outbox,
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
    reply->text = outbox_format(outbox, format, arguments);
    va_end(arguments);
}

void
outbox_notice(struct outbox *outbox,
              const struct cluster_notice *notice,
              const char *format,
              ...)
{
    struct cluster_action *action = outbox_append(outbox, CLUSTER_NOTICE);
    va_list arguments;

    va_start(arguments, format);
    action->notice = *notice;
    action->notice.job = outbox_text(outbox, notice->job);
    action->notice.text = outbox_format(outbox, format, arguments);
    va_end(arguments);
}

struct cluster_record *
outbox_record(struct outbox *outbox)
{
    return &outbox_append(outbox, CLUSTER_RECORD)->record;
}

void *
outbox_memory(struct outbox *outbox, size_t n_items, size_t n_bytes)
{
    const size_t n_wanted =
        (n_items * n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct outbox_chunk *chunk = outbox->chunks;

    if (!chunk || chunk->n_bytes - chunk->n_used < n_wanted) {
        const size_t n_room = n_wanted > CHUNK_BYTES ? n_wanted : CHUNK_BYTES;

        chunk = memory_create(1, sizeof(*chunk) + n_room);
        chunk->n_bytes = n_room;
        chunk->next = outbox->chunks;
        outbox->chunks = chunk;
    }

    void *memory = chunk->memory + chunk->n_used;

    chunk->n_used += n_wanted;
    return memory;
}

const char *
outbox_text(struct outbox *outbox, const char *text)
{
    if (!text)
        return "";

    const size_t n_bytes = strlen(text) + 1;

    return memcpy(outbox_memory(outbox, n_bytes, 1), text, n_bytes);
}
