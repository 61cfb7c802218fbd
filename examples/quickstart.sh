#!/usr/bin/env bash
# From a bare Debian 12 to a trained model: installs what is missing (apt as root
# or through sudo), builds, then trains a small convolutional network on real
# handwritten digits, on one device and mirrored on two, and shows that both
# learn the same. Results go to build/quickstart. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup/build.sh build

out=build/quickstart
mkdir -p "$out"
bin=build/bin
model=examples/models/digits-cnn.onnx
training=(--loss sparse-categorical-crossentropy --optimizer adam:lr=2e-3 --metrics accuracy --batch-size 32)
data=(--data examples/data/digits --validation-data examples/data/digits --scale x=1/16 --epochs 10)
mirrored=(--strategy mirrored --devices cpu:2)

echo
echo "== What mirroring on two devices will move, before anything runs"
"$bin/dist-opt" "$model" "${training[@]}" "${mirrored[@]}" --explain

echo
echo "== Training on one device"
"$bin/dist-run" fit "$model" "${training[@]}" "${data[@]}" --history "$out/one-device.jsonl" \
  --plot "$out/one-device.svg" --output "$out/digits-cnn-trained.onnx"

echo
echo "== Training mirrored on two devices"
"$bin/dist-run" fit "$model" "${training[@]}" "${data[@]}" "${mirrored[@]}" --history "$out/mirrored.jsonl" \
  --plot "$out/mirrored.svg" --output "$out/digits-cnn-mirrored.onnx"

echo
echo "== Do both curves agree?"
python3 examples/compare_curves.py "$out/one-device.jsonl" "$out/mirrored.jsonl"

echo
echo "== The trained model on the test images"
"$bin/dist-run" evaluate "$out/digits-cnn-trained.onnx" --loss sparse-categorical-crossentropy --metrics accuracy \
  --data x=examples/data/digits/t10k-images-idx3-ubyte.gz,y=examples/data/digits/t10k-labels-idx1-ubyte.gz \
  --scale x=1/16 --batch-size 32 --json

echo
echo "Trained models, curves and plots: $out"
