#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch batch: what it writes, what it refuses, and how it submits. examples/batch/ is what it
# writes for the commands in commands.txt there.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
here=$SOURCE/examples/batch
mkdir "$T/bin"
ln -s "$MLAUNCH" "$T/bin/mlaunch"
export PATH=$T/bin:$PATH
batch() { "$MLAUNCH" batch "$@"; }

# The examples are made by the command itself.
while read -r file command; do
    check "$file can be written" sh -c "$command"
    cp "$OUT" "$T/$file"
    check_output "" "examples/batch/$file is up to date" diff "$here/$file" "$T/$file"
    check "it is shell" bash -n "$T/$file"
    if command -v shellcheck > /dev/null; then check "with nothing to complain of" shellcheck \
        "$T/$file"; fi
done < <(grep -v '^#' "$here/commands.txt")
check "there is one for each" test -e "$T/slurm.sh" -a -e "$T/pbs.sh" -a -e "$T/lsf.sh" -a -e \
    "$T/sge.sh"

# Every word of the command reaches the program unchanged, in any shell.
cat > "$T/bin/show" << 'EOF'
#!/bin/sh
printf '<%s>' "$@"
EOF
chmod +x "$T/bin/show"
words=("it's" '$(touch boo)' '`id`' '"' 'a b' '' '\' '!!' '*' '~' $'two\nlines' 'ü' ';' '#x' \
    '$HOME' ':x')
for system in slurm pbs lsf sge; do
    batch "$system" -- "$T/bin/show" "${words[@]}" > "$T/words.sh"
    check "$system: odd words are shell" bash -n "$T/words.sh"
    check_output "$(printf '<%s>' "${words[@]}")" "$system: and come through" env \
        PBS_O_WORKDIR="$T" sh "$T/words.sh"
done

# The head: what was asked for, in each system's words.
line() { batch "$@" -- true > "$T/line"; grep -E '^#(SBATCH|PBS|BSUB|\$)' "$T/line" |
    paste -sd'|' -; }
common='#SBATCH --job-name=true'
check_output "$common|#SBATCH --ntasks=4|#SBATCH --export=ALL" \
    "-n is the number of tasks" line slurm -n 4
check_output "$common|#SBATCH --nodes=2|#SBATCH --time=36:00:00|#SBATCH --account=a|#SBATCH --output=o.%j|#SBATCH --export=ALL|#SBATCH --array=0-3" \
    "the rest of them" line slurm --nodes=2 --time 1-12 --account a --output o.%j -n 4 --extra \
    '--array=0-3'
check_output "$common|#SBATCH --time=24:00:00|#SBATCH --export=ALL|#SBATCH --mem=4G|#SBATCH --gres=gpu:1|#SBATCH --array=1-3|#SBATCH --exclusive|#SBATCH --mail-type=END,FAIL" \
    "sbatch's options go in as they stand" line slurm --time 1d --mem 4G --gres gpu:1 --array=1-3 \
    --exclusive --mail-type END,FAIL
pbs() { line pbs "$@" | grep -oE 'select=[^|]*'; }
check_output "select=2:ncpus=4:mpiprocs=4" "PBS: hosts with slots" pbs --nodes 2 --ntasks-per-node 4
check_output "select=2:ncpus=2:mpiprocs=2+1:ncpus=3:mpiprocs=3" "PBS: slots over hosts" pbs \
    --nodes 3 --ntasks 7
check_output "select=1:ncpus=4:mpiprocs=4+1:ncpus=3:mpiprocs=3" "PBS: a last host with fewer" pbs \
    --ntasks 7 --ntasks-per-node 4
check_output "select=1:ncpus=3:mpiprocs=3" "PBS: fewer than a host" pbs --ntasks 3 \
    --ntasks-per-node 4
check_output "select=5:ncpus=1:mpiprocs=1" "PBS: slots alone" pbs --ntasks 5
check_output '#BSUB -J true|#BSUB -n 6|#BSUB -R "span[ptile=2]"|#BSUB -W 0:02|#BSUB -env all' \
    "LSF" line lsf --nodes 3 --ntasks 6 --time 1:01
check_output '#$ -N true|#$ -pe orte 6|#$ -l h_rt=1:00:00|#$ -j y|#$ -cwd|#$ -V|#$ -S /bin/sh' \
    "SGE" line sge -n 6 --pe orte --time 60
# --stop-signal asks the system for its warning, in its own words.
stop() { line "$@" | grep -oE '(--signal|-wa|-wt|s_rt|h_rt)[^|]*' | paste -sd'|' -; }
check_output '--signal=B:USR1@60' "Slurm warns mlaunch alone" stop slurm --stop-signal USR1
check_output '--signal=B:TERM@90' "… as early as is asked, by that signal" stop slurm \
    --stop-before 90 --time 5 --stop-signal TERM
check_output '-wa USR2|-wt 2' "LSF warns in minutes" stop lsf --stop-before 61 --stop-signal USR2
check_output 'h_rt=1:00:00|s_rt=0:59:00' "SGE warns at a soft limit" stop sge --time 60 \
    --stop-signal SIGUSR1
check_output '' "PBS sends SIGTERM anyway" stop pbs --stop-signal TERM
check_output "mlaunch run -n 2 --output raw -- true" "behind run all is run's" \
    sh -c 'mlaunch batch slurm --output o run -n 2 --output raw -- true | sed -n "s/^exec //p"'

# -o and --submit: the system's own commands stand in for it.
check "the word - is the program" batch slurm - -o "$T/none.sh"
check_match ' run - -o ' "$OUT" "… and what follows is its own"
check "-o FILE" batch slurm -o "$T/file.sh" -- true
check "makes an executable" test -x "$T/file.sh"
fake() { printf '#!/bin/sh\necho "$*" > %q\ncat > %q\n%s\n' "$T/fake.args" "$T/fake.in" "$2" \
    > "$T/bin/$1"; chmod +x "$T/bin/$1"; }
fake sbatch 'echo "12;cluster"'
check_output 12 "--submit, Slurm" batch slurm --submit -- true
check_output "--parsable" "sbatch is asked for a number" cat "$T/fake.args"
batch slurm -- true > "$T/script"
check "and gets the script" cmp "$T/script" "$T/fake.in"
fake qsub 'echo 13.server'
check_output 13.server "--submit, PBS" batch pbs --submit -- true
fake qsub 'echo 14'
check_output 14 "--submit, SGE" batch sge --submit -- true
fake bsub 'echo "Job <15> is submitted to queue <normal>."'
check_output 15 "--submit, LSF" batch lsf --submit -- true
fake bsub 'echo "Job not submitted"'
check_error 125 "bsub accepted the job, but its answer was not understood: 'Job not submitted" \
    "an odd answer" batch lsf --submit -- true
fake sbatch 'echo "sbatch: error: no such partition" >&2; exit 3'
check_error 125 "sbatch did not accept the job: status 3" "a refusal" batch slurm --submit -- true
check_error 125 "sbatch did not accept the job: status 3" \
    "a refusal, where the caller ignores SIGCHLD" \
    env --ignore-signal=CHLD "PATH=$T/bin:$PATH" "$MLAUNCH" batch slurm --submit -- true
check_match 'no such partition' "$ERR" "in the system's own words"
rm "$T/bin/qsub"
check_error 125 "there is no program qsub in PATH here" "a system that is not there" env \
    PATH="$T/bin" "$MLAUNCH" batch pbs --submit -- true

# Refusals.
refused() {
    local regex=$1
    shift
    check_error 125 "^mlaunch: error: .*$regex" "$(printf ' %q' mlaunch batch \
        "$@") is refused" batch "$@"
    check_output "" "and nothing is printed" cat "$OUT"
}
refused 'no batch system given: mlaunch batch slurm\|pbs\|lsf\|sge\|kubernetes \[OPTIONS\] PROGRAM'
refused "unknown batch system 'moab'" moab -- true
refused 'no program given' slurm --nodes 2
refused "--nodes: 'x' is not a whole number" slurm --nodes x -- true
refused '--nodes needs a value' slurm --nodes
refused "--time: '1:2:3:4' is not a time limit" slurm --time 1:2:3:4 -- true
refused "--time: '0' is not a time limit" slurm --time 0 -- true
refused "--job-name: 'a b': in a job script's head only" slurm --job-name 'a b' -- true
refused "--partition: 'p.#PBS" pbs --partition $'p\n#PBS -e' -- true
refused "--extra: '.*' contains a control character" slurm --extra $'a\nb' -- true
refused "has a line that begins with '#'" sge -- sh -c $'true\n#$ -q all.q'
refused 'unknown option --hostfil; did you mean --hostfile\?' slurm --hostfil x -- true
refused 'unknown option --nodez; did you mean --nodes\?' slurm --nodez 3 -- x
refused 'unknown option --zzz; mlaunch batch --help and mlaunch --help list all, --extra passes others on' \
    slurm --zzz -- true
refused "--mem: only sbatch has this option; --extra '...' passes on" pbs --mem 4G -- true
refused "--constraint: 'a&b': in a job script's head only letters" slurm --constraint 'a&b' -- true
refused "-N is both srun's and mpirun's: --ppn" pbs -N 3 -- true
check "sbatch's letters" sh -c '"$@" > "$0"' "$T/letters.sh" "$MLAUNCH" batch slurm -N 3 -t90 \
    -J name -p debug -A me -- true
check_output '#SBATCH --job-name=name
#SBATCH --nodes=3
#SBATCH --time=1:30:00
#SBATCH --partition=debug
#SBATCH --account=me
#SBATCH --export=ALL' "are understood" grep '^#SBATCH' "$T/letters.sh"
check "a value of an option that is srun's" batch slurm --nodes 2 -D /d -- true
check_match 'mlaunch run -D /d -- true$' "$OUT" "is not taken for the program"
refused "'x' is not a whole number" slurm -n x -- true
refused "the parallel environment of SGE decides" sge --nodes 2 -- true
refused "only SGE has parallel environments" slurm --pe mpi -- true
refused '--ntasks 2 is less than --nodes 3' slurm --nodes 3 --ntasks 2 -- true
refused '--ntasks 9 is more than --nodes 2 times' slurm --nodes 2 --ntasks 9 --ntasks-per-node 4 \
    -- true
refused '--stop-before needs --stop-signal' slurm --stop-before 30 -- true
refused 'PBS warns by SIGTERM alone' pbs --stop-signal USR1 -- true
refused 'SGE warns by SIGUSR1 alone' sge --stop-signal USR1 -- true
refused '--stop-before is 60 s, and --time no more' slurm --time 1 --stop-signal USR1 -- true
refused 'cannot write /nonexistent/x: No such file' slurm -o /nonexistent/x -- true
check "--help" batch --help
check_match '^usage: mlaunch batch slurm\|pbs\|lsf\|sge' "$OUT" "speaks"
while read -r option; do
    check_match "Fl Fl ${option#--}( |\$)" "$SOURCE/doc/mlaunch-batch.1" \
        "mlaunch-batch(1) has $option"
    check_match " $option( |\$|')" <(sed -n '/^ *batch)$/,/;;/p' \
        "$SOURCE/doc/completion/mlaunch" | sed "s/'/ /g") "completion has $option"
done < <(grep -oE '^  (-.,|   ) --[a-z-]+' "$OUT" | cut -c7- | grep -v -- --help)
done_testing
