/* wire/frame.c */

#include "wire/frame.h"
