/* parallel/process_group.h - a process group, as its tensors see it */

#ifndef PARALLEL_PROCESS_GROUP_H
#define PARALLEL_PROCESS_GROUP_H

#include "hoop/process_group.h"

struct group_meshes;

/* parallel/group_mesh.h's. */
struct group_meshes *
process_group_meshes(hoop_pg_t *group);

#endif
