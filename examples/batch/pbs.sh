#!/bin/sh
# A job for PBS, written by mlaunch batch. To submit it: qsub THIS-FILE
#PBS -N heat
#PBS -l select=3:ncpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=0:30:00
#PBS -q workq
#PBS -o heat.out
#PBS -j oe
#PBS -V

cd "$PBS_O_WORKDIR" || exit 125
# exec: the batch system's signals are for mlaunch, and its status is the job's.
exec mlaunch run -x OMP_NUM_THREADS=1 -- ./heat 1000
