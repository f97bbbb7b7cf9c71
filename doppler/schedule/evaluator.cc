#include "doppler/schedule/evaluator.h"
