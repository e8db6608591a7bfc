/* SPDX-License-Identifier: MIT */
/*
 * sync_wire.h: the frames of `mlaunch sync` (common/net/frame.h; doc/protocol.md, "Copying trees").
 * Orders and reports travel between mlaunch and a host's mlaunch-copier, as payload of
 * LAUNCH_SYNC and AGENT_SYNC, whose first byte is the type. The stream goes from mlaunch to the
 * first host of each chain as payload of SYNC_FEED, and from each host to the next over TCP or
 * RDMA.
 */
#ifndef LAUNCHER_BASE_TREE_SYNC_WIRE_H
#define LAUNCHER_BASE_TREE_SYNC_WIRE_H

enum sync_frame {
    /* orders */
    SYNC_BEGIN = 16, /* JSON, see protocol.md: what to copy where */
    SYNC_LINK,       /* JSON, see protocol.md: a new chain */
    SYNC_FEED,       /* raw: u32 round, bytes of the stream */
    /* reports */
    SYNC_READY = 32, /* JSON {address, git}: the host waits for a chain */
    SYNC_LINKED,     /* JSON {round, tcp}: the chain reaches the next host; tcp: why not by RDMA */
    SYNC_CUT,        /* JSON {round, to_next, rdma, text}: the chain is broken at this host */
    SYNC_CREDIT,     /* raw: u32 bytes of FEED that were handled */
    SYNC_DIFFERS,    /* raw: any number of: u32 index, u8 bits of enum sync_difference; or, for
                        SYNC_IS_EXTRA alone: the root in place of the index, and u16 size, path */
    SYNC_PART,       /* raw: u32 index, u64 size, hash: a part of that file has come before */
    SYNC_LOOKED,     /* JSON {round}: all that differs has been said */
    SYNC_AT,         /* raw: u64 bytes of contents in this round */
    SYNC_FAILED,     /* JSON {text, more}: the host lacks something */
    SYNC_DONE,       /* JSON {round, files, bytes, deleted, failed} */
    /* the stream */
    SYNC_ENTRIES = 48, /* raw: packed entries (tree_list.h) */
    SYNC_LIST_END,     /* raw: u32 entries, hash of all */
    SYNC_GO,           /* empty: all hosts have looked; the files follow that any of them needs */
    SYNC_FILE,         /* raw: u32 index, u64 place of its first byte that is sent */
    SYNC_BLOCK,        /* raw: u64 place, bytes; blocks of zeros are left out */
    SYNC_FILE_END,     /* raw: u32 index, hash */
    SYNC_FILE_LOST,    /* raw: u32 index: it cannot be read to its end */
    SYNC_END,          /* empty */
    /* between two hosts, over TCP, about RDMA (sync_rdma.h) */
    SYNC_RDMA_ENDS = 64, /* raw: what endpoint_connect() of the other host needs */
    SYNC_RDMA_CONNECTED, /* empty: the receiver has connected its queue pairs */
    SYNC_RDMA_CHECKED,   /* empty: the other host's chunks have come */
    SYNC_RDMA_NOT,       /* text: why it can't be; answered by the same */
    SYNC_RDMA_CONTROL,   /* raw: u8 kind, u8 rail, u64 count, u64 out (rdma/rail_control.h) */
};

enum sync_difference {
    SYNC_IS_MISSING = 1,
    SYNC_HAS_OTHER_KIND = 2,
    SYNC_HAS_OTHER_SIZE = 4,
    SYNC_HAS_OTHER_TIME = 8,
    SYNC_HAS_OTHER_MODE = 16,
    SYNC_HAS_OTHER_CONTENTS = 32, /* in a file, or another target in a link */
    SYNC_IS_EXTRA = 64,           /* there, but not here */
    /* A file with one of these is sent. */
    SYNC_NEEDS_CONTENTS = SYNC_IS_MISSING | SYNC_HAS_OTHER_KIND | SYNC_HAS_OTHER_SIZE |
                          SYNC_HAS_OTHER_TIME | SYNC_HAS_OTHER_CONTENTS,
};

enum {
    SYNC_BLOCK_MOST = 256 << 10, /* bytes of a file in one BLOCK */
    SYNC_FRAME_MOST = 1 << 20,   /* payload of any frame of these */
    SYNC_FEED_WINDOW = 4 << 20,  /* bytes of FEED that may be unacknowledged */
    SYNC_PART_LEAST = 1 << 20,   /* a part of a file that is smaller is not resumed */
    SYNC_FAILED_MOST = 20,       /* FAILEDs with a text from one host */
    SYNC_HANDSHAKE_MS = 5000,    /* for a connection from host to host */
    SYNC_RDMA_MS = 5000,         /* for the first bytes over RDMA */
};

#define SYNC_PURPOSE "sync" /* in the handshake between two hosts */
/* Begins the names of files that have not come as a whole; they are no part of any tree. */
#define SYNC_TEMPORARY_START ".mlaunch-sync."

#endif
