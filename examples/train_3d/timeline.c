/* train_3d/timeline.c - records and draws what each stage did in one step */

#include "train_3d/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "train_3d/clock.h"
#include "train_3d/memory.h"

enum {
    WIDTH = 960,
    LEFT = 70,
    RIGHT = 20,
    TOP = 64,
    ROW = 40,
    BAR = 30,
    BOTTOM = 40,
    TICKS = 8,
    LABEL_WIDTH = 14, /* narrower bars show no number */
};

static const struct {
    const char *name;
    const char *color;
    const char *later_color; /* for chunks after the first */
} looks[N_EVENT_KINDS] = {
    [EVENT_FORWARD] = {"forward", "#6fa8dc", "#2f6fb0"},
    [EVENT_BACKWARD] = {"backward", "#f6b26b", "#d9822b"},
    [EVENT_REDUCE] = {"sums", "#93c47d", "#93c47d"},
    [EVENT_UPDATE] = {"update", "#8e7cc3", "#8e7cc3"},
};

void
timeline_init(struct timeline *timeline, size_t n_room)
{
    *timeline = (struct timeline){
        .events = zeros_create(n_room, sizeof(struct event)),
        .n_room = n_room,
    };
}

void
timeline_deinit(struct timeline *timeline)
{
    free(timeline->events);
    *timeline = (struct timeline){0};
}

void
timeline_begin(struct timeline *timeline)
{
    timeline->n_events = 0;
    timeline->begin_ns = clock_ns();
}

void
timeline_add(struct timeline *timeline, const struct event *event)
{
    timeline->total_ns[event->kind] += event->end_ns - event->begin_ns;
    if (timeline->n_events == timeline->n_room)
        return;

    struct event *entry = &timeline->events[timeline->n_events++];
    *entry = *event;
    entry->begin_ns -= timeline->begin_ns;
    entry->end_ns -= timeline->begin_ns;
}

void
timeline_end(struct timeline *timeline, enum event_kind kind, uint64_t begin_ns)
{
    timeline_add(timeline, &(struct event){.begin_ns = begin_ns,
                                           .end_ns = clock_ns(),
                                           .kind = kind});
}

enum hoop_status
timeline_gather(const struct timeline *timeline,
                struct hoop_objects *out_stages,
                hoop_comm_t *stages)
{
    return hoop_gather_object(timeline->events,
                              timeline->n_events * sizeof(struct event),
                              out_stages, 0, stages);
}

/* The bytes of a gathered object are not aligned. */
static struct event
event_at(const struct hoop_object *stage, size_t index)
{
    struct event event;

    memcpy(&event, (const char *)stage->bytes + index * sizeof(event),
           sizeof(event));
    return event;
}

static uint64_t
end_of(const struct hoop_objects *stages)
{
    uint64_t end_ns = 1;

    for (uint32_t i = 0; i < stages->n_objects; i++) {
        const struct hoop_object *stage = &stages->objects[i];

        for (size_t j = 0; j < stage->n_bytes / sizeof(struct event); j++) {
            const struct event event = event_at(stage, j);
            end_ns = event.end_ns > end_ns ? event.end_ns : end_ns;
        }
    }
    return end_ns;
}

static double
x_at(uint64_t time_ns, uint64_t end_ns)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (double)time_ns / (double)end_ns;
}

static void
frame_draw(uint32_t n_stages, FILE *file)
{
    const int height = TOP + ROW * (int)n_stages + BOTTOM;
    int x = LEFT;

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"16\">One step of each "
            "pipeline stage; grey is waiting, numbers are micro-batches"
            "</text>\n",
            WIDTH, height, WIDTH, height, LEFT);
    for (size_t i = 0; i < N_EVENT_KINDS; i++) {
        fprintf(file,
                "<rect x=\"%d\" y=\"38\" width=\"12\" height=\"12\" "
                "fill=\"%s\"/>\n<text x=\"%d\" y=\"48\">%s</text>\n",
                x, looks[i].color, x + 17, looks[i].name);
        x += 100;
    }
}

static void
ticks_draw(uint64_t end_ns, uint32_t n_stages, FILE *file)
{
    const int y = TOP + ROW * (int)n_stages;

    fprintf(file, "<text x=\"10\" y=\"%d\">ms</text>\n", y + 18);
    for (uint64_t i = 0; i <= TICKS; i++) {
        const uint64_t time_ns = end_ns / TICKS * i;

        fprintf(
            file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1f</text>\n",
            x_at(time_ns, end_ns), y + 18, (double)time_ns / 1e6);
    }
}

static void
event_draw(const struct event *event, int y, uint64_t end_ns, FILE *file)
{
    const double x = x_at(event->begin_ns, end_ns);
    const double width = x_at(event->end_ns, end_ns) - x;
    const char *color = event->chunk % 2 == 0 ? looks[event->kind].color
                                              : looks[event->kind].later_color;

    fprintf(file,
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
            "fill=\"%s\" stroke=\"#fff\" stroke-width=\"0.5\"/>\n",
            x, y, width, BAR, color);
    if (event->kind <= EVENT_BACKWARD && width >= LABEL_WIDTH)
        fprintf(file,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
                x + width / 2, y + BAR / 2 + 4, event->micro_batch);
}

void
timeline_draw(const struct hoop_objects *stages, FILE *file)
{
    const uint64_t end_ns = end_of(stages);

    frame_draw(stages->n_objects, file);
    for (uint32_t i = 0; i < stages->n_objects; i++) {
        const struct hoop_object *stage = &stages->objects[i];
        const int y = TOP + ROW * (int)i;

        fprintf(file,
                "<text x=\"10\" y=\"%d\">stage %u</text>\n"
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                "fill=\"#e8e8e8\"/>\n",
                y + BAR / 2 + 4, i, LEFT, y, WIDTH - LEFT - RIGHT, BAR);
        for (size_t j = 0; j < stage->n_bytes / sizeof(struct event); j++) {
            const struct event event = event_at(stage, j);
            event_draw(&event, y, end_ns, file);
        }
    }
    ticks_draw(end_ns, stages->n_objects, file);
    fputs("</svg>\n", file);
}
