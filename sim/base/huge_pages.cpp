// What jemalloc reads as a program starts. Big fabrics take hundreds of megabytes, visited in no order: with pages of
// 2 MiB instead of 4 KiB the processor finds them without walking page tables, which halves the time of a fold over
// 100,000 GPUs on a virtual machine. Source: jemalloc(3), "TUNING" and opt.thp.

extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
