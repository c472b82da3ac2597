"""Computes with OpenCL from one moment to another, and prints how often it has run its kernel.

Usage: compute.py <start, seconds of the epoch> <seconds>
"""
import ctypes
import sys
import time

opencl = ctypes.CDLL("libOpenCL.so.1")
pointer = ctypes.c_void_p
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
    getattr(opencl, name).restype = pointer

ITEMS = 2048
SOURCE = b"""
kernel void work(global float *data, int rounds) {
  float x = data[get_global_id(0)];
  for (int i = 0; i < rounds; i++) x = x * 1.0001f + 0.0001f;
  data[get_global_id(0)] = x;
}"""


def check(code):
    if code != 0:
        raise SystemExit(f"OpenCL error {code}")


platform, device = pointer(), pointer()
check(opencl.clGetPlatformIDs(1, ctypes.byref(platform), None))
check(opencl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None))
context = pointer(opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
queue = pointer(opencl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), None))
text = ctypes.c_char_p(SOURCE)
program = pointer(opencl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, None))
check(opencl.clBuildProgram(program, 1, ctypes.byref(device), None, None, None))
kernel = pointer(opencl.clCreateKernel(program, b"work", None))
buffer = pointer(opencl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(4 * ITEMS), None, None))
rounds = ctypes.c_int(2000)
check(opencl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(buffer)))
check(opencl.clSetKernelArg(kernel, 1, ctypes.c_size_t(4), ctypes.byref(rounds)))
size = ctypes.c_size_t(ITEMS)


def run():
    check(opencl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(size), None, 0, None, None))
    check(opencl.clFinish(queue))


run()
start, seconds = float(sys.argv[1]), float(sys.argv[2])
if time.time() > start:
    raise SystemExit("the start has passed")
time.sleep(start - time.time())
count = 0
while time.time() < start + seconds:
    run()
    count += 1
print(count)
