/* One collective of MPI, timed by the simulated clock of SMPI and checked.
 * Usage: collectives OPERATION BYTES
 * OPERATION: all_reduce, all_gather, all_to_all, broadcast or reduce_scatter; BYTES as nccl-tests counts them: the
 * vector, of all_gather, all_to_all and reduce_scatter over all ranks. Must be a multiple of four times the ranks.
 * Prints the seconds from the start of all ranks to the end of the last one. Ends with 1 if the result is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rank `rank` has at place `place` of its vector: small enough for sums over ranks. */
static int value(int rank, long place) { return (int)((rank + 1) * (place % 1009)); }

static long count_wrong(const int* result, long count, int (*due)(long, void*), void* context) {
    long wrong = 0;
    for (long i = 0; i < count; ++i) {
        wrong += result[i] != due(i, context);
    }
    return wrong;
}

struct Job {
    int rank;
    int ranks;
    long block; /* elements */
};

static int own_of_zero(long i, void* job) {
    (void)job;
    return value(0, i);
}
static int sum(long i, void* job) {
    const int ranks = ((struct Job*)job)->ranks;
    return (int)((long)ranks * (ranks + 1) / 2 * (i % 1009));
}
static int sum_of_block(long i, void* job) {
    const struct Job* own = job;
    return sum(own->rank * own->block + i, job);
}
static int gathered(long i, void* job) {
    const long block = ((struct Job*)job)->block;
    return value((int)(i / block), i % block);
}
static int exchanged(long i, void* job) {
    const struct Job* own = job;
    return value((int)(i / own->block), own->rank * own->block + i % own->block);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    struct Job job;
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    if (argc != 3) {
        fprintf(stderr, "usage: collectives OPERATION BYTES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char* const operation = argv[1];
    const long count = atol(argv[2]) / (long)sizeof(int);
    job.block = count / job.ranks;
    int* const sent = malloc((size_t)(count + 1) * sizeof(int));
    int* const received = malloc((size_t)(count + 1) * sizeof(int));
    for (long i = 0; i < count; ++i) {
        sent[i] = value(job.rank, i);
        received[i] = -1;
    }
    int* const counts = malloc((size_t)job.ranks * sizeof(int));
    for (int rank = 0; rank < job.ranks; ++rank) {
        counts[rank] = (int)job.block;
    }

    const int all = (int)count;
    const int block = (int)job.block;
    long wrong = 0;
    double seconds = MPI_Wtime(); /* nothing has cost time so far: all ranks start at 0 */
    if (strcmp(operation, "all_reduce") == 0) {
        MPI_Allreduce(sent, received, all, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        seconds = MPI_Wtime() - seconds;
        wrong = count_wrong(received, count, sum, &job);
    } else if (strcmp(operation, "all_gather") == 0) {
        MPI_Allgather(sent, block, MPI_INT, received, block, MPI_INT, MPI_COMM_WORLD);
        seconds = MPI_Wtime() - seconds;
        wrong = count_wrong(received, count, gathered, &job);
    } else if (strcmp(operation, "all_to_all") == 0) {
        MPI_Alltoall(sent, block, MPI_INT, received, block, MPI_INT, MPI_COMM_WORLD);
        seconds = MPI_Wtime() - seconds;
        wrong = count_wrong(received, count, exchanged, &job);
    } else if (strcmp(operation, "broadcast") == 0) {
        MPI_Bcast(sent, all, MPI_INT, 0, MPI_COMM_WORLD);
        seconds = MPI_Wtime() - seconds;
        wrong = count_wrong(sent, count, own_of_zero, &job);
    } else if (strcmp(operation, "reduce_scatter") == 0) {
        MPI_Reduce_scatter(sent, received, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        seconds = MPI_Wtime() - seconds;
        wrong = count_wrong(received, job.block, sum_of_block, &job);
    } else {
        fprintf(stderr, "unknown operation %s\n", operation);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    double slowest = 0;
    long wrong_in_all = 0;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &wrong_in_all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (job.rank == 0) {
        printf("seconds %.15g\n", slowest);
        if (wrong_in_all > 0) {
            printf("%ld values are wrong\n", wrong_in_all);
        }
    }
    free(counts);
    free(received);
    free(sent);
    MPI_Finalize();
    return wrong_in_all > 0;
}
