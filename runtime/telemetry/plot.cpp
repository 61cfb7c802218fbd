//===- plot.cpp - Curves as an SVG -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/telemetry/writers.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <fmt/format.h>

namespace dist {

namespace {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

constexpr double kWidth = 720, kHeight = 300, kLeft = 64, kRight = 130,
                 kTop = 34, kBottom = 40;
const char *const kColours[] = {"#1f77b4", "#d62728", "#2ca02c",
                                "#9467bd", "#ff7f0e", "#8c564b"};

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// At most `limit` points, each the mean of its neighbours: a million steps
/// make no larger file than a thousand.
std::vector<std::pair<double, double>>
thinned(const std::vector<std::pair<double, double>> &points, size_t limit) {
  if (points.size() <= limit)
    return points;
  std::vector<std::pair<double, double>> out;
  for (size_t i = 0; i < limit; ++i) {
    size_t begin = points.size() * i / limit;
    size_t end = points.size() * (i + 1) / limit;
    double x = 0, y = 0;
    for (size_t k = begin; k < end; ++k) {
      x += points[k].first;
      y += points[k].second;
    }
    out.emplace_back(x / double(end - begin), y / double(end - begin));
  }
  return out;
}

/// A round step that makes four to ten ticks of `span`.
double tickStep(double span) {
  double step = std::pow(10, std::floor(std::log10(span)));
  for (double factor : {0.2, 0.5, 1.0, 2.0})
    if (span / (step * factor) <= 8)
      return step * factor;
  return step;
}

/// The multiples of `step` from `low` to `high`; none where they are too near
/// to each other, or too far apart, for numbers to tell them apart.
std::vector<double> ticksWithin(double low, double high, double step) {
  constexpr double kLargest = 1e15;
  std::vector<double> ticks;
  const double first = std::ceil(low / step), last = std::floor(high / step);
  if (!(std::fabs(first) < kLargest && std::fabs(last) < kLargest))
    return ticks;
  for (auto i = int64_t(first); i <= int64_t(last); ++i)
    ticks.push_back(double(i) * step);
  return ticks;
}

std::string panel(const std::string &title, const std::vector<Curve> &curves,
                  double y0) {
  double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  for (const Curve &curve : curves)
    for (auto &[x, y] : curve.points) {
      left = std::min(left, x);
      right = std::max(right, x);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  if (!(left <= right))
    return "";
  if (right == left)
    right = left + 1;
  // Next to large values small differences are none: ticks between them would
  // round to one another, and never end.
  double least = std::max(std::fabs(low), std::fabs(high)) * 1e-9;
  if (high - low <= least) {
    double around = std::max(0.5, least);
    high += around;
    low -= around;
  }
  double margin = (high - low) * 0.05;
  low = low >= 0 ? std::max(0.0, low - margin) : low - margin;
  high += margin;
  auto px = [&](double x) {
    return kLeft + (x - left) / (right - left) * (kWidth - kLeft - kRight);
  };
  auto py = [&](double y) {
    return y0 + kHeight - kBottom -
           (y - low) / (high - low) * (kHeight - kTop - kBottom);
  };
  std::string text =
      fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n",
                  kLeft, y0 + 20, escaped(title));
  double step = tickStep(high - low);
  for (double y : ticksWithin(low, high, step))
    text += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" "
                        "y2=\"{2:.1f}\" stroke=\"#ddd\"/><text x=\"{3}\" "
                        "y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g}</text>\n",
                        kLeft, kWidth - kRight, py(y), kLeft - 6, py(y) + 4,
                        std::fabs(y) < step / 2 ? 0 : y);
  step = std::max(1.0, tickStep(right - left));
  for (double x : ticksWithin(left, right, step))
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" "
                        "text-anchor=\"middle\">{:.6g}</text>\n",
                        px(x), y0 + kHeight - kBottom + 18, x);
  for (size_t c = 0; c < curves.size(); ++c) {
    const char *colour = kColours[c % std::size(kColours)];
    std::string line;
    for (auto &[x, y] : curves[c].points)
      line += fmt::format("{:.1f},{:.1f} ", px(x), py(y));
    text += fmt::format("<polyline fill=\"none\" stroke=\"{}\" "
                        "stroke-width=\"1.5\" points=\"{}\"/>\n",
                        colour, line);
    if (curves[c].points.size() == 1)
      text += fmt::format("<circle r=\"3\" fill=\"{}\" cx=\"{:.1f}\" "
                          "cy=\"{:.1f}\"/>\n",
                          colour, px(curves[c].points[0].first),
                          py(curves[c].points[0].second));
    text += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n",
                        kWidth - kRight + 10, y0 + kTop + 16.0 * double(c + 1),
                        colour, escaped(curves[c].name));
  }
  return text;
}

} // namespace

std::string plotSvg(const std::vector<StepRow> &steps,
                    const std::vector<EpochRow> &epochs,
                    const std::string &title) {
  Curve perStep{"loss", {}};
  for (const StepRow &row : steps)
    if (std::isfinite(row.loss))
      perStep.points.emplace_back(double(row.step), row.loss);
  perStep.points = thinned(perStep.points, 800);
  std::vector<std::pair<std::string, std::vector<Curve>>> panels;
  panels.push_back({title + ": loss of each step", {perStep}});
  // A curve and its val_ twin share a panel.
  std::map<std::string, std::vector<Curve>> byMetric;
  std::vector<std::string> order;
  for (const EpochRow &row : epochs)
    for (auto &[name, value] : row.values) {
      std::string base =
          name.compare(0, 4, "val_") == 0 ? name.substr(4) : name;
      std::vector<Curve> &curves = byMetric[base];
      if (curves.empty())
        order.push_back(base);
      auto it = std::find_if(
          curves.begin(), curves.end(),
          [&, &name = name](const Curve &c) { return c.name == name; });
      if (it == curves.end())
        it = curves.insert(it, Curve{name, {}});
      if (std::isfinite(value))
        it->points.emplace_back(double(row.epoch), value);
    }
  for (const std::string &base : order)
    panels.push_back({base + " by epoch", byMetric[base]});

  std::string body;
  double y = 0;
  for (auto &[name, curves] : panels) {
    std::string text = panel(name, curves, y);
    if (text.empty())
      continue;
    body += text;
    y += kHeight;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect "
      "width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
      kWidth, std::max(y, kHeight), body);
}

} // namespace dist
