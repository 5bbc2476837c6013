"""Small CUDA texts in the shape TVM generates, for the tests in this folder."""

HELPERS = """\
#include <cuda.h>
#define HALF_MATH(x) x
__forceinline__ __device__ uint32_t elect_one() {
  uint32_t pred = 0;
  asm volatile(
    "{\\n"
    ".reg .pred %%px;\\n"
    "     elect.sync _|%%px, %1;\\n"
    "@%%px mov.s32 %0, 1;\\n"
    "}\\n" : "+r"(pred) : "r"(0xFFFFFFFF));
  return pred;
}
__forceinline__ __device__ uint32_t elect_one_op() { return elect_one(); }
__forceinline__ __device__ int thread_rank() {
    namespace cg = cooperative_groups;
    return cg::this_thread_block().thread_rank();
}
__forceinline__ __device__ unsigned int cta_rank() {
  unsigned int r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r) :);
  return r;
}
__forceinline__ __device__ void init(uint32_t a, uint32_t n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :  : "r"(a), "r"(n) : "memory");
}
__forceinline__ __device__ void wait(void* barrier, int phase) {
    unsigned int a = __cvta_generic_to_shared(barrier);
    asm volatile(
        "{\\n"
        "LAB_WAIT:\\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 P1, [%0], %1, %2;\\n"
        "@P1                       bra.uni DONE;\\n"
        "bra.uni                   LAB_WAIT;\\n"
        "DONE:\\n"
        "}\\n" :: "r"(a), "r"(phase), "r"(1) : "memory");
}
__forceinline__ __device__ void arm(uint32_t a, uint32_t n) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :  : "r"(a), "r"(n) : "memory");
}
__forceinline__ __device__ void load(uint32_t d, const void* m, int x, uint32_t b) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" : : "r"(d), "l"(m), "r"(x), "r"(b) : "memory");
}
__forceinline__ __device__ void store(const void* m, int x, uint32_t s) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1}], [%2];" : : "l"(m), "r"(x), "r"(s) : "memory");
}
__forceinline__ __device__ void cta_sync() {
    __syncthreads();
}
__forceinline__ __device__ void named_sync(int id) {
    asm volatile("bar.sync %0, 128;" : : "r"(id));
}
__forceinline__ __device__ void cluster_sync() {
    asm("barrier.cluster.arrive.aligned;");
    asm("barrier.cluster.wait.aligned;");
}
__forceinline__ __device__ void alloc(uint32_t d, uint32_t n) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" : : "r"(d), "r"(n) : "memory");
}
"""


def kernel(body: str, threads: int = 256) -> str:
    """Return a generated text whose one kernel has this body."""
    signature = (
        f'extern "C" __global__ void __launch_bounds__({threads}) k(float* A, int tiles, int flag)'
    )
    lines = "\n".join(f"  {line}" for line in body.strip("\n").splitlines())
    return f"{HELPERS}{signature};\n{signature} {{\n{PROLOGUE}{lines}\n}}\n"


PROLOGUE = """\
  int warp = __shfl_sync((uint)4294967295, (((int)threadIdx.x) >> 5), 0, 32);
  int lane = (((int)threadIdx.x) & 31);
  extern __shared__ __align__(64) uchar pool[];
"""
