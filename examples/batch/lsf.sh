#!/bin/sh
# A job for LSF, written by mlaunch batch. To submit it: bsub < THIS-FILE
#BSUB -J heat
#BSUB -n 6
#BSUB -R "span[ptile=2]"
#BSUB -W 0:30
#BSUB -o heat.%J.out
#BSUB -env all

# exec: the batch system's signals are for mlaunch, and its status is the job's.
exec mlaunch run --agent-command 'blaunch {host}' -x OMP_NUM_THREADS=1 -- ./heat 1000
