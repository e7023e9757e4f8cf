"""Guest programs: what a tenant runs in a slice. They know OpenCL and numpy and nothing of this product.

Each prints one JSON object on standard output and exits 0 when its own result was right.
"""
