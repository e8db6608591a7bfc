/* SPDX-License-Identifier: MIT */
/* good_job.h: a valid LAUNCH_JOB of three ranks on two hosts, whose second one gets it, with all
 * members that may be left out. */
#ifndef TESTS_UNIT_LAUNCHER_WIRE_PROTOCOL_GOOD_JOB_H
#define TESTS_UNIT_LAUNCHER_WIRE_PROTOCOL_GOOD_JOB_H

static const char good[] =
    "{\"job\": \"j-1\", \"restart\": 2, \"restarts\": 3, \"keep\": 2, \"secret\": "
    "\"000102030405060708090a0b0c0d0e0f"
    "101112131415161718191a1b1c1d1e1f\", \"size\": 3, \"hosts\": 2, \"host\": 1,"
    "\"host_name\": \"b\", \"host_names\": [\"a\", \"b\"], \"host_of\": [0, 1, 1],"
    "\"addresses\": [\"10.0.0.1\", \"\"], \"backend\": \"tcp\", \"local_net\": false, \"secure\": "
    "true, \"compat\": "
    "true,"
    "\"bind_ip\": \"\", \"peer\": \"10.0.0.1\", \"port\": 0, \"starting_port\": 0,"
    "\"init_timeout_ms\": 60000, \"stall_ms\": 30000, \"grace_ms\": 5000, \"eager\": false,"
    "\"elastic\": 2, \"replace_wait_ms\": 10000, \"flight_recorder\": false,"
    "\"signal_children\": false, \"stop_signal\": \"USR2\", \"fold_ms\": 150,"
    "\"binding\": {\"to\": \"core\", \"each\": 2, \"map\": \"numa\", \"block\": 3, "
    "\"cpus\": \"\", \"gpus\": 2, \"memory\": \"nodes\", \"nodes\": \"0,1\", \"threads\": -1, "
    "\"report\": "
    "true}, \"command\": \"prog\", \"buffer\": \"none\", \"mpi\": "
    "\"pmi1\", "
    "\"stdin\": \"rank\","
    "\"stdin_rank\": 2, \"env\": [\"A=b=c\", \"E=\"], \"cwd\": \"/\", \"host_cwd\": \"\", "
    "\"prolog\": \"\", \"epilog\": \"\", \"tmpdir\": \"\", \"mount\": \"/a:/b\", \"container\": "
    "\"bwrap --ro-bind /a /\", "
    "\"name\": \"llm.1\","
    "\"pty\": {\"rank\": 1, \"rows\": 33, \"columns\": 65535, \"term\": \"xterm-256color\"},"
    "\"staged\": {\"path\": \"/a/env\", \"name\": \"env\", \"mib\": 3, "
    "\"cache\": \"/c\", \"version\": \"0a.ff\"},"
    "\"wiring\": {\"entries\": [null, [\"d0\", \"d1\"], [\"d2\"], []], \"own\": [0, 3],"
    " \"others\": [1, 2]},"
    "\"apps\": [{\"argv\": [\"prog\", \"\"], \"env\": [], \"cwd\": \"\"}],"
    "\"ranks\": [{\"rank\": 1, \"local_rank\": 0, \"app\": 0}, {\"rank\": 2, \"local_rank\": 1, "
    "\"app\": 0}]}";

#endif
