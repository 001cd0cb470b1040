/* schedule/drawing.h - who does what when, as a picture */

#ifndef SCHEDULE_DRAWING_H
#define SCHEDULE_DRAWING_H

#include <stdio.h>

#include "schedule/timetable.h"

enum {
    DRAWING_TITLE_MAX = 200
};

/* What is drawn; all borrowed. */
struct drawing {
    const struct hoop_schedule *schedule;
    const struct timetable *timetable; /* of whole units */
    const char *title;
};

enum hoop_status
drawing_text(const struct drawing *drawing, FILE *file);
enum hoop_status
drawing_svg(const struct drawing *drawing, FILE *file);

#endif
