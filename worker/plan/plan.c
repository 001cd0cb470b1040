/* plan/plan.c - a growable list of steps */

#include "plan/plan.h"
