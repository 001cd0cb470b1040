/* fault/fault_build.h - with faults; meson puts another first without them */

#ifndef FAULT_FAULT_BUILD_H
#define FAULT_FAULT_BUILD_H

enum {
    FAULT_BUILD = 1
};

#endif
