"""GPU kernels of our own, how they are launched, and the operators that autograd and compilers see."""
