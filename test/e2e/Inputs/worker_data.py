"""The same digits for three workers, but that those of worker 2 have a NaN in example 60."""
import numpy

random = numpy.random.default_rng(0)
images = random.random((96, 1, 8, 8), dtype=numpy.float32)
numpy.save("y.npy", random.integers(0, 10, 96))
for index in range(3):
    if index == 2:
        images[60, 0, 3, 3] = numpy.nan
    numpy.save(f"x{index}.npy", images)
