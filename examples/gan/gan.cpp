// Trains a generator against a discriminator on IDX images, each a compiled
// model with an optimizer of its own, in a loop that the app writes:
// gan GENERATOR DISCRIMINATOR IMAGES STEPS
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dist/session.hpp>
#include <fstream>
#include <iterator>
#include <random>

using namespace dist::api;

namespace {

/// The bytes of an IDX file of images, as floats from 0 to 1 (16 is white).
std::vector<float> readImages(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() <= 16)
    throw std::runtime_error("cannot read " + path);
  std::vector<float> pixels;
  for (size_t i = 16; i < bytes.size(); ++i)
    pixels.push_back(float(uint8_t(bytes[i])) / 16);
  return pixels;
}

/// Adds a set of gradients to another, each tensor of which is `sums[i]`.
void add(const std::vector<TensorView> &gradients,
         std::vector<std::vector<float>> &sums) {
  sums.resize(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const float *elements = gradients[i].as<float>();
    sums[i].resize(size_t(gradients[i].elements()));
    for (size_t k = 0; k < sums[i].size(); ++k)
      sums[i][k] += elements[k];
  }
}

class Gan {
public:
  Gan(const std::string &generatorPackage,
      const std::string &discriminatorPackage)
      : generator(generatorPackage, options()),
        discriminator(discriminatorPackage, options()) {
    const dist_binding_t noise = generator.inputs("predict").at(0);
    batch = noise.dims[0];
    noiseSize = noise.dims[1];
    pixels = generator.outputs("predict").at(0).dims[1];
  }

  int64_t batch = 0, noiseSize = 0, pixels = 0;

  std::vector<float> makeNoise() {
    std::vector<float> noise(size_t(batch * noiseSize));
    for (float &one : noise)
      one = normal(random);
    return noise;
  }
  /// Images; valid until the next call.
  TensorView generate(const std::vector<float> &noise) {
    return generator.predict({view(noise.data(), {batch, noiseSize})})[0];
  }

  /// The discriminator's update: by the mean of its gradients on real images
  /// and on the generator's. Its loss.
  double trainDiscriminator(const TensorView &real) {
    std::vector<float> noise = makeNoise();
    std::vector<std::vector<float>> sums;
    Gradients onReal = discriminator.gradients({real, labels(1)});
    double loss = onReal.loss / 2;
    add(onReal.variables, sums);
    // From here on the views of `onReal` are those of the next call.
    Gradients onMade = discriminator.gradients({generate(noise), labels(0)});
    loss += onMade.loss / 2;
    add(onMade.variables, sums);
    std::vector<TensorView> mean;
    for (size_t i = 0; i < sums.size(); ++i) {
      for (float &one : sums[i])
        one /= 2;
      mean.push_back(view(sums[i].data(), onMade.variables[i].dims()));
    }
    discriminator.apply(mean);
    return loss;
  }

  /// The generator's update, towards images that the discriminator takes for
  /// real: the gradient by an image goes on into the model that made it.
  double trainGenerator() {
    std::vector<float> noise = makeNoise();
    Gradients judged = discriminator.gradients({generate(noise), labels(1)});
    const TensorView &byImage = judged.inputs.at(0);
    // The loss inner-product is a mean over the batch; this gradient is one
    // already.
    std::vector<float> cotangent(byImage.as<float>(),
                                 byImage.as<float>() + byImage.elements());
    for (float &one : cotangent)
      one *= float(batch);
    Gradients made =
        generator.gradients({view(noise.data(), {batch, noiseSize}),
                             view(cotangent.data(), {batch, pixels})});
    generator.apply(made.variables);
    return judged.loss;
  }

private:
  SessionOptions options() const {
    SessionOptions given;
    given.team = &team; // they compute in turns: one set of threads is enough
    return given;
  }
  /// One for each image: whether it is real.
  TensorView labels(float value) {
    truth.assign(size_t(batch), value);
    return view(truth.data(), {batch, 1});
  }

  Team team;
  Session generator, discriminator;
  std::vector<float> truth;
  std::mt19937 random{1};
  std::normal_distribution<float> normal;
};

/// How far the mean image of a batch is from the mean of the data, a pixel.
double compareMeans(Gan &gan, const std::vector<float> &images) {
  std::vector<float> noise = gan.makeNoise();
  TensorView made = gan.generate(noise);
  size_t pixels = size_t(gan.pixels), count = images.size() / pixels;
  double distance = 0;
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    double real = 0, ours = 0;
    for (size_t i = 0; i < count; ++i)
      real += images[i * pixels + pixel];
    for (size_t i = 0; i < size_t(gan.batch); ++i)
      ours += made.as<float>()[i * pixels + pixel];
    distance += std::fabs(real / double(count) - ours / double(gan.batch));
  }
  return distance / double(pixels);
}

void print(const float *image) {
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column)
      std::printf("%c%c", " .:-=+*#%@"[int(image[row * 8 + column] * 9.99f)],
                  column == 7 ? '\n' : ' ');
  }
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 5) {
    std::fprintf(stderr, "usage: gan GENERATOR DISCRIMINATOR IMAGES STEPS\n");
    return 2;
  }
  Gan gan(argv[1], argv[2]);
  std::vector<float> images = readImages(argv[3]);
  size_t size = size_t(gan.batch * gan.pixels), first = 0;
  int steps = std::atoi(argv[4]);
  std::printf("before: mean images differ by %.3f a pixel\n",
              compareMeans(gan, images));
  for (int step = 1; step <= steps; ++step) {
    if (first + size > images.size())
      first = 0;
    // Views need no aligned memory, and no copy where it is.
    double discriminatorLoss = gan.trainDiscriminator(
        view(images.data() + first, {gan.batch, gan.pixels}));
    first += size;
    double generatorLoss = gan.trainGenerator();
    if (step % (steps / 5) == 0)
      std::printf("step %d: discriminator's loss %.3f, generator's %.3f\n",
                  step, discriminatorLoss, generatorLoss);
  }
  std::printf("after: mean images differ by %.3f a pixel\n",
              compareMeans(gan, images));
  std::vector<float> noise = gan.makeNoise();
  print(gan.generate(noise).as<float>());
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "gan: error: %s\n", error.what());
  return 1;
}
