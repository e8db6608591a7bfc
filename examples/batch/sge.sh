#!/bin/sh
# A job for SGE, written by mlaunch batch. To submit it: qsub THIS-FILE
#$ -N heat
#$ -pe mpi 6
#$ -l h_rt=0:30:00
#$ -o heat.out
#$ -j y
#$ -cwd
#$ -V
#$ -S /bin/sh

# exec: the batch system's signals are for mlaunch, and its status is the job's.
exec mlaunch run -x OMP_NUM_THREADS=1 -- ./heat 1000
