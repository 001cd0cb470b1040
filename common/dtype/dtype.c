/* dtype/dtype.c */

#include "dtype/dtype.h"
