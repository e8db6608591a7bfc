/* SPDX-License-Identifier: MIT */
#include "common/build_id.h"

#include "build-id.h"
#include "config.h"

const char build_id[] = BUILD_ID;
const char build_version[] = PACKAGE_VERSION;
