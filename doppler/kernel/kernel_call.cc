#include "doppler/kernel/kernel_call.h"
