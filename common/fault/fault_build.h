/* fault/fault_build.h - turns faults on; a build without them includes
 * another */

#ifndef FAULT_FAULT_BUILD_H
#define FAULT_FAULT_BUILD_H

enum {
    FAULT_BUILD = 1
};

#endif
