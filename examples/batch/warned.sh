#!/bin/sh
# A job for Slurm, written by mlaunch batch. To submit it: sbatch THIS-FILE
#SBATCH --job-name=train
#SBATCH --ntasks=6
#SBATCH --time=4:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --export=ALL
#SBATCH --requeue

# exec: the batch system's signals are for mlaunch, and its status is the job's.
exec mlaunch run --stop-signal USR1 --restarts 2 -- ./train --epochs 100
