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
    check "examples/batch/$file can be written" sh -c "$command"
    cp "$OUT" "$T/$file"
    check_output "" "examples/batch/$file is up to date" diff "$here/$file" "$T/$file"
    check "examples/batch/$file is shell" bash -n "$T/$file"
    if is_here shellcheck; then
        check "examples/batch/$file is clean for shellcheck" shellcheck "$T/$file"
    else
        skip "examples/batch/$file is clean for shellcheck" "$LACKS"
    fi
done < <(grep -v '^#' "$here/commands.txt")
check "there is an example for each system" test -e "$T/slurm.sh" -a -e "$T/pbs.sh" -a -e \
    "$T/lsf.sh" -a -e "$T/sge.sh"

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
    check "$system: a script with odd words is shell" bash -n "$T/words.sh"
    check_output "$(printf '<%s>' "${words[@]}")" "$system: odd words come through" env \
        PBS_O_WORKDIR="$T" sh "$T/words.sh"
done

# The head: what was asked for, in each system's words.
line() { batch "$@" -- true > "$T/line"; grep -E '^#(SBATCH|PBS|BSUB|\$)' "$T/line" |
    paste -sd'|' -; }
common='#SBATCH --job-name=true'
check_output "$common|#SBATCH --ntasks=4|#SBATCH --export=ALL" \
    "-n is the number of tasks" line slurm -n 4
check_output "$common|#SBATCH --nodes=2|#SBATCH --time=36:00:00|#SBATCH --account=a|#SBATCH --output=o.%j|#SBATCH --export=ALL|#SBATCH --array=0-3" \
    "sbatch gets nodes, time, account, output and --extra" line slurm --nodes=2 --time 1-12 \
    --account a --output o.%j -n 4 --extra '--array=0-3'
check_output "$common|#SBATCH --time=24:00:00|#SBATCH --export=ALL|#SBATCH --mem=4G|#SBATCH --gres=gpu:1|#SBATCH --array=1-3|#SBATCH --exclusive|#SBATCH --mail-type=END,FAIL" \
    "sbatch's options go in as they stand" line slurm --time 1d --mem 4G --gres gpu:1 --array=1-3 \
    --exclusive --mail-type END,FAIL
pbs() { line pbs "$@" | grep -oE 'select=[^|]*'; }
check_output "select=2:ncpus=4:mpiprocs=4" \
    "PBS gets hosts with their slots" pbs --nodes 2 --ntasks-per-node 4
check_output "select=2:ncpus=2:mpiprocs=2+1:ncpus=3:mpiprocs=3" \
    "PBS gets slots divided over hosts" pbs --nodes 3 --ntasks 7
check_output "select=1:ncpus=4:mpiprocs=4+1:ncpus=3:mpiprocs=3" \
    "PBS gets a last host with fewer slots" pbs --ntasks 7 --ntasks-per-node 4
check_output "select=1:ncpus=3:mpiprocs=3" \
    "PBS gets one host for fewer slots than a host has" pbs --ntasks 3 --ntasks-per-node 4
check_output "select=5:ncpus=1:mpiprocs=1" "PBS gets slots without a number of hosts" pbs --ntasks 5
check_output '#BSUB -J true|#BSUB -n 6|#BSUB -R "span[ptile=2]"|#BSUB -W 0:02|#BSUB -env all' \
    "LSF gets tasks, tasks a host and time" line lsf --nodes 3 --ntasks 6 --time 1:01
check_output '#$ -N true|#$ -pe orte 6|#$ -l h_rt=1:00:00|#$ -j y|#$ -cwd|#$ -V|#$ -S /bin/sh' \
    "SGE gets tasks, environment and time" line sge -n 6 --pe orte --time 60
# --stop-signal asks the system for its warning, in its own words.
stop() { line "$@" | grep -oE '(--signal|-wa|-wt|s_rt|h_rt)[^|]*' | paste -sd'|' -; }
check_output '--signal=B:USR1@60' "Slurm warns mlaunch alone" stop slurm --stop-signal USR1
check_output '--signal=B:TERM@90' "Slurm warns as early as is asked, by that signal" stop slurm \
    --stop-before 90 --time 5 --stop-signal TERM
check_output '-wa USR2|-wt 2' "LSF warns in minutes" stop lsf --stop-before 61 --stop-signal USR2
check_output 'h_rt=1:00:00|s_rt=0:59:00' "SGE warns at a soft limit" stop sge --time 60 \
    --stop-signal SIGUSR1
check_output '' "PBS sends SIGTERM anyway" stop pbs --stop-signal TERM
check_output "mlaunch run -n 2 --output raw -- true" "options behind run are those of mlaunch run" \
    sh -c 'mlaunch batch slurm --output o run -n 2 --output raw -- true | sed -n "s/^exec //p"'

# -o and --submit: the system's own commands stand in for it.
check "the word - is the program" batch slurm - -o "$T/none.sh"
check_match ' run - -o ' "$OUT" "what follows the program - is the program's own"
check "-o FILE takes the script" batch slurm -o "$T/file.sh" -- true
check "-o makes its file executable" test -x "$T/file.sh"
fake() { printf '#!/bin/sh\necho "$*" > %q\ncat > %q\n%s\n' "$T/fake.args" "$T/fake.in" "$2" \
    > "$T/bin/$1"; chmod +x "$T/bin/$1"; }
fake sbatch 'echo "12;cluster"'
check_output 12 "--submit prints the number of a Slurm job" batch slurm --submit -- true
check_output "--parsable" "sbatch is asked for a number" cat "$T/fake.args"
batch slurm -- true > "$T/script"
check "sbatch gets the script" cmp "$T/script" "$T/fake.in"
fake qsub 'echo 13.server'
check_output 13.server "--submit prints the number of a PBS job" batch pbs --submit -- true
fake qsub 'echo 14'
check_output 14 "--submit prints the number of an SGE job" batch sge --submit -- true
fake bsub 'echo "Job <15> is submitted to queue <normal>."'
check_output 15 "--submit prints the number of an LSF job" batch lsf --submit -- true
fake bsub 'echo "Job not submitted"'
check_error 125 "bsub accepted the job, but its answer was not understood: 'Job not submitted" \
    "an answer of bsub without a number is an error" batch lsf --submit -- true
fake sbatch 'echo "sbatch: error: no such partition" >&2; exit 3'
check_error 125 "sbatch did not accept the job: status 3" \
    "a refusal by sbatch is an error" batch slurm --submit -- true
check_error 125 "sbatch did not accept the job: status 3" \
    "a refusal is an error where the caller ignores SIGCHLD, too" \
    env --ignore-signal=CHLD "PATH=$T/bin:$PATH" "$MLAUNCH" batch slurm --submit -- true
check_match 'no such partition' "$ERR" "a refusal is shown in the system's own words"
rm "$T/bin/qsub"
check_error 125 "there is no program qsub in PATH here" \
    "a batch system that is not there is an error" env \
    PATH="$T/bin" "$MLAUNCH" batch pbs --submit -- true

# Refusals.
refused() {
    local regex=$1
    shift
    check_error 125 "^mlaunch: error: .*$regex" "$(printf ' %q' mlaunch batch \
        "$@") is refused" batch "$@"
    check_output "" "nothing is printed for$(printf ' %q' mlaunch batch "$@")" cat "$OUT"
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
check "sbatch's letters are taken" sh -c '"$@" > "$0"' "$T/letters.sh" "$MLAUNCH" batch slurm -N 3 \
    -t90 -J name -p debug -A me -- true
check_output '#SBATCH --job-name=name
#SBATCH --nodes=3
#SBATCH --time=1:30:00
#SBATCH --partition=debug
#SBATCH --account=me
#SBATCH --export=ALL' "sbatch's letters become its options" grep '^#SBATCH' "$T/letters.sh"
check "srun's option with a value is taken" batch slurm --nodes 2 -D /d -- true
check_match 'mlaunch run -D /d -- true$' "$OUT" \
    "the value of srun's option is not taken for the program"
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
check "batch --help succeeds" batch --help
check_match '^usage: mlaunch batch slurm\|pbs\|lsf\|sge' "$OUT" "batch --help shows the usage"
while read -r option; do
    check_match "Fl Fl ${option#--}( |\$)" "$SOURCE/doc/mlaunch-batch.1" \
        "mlaunch-batch(1) has $option"
    check_match " $option( |\$|')" <(sed -n '/^ *batch)$/,/;;/p' \
        "$SOURCE/doc/completion/mlaunch" | sed "s/'/ /g") "completion has $option"
done < <(grep -oE '^  (-.,|   ) --[a-z-]+' "$OUT" | cut -c7- | grep -v -- --help)
done_testing
