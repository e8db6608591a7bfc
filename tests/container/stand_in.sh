#!/bin/sh
# SPDX-License-Identifier: MIT
# stand_in.sh: as apptainer or docker, whose name it is called by: writes its words to $STAND_IN,
# one a line, and runs what comes behind the image. "rm" of docker is just written down.
name=${0##*/}
{
    echo "-- $name"
    for word; do echo "$word"; done
} >> "$STAND_IN"
[ "$1" != rm ] || exit 0
until [ "$1" = image ]; do shift; done
shift
exec "$@"
