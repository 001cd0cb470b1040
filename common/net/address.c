/* net/address.c */

#include "net/address.h"
