dnl SPDX-License-Identifier: MIT
dnl MLAUNCH_FEATURE(NAME, must|try, HELP, NEEDS, CHECK): what a build may lack. CHECK sets have_NAME
dnl to yes or no. --enable-NAME: without it configure fails. --disable-NAME: CHECK is not run.
dnl Neither: as the second argument says. HAVE_NAME is 1 or 0 in config.h and a conditional of
dnl automake; MLAUNCH_FEATURES_SHOW prints a line for it.
AC_DEFUN([MLAUNCH_FEATURE], [
    m4_pushdef([VARIABLE], [HAVE_]m4_toupper([$1]))
    AC_ARG_ENABLE([$1],
        [AS_HELP_STRING(m4_if([$2], [must], [[--disable-$1]], [[--enable-$1]]),
            m4_if([$2], [must], [[$3: without; by default it must be there]],
                [[$3: must be there; by default it is tried]]))],
        [], [enable_$1=$2])
    have_$1=no
    AS_IF([test "$enable_$1" != no], [$5])
    AS_CASE([$have_$1,$enable_$1],
        [yes,*], [FEATURE=1 feature_word=yes],
        [no,no], [FEATURE=0 feature_word='no (disabled)'],
        [no,try], [FEATURE=0 feature_word='no (there is no $4)'],
        [AC_MSG_ERROR([no $4: install it, or configure with --disable-$1])])
    AC_DEFINE_UNQUOTED(VARIABLE, [$FEATURE], [whether this build has: $3])
    AM_CONDITIONAL(VARIABLE, [test $FEATURE = 1])
    AS_VAR_APPEND([FEATURES], ["
  $1: $feature_word: $3"])
    m4_popdef([VARIABLE])
])

dnl To the terminal even with -q, as warnings are: it is what one wants to know.
AC_DEFUN([MLAUNCH_FEATURES_SHOW], [
    AS_ECHO(["mlaunch $VERSION will have:$FEATURES"])
    AS_IF([test -n "$SHARED_LIBRARIES"], [AC_MSG_WARN([there are no archives of:$SHARED_LIBRARIES.
    Each host will need these shared libraries. With archives (Debian's -dev packages have them;
    elsewhere look for packages named -static) a host needs nothing but sshd.])])
])
