/*
 * The kernels that the CUDA test programs launch, as PTX text, so that a real
 * driver compiles them itself and no toolkit is needed. A simulated card
 * knows them by name (fake/README.md).
 *
 *   vx_spin(u64 n)                       n steps of arithmetic, nothing else
 *   vx_fill(u64 to, u32 value, u64 n)    to[0..n) = value, 4 bytes each
 *
 * A step's time differs between cards (and is 1 ns on a simulated one):
 * calibrate n with events while nothing else runs.
 */
#ifndef VXPU_TEST_KERNELS_H
#define VXPU_TEST_KERNELS_H

static const char vx_test_kernels[] =
    ".version 7.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".visible .global .f32 vx_sink;\n"
    ".visible .entry vx_spin(.param .u64 n)\n"
    "{\n"
    "  .reg .pred %p<3>; .reg .f32 %f<3>; .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [n];\n"
    "  mov.u64 %rd2, 0;\n"
    "  mov.f32 %f1, 0f3F800000;\n"
    "AGAIN:\n"
    "  setp.ge.u64 %p1, %rd2, %rd1;\n"
    "  @%p1 bra DONE;\n"
    "  fma.rn.f32 %f1, %f1, 0f3F7FFFFE, 0f33D6BF95;\n"
    "  add.u64 %rd2, %rd2, 1;\n"
    "  bra AGAIN;\n"
    "DONE:\n"
    /* Never true; without it the whole loop would be dropped. */
    "  setp.eq.f32 %p2, %f1, 0fC2280000;\n"
    "  @%p2 st.global.f32 [vx_sink], %f1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry vx_fill(.param .u64 to, .param .u32 value, .param .u64 n)\n"
    "{\n"
    "  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [to];\n"
    "  ld.param.u32 %r1, [value];\n"
    "  ld.param.u64 %rd2, [n];\n"
    "  mov.u32 %r2, %ctaid.x;\n"
    "  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n"
    "  mul.wide.u32 %rd3, %r2, %r3;\n"
    "  cvt.u64.u32 %rd4, %r4;\n"
    "  add.u64 %rd3, %rd3, %rd4;\n"
    "  mov.u32 %r5, %nctaid.x;\n"
    "  mul.wide.u32 %rd5, %r5, %r3;\n"
    "NEXT:\n"
    "  setp.ge.u64 %p1, %rd3, %rd2;\n"
    "  @%p1 bra END;\n"
    "  shl.b64 %rd6, %rd3, 2;\n"
    "  add.u64 %rd6, %rd1, %rd6;\n"
    "  st.global.u32 [%rd6], %r1;\n"
    "  add.u64 %rd3, %rd3, %rd5;\n"
    "  bra NEXT;\n"
    "END:\n"
    "  ret;\n"
    "}\n";

#endif
