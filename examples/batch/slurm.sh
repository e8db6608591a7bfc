#!/bin/sh
# A job for Slurm, written by mlaunch batch. To submit it: sbatch THIS-FILE
#SBATCH --job-name=heat
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=2
#SBATCH --time=0:30:00
#SBATCH --output=heat.%j.out
#SBATCH --export=ALL

# exec: the batch system's signals are for mlaunch, and its status is the job's.
exec mlaunch run -x OMP_NUM_THREADS=1 -- ./heat 1000
