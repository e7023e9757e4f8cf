#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "vxpu/cuda_abi.h"
#include "kernels.h"
CUresult cuInit(unsigned), cuDevicePrimaryCtxRetain(CUcontext*,CUdevice), cuCtxSetCurrent(CUcontext), cuModuleLoadData(CUmodule*,const void*), cuModuleGetFunction(CUfunction*,CUmodule,const char*),cuLaunchKernel(CUfunction,unsigned,unsigned,unsigned,unsigned,unsigned,unsigned,unsigned,CUstream,void**,void**),cuCtxSynchronize(void),cuEventCreate(CUevent*,unsigned),cuEventRecord(CUevent,CUstream),cuEventSynchronize(CUevent),cuEventElapsedTime(float*,CUevent,CUevent),cuStreamCreate(CUstream*,unsigned),cuLaunchHostFunc(CUstream,CUhostFn,void*),cuStreamSynchronize(CUstream),cuMemAlloc_v2(CUdeviceptr*,size_t),cuStreamWaitValue32(CUstream,CUdeviceptr,unsigned,unsigned),cuStreamQuery(CUstream);
#define OK(x) do { CUresult r_=(x); if(r_){printf("%s -> %d\n",#x,r_);exit(1);} } while(0)
static double now(void){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec*1e9+t.tv_nsec;}
static void host(void*p){ *(int*)p=1; }
int main(void){
 CUcontext c; CUmodule m; CUfunction f; CUevent a,b; CUstream s,s2; float ms; CUdeviceptr p;
 OK(cuInit(0)); OK(cuDevicePrimaryCtxRetain(&c,0)); OK(cuCtxSetCurrent(c));
 OK(cuModuleLoadData(&m,vx_test_kernels)); OK(cuModuleGetFunction(&f,m,"vx_spin"));
 OK(cuEventCreate(&a,0)); OK(cuEventCreate(&b,0)); OK(cuStreamCreate(&s,0)); OK(cuStreamCreate(&s2,1));
 unsigned long long ns=1000000; void*args[]={&ns};
 OK(cuEventRecord(a,s)); for(int i=0;i<5;i++) OK(cuLaunchKernel(f,1,1,1,32,1,1,0,s,args,NULL)); OK(cuEventRecord(b,s));
 double t=now(); OK(cuEventSynchronize(b)); printf("sync %.3f ms\n",(now()-t)/1e6); OK(cuEventElapsedTime(&ms,a,b)); printf("elapsed %f\n",ms);
 int flag=0; OK(cuLaunchHostFunc(s,host,&flag)); OK(cuLaunchKernel(f,1,1,1,32,1,1,0,s,args,NULL)); OK(cuStreamSynchronize(s)); printf("flag %d\n",flag);
 OK(cuMemAlloc_v2(&p,4096)); OK(cuStreamWaitValue32(s2,p,1,1)); OK(cuLaunchKernel(f,1,1,1,32,1,1,0,s2,args,NULL)); OK(cuLaunchKernel(f,1,1,1,32,1,1,0,s,args,NULL)); OK(cuStreamSynchronize(s)); printf("query s2 %d\n",cuStreamQuery(s2)); *(volatile unsigned*)p=1; OK(cuStreamSynchronize(s2)); OK(cuCtxSynchronize());
 ns=100; 
 for(int k=0;k<5;k++){ OK(cuCtxSynchronize()); t=now(); for(int i=0;i<900;i++) cuLaunchKernel(f,1,1,1,32,1,1,0,s,args,NULL); printf("launch %.0f ns\n",(now()-t)/900);}
 t=now(); OK(cuCtxSynchronize()); printf("sync900 %.0f us\n",(now()-t)/1000);
 t=now(); for(int i=0;i<200000;i++) cuLaunchKernel(f,1,1,1,32,1,1,0,s,args,NULL); OK(cuCtxSynchronize()); printf("200k of 100ns: %.0f ns each\n",(now()-t)/200000);
 return 0; }
