/* mesh/process_group.h - what tensors need of a process group */

#ifndef MESH_PROCESS_GROUP_H
#define MESH_PROCESS_GROUP_H

#include "hoop/process_group.h"

struct group_meshes;

/* Returns the meshes of the group's tensors (mesh/group_mesh.h). */
struct group_meshes *
process_group_meshes(hoop_pg_t *group);

#endif
