"""One file a family of kernels: the shapes that it is measured on."""
