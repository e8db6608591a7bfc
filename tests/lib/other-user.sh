# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# other-user.sh: for a *.t of which root runs a part as another user, who has nothing here. It is
# sourced behind test.sh:
#
#     . "${0%/*}/../lib/other-user.sh"
#     other_user || skip_all "there is no other user"
#     check_output 65534 "another user's rank is his" "${OTHER[@]}" "$OTHERS/launcher/mlaunch" -- id -u
#
# other_user fails without root. $OTHERS is the build folder, or, where other users may not enter
# that, a copy of its programs below $T: the clone is below /root, or was made with umask 077. What
# the file makes behind this line, others may read.

umask 022
chmod 755 "$T"
OTHER=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/)

other_user() {
    [ "$(id -u)" = 0 ] || return 1
    OTHERS=$BUILD
    ! "${OTHER[@]}" "$OTHERS/launcher/mlaunch" -n 1 -- true > /dev/null 2>&1 || return 0
    OTHERS=$T/others
    mkdir -p "$OTHERS"
    (cd "$BUILD" && find . -path ./tests -prune -o \( -type f -o -type l \) \
        \( -perm -u+x -o -name '*.so*' \) -print0 | tar --null -T - -hcf -) |
        tar -C "$OTHERS" -xf - && chmod -R go+rX "$OTHERS"
}
