/*
 * pipeline/schedule/drawing.h - a schedule's timetable as text or as SVG
 *
 * hoop_schedule_print() in drawing.c checks a schedule, computes its timetable
 * and calls one of these two.
 */

#ifndef PIPELINE_SCHEDULE_DRAWING_H
#define PIPELINE_SCHEDULE_DRAWING_H

#include <stdio.h>

#include "pipeline/schedule/timetable.h"

enum {
    DRAWING_TITLE_MAX = 200
};

/* The input of a drawing. All pointers are borrowed. */
struct drawing {
    const struct hoop_schedule *schedule;
    const struct timetable *timetable; /* times are whole units */
    const char *title;
};

/* Write the drawing to file as text or as SVG. The caller checks the file for
 * errors.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
drawing_text(const struct drawing *drawing, FILE *file);
enum hoop_status
drawing_svg(const struct drawing *drawing, FILE *file);

#endif
