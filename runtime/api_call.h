/* SPDX-License-Identifier: MIT */
/*
 * api_call.h: calls on a group, blocking or started, with what ml_next_* has said for the next one,
 * and their requests. They do what the comments of mlaunch.h and api_table.h say.
 */
#ifndef RUNTIME_API_CALL_H
#define RUNTIME_API_CALL_H

#include "common/mlaunch.h"
#include "runtime/call/task.h"

int api_call_next_type(ml_group *handle, ml_type type);
int api_call_next_place(ml_group *handle, const char *place);
int api_call_next_stream(ml_group *handle, void *stream);
int api_call_run(ml_group *handle, struct task *t);
int api_call_should_stop(ml_group *handle);
int api_call_start(ml_group *handle, struct task *t, ml_request **out);
int api_call_test(ml_request *handle, int *done);
int api_call_wait(ml_request *handle);

#endif
