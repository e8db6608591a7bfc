# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# image.sh: after test.sh, makes $IMAGE, a directory that is an image: this machine's programs are
# mounted into it (at $MOUNTED), and it has a file of its own. What the tests need of the build and
# of $T has a place in it, too.
IMAGE=$T/image
MOUNTED=(/usr "$BUILD" "$SOURCE" "$T")
make_image() {
    local link
    mkdir -p "$IMAGE"/{dev,etc,proc,root,run,sys,tmp} "${MOUNTED[@]/#/$IMAGE}"
    for link in bin lib lib32 lib64 sbin; do
        if [ -L "/$link" ]; then
            cp -P "/$link" "$IMAGE/$link"
        elif [ -d "/$link" ]; then
            mkdir "$IMAGE/$link"
            MOUNTED+=("/$link")
        fi
    done
    # What Debian's alternatives link to, such as Open MPI's libraries.
    mkdir -p "$IMAGE/etc/alternatives" "$IMAGE/etc/openmpi"
    [ ! -d /etc/alternatives ] || MOUNTED+=(/etc/alternatives)
    cp /etc/passwd /etc/group "$IMAGE/etc"
    echo "the image's" > "$IMAGE/etc/whose"
}
must make_image
