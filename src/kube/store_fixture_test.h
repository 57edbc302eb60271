#pragma once
// The former name of testing_store.h: include that instead. This file goes when nothing includes it.
#include "kube/testing_store.h"
