//! Charts as SVG: axes from zero, lines, a legend. Written by hand: no more than this is needed, and a chart's text is then the same
//! everywhere.

use crate::report::{Chart, Series, grouped};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
/// The plot's edges.
const LEFT: f64 = 88.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = HEIGHT - 62.0;
/// A line has at most so many points; of more, the highest of each stretch is drawn.
const POINTS_MAX: usize = 400;
/// Told apart also by those who do not see all colours.
const COLORS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];

/// One chart.
pub fn chart(chart: &Chart) -> String {
    let all = || chart.series.iter().flat_map(|series| &series.points);
    let x = Axis::new(all().map(|point| point.0), LEFT, RIGHT);
    let y = Axis::new(all().map(|point| point.1), BOTTOM, TOP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    out += &text(WIDTH / 2.0, 18.0, "middle", &chart.title);
    out += &text(8.0, TOP - 12.0, "start", &chart.y);
    out += &text((LEFT + RIGHT) / 2.0, BOTTOM + 32.0, "middle", &chart.x);
    for value in x.ticks() {
        out += &path(&format!("M{:.1} {TOP:.1}V{BOTTOM:.1}", x.at(value)), "#ddd", 1.0);
        out += &text(x.at(value), BOTTOM + 16.0, "middle", &x.show(value));
    }
    for value in y.ticks() {
        out += &path(&format!("M{LEFT:.1} {:.1}H{RIGHT:.1}", y.at(value)), "#ddd", 1.0);
        out += &text(LEFT - 6.0, y.at(value) + 4.0, "end", &y.show(value));
    }
    let mut legend = LEFT;
    for (series, color) in chart.series.iter().zip(COLORS.iter().cycle()) {
        let points = thinned(series);
        let points = points.iter().map(|point| format!("{:.1} {:.1}", x.at(point.0), y.at(point.1)));
        out += &path(&format!("M{}", points.collect::<Vec<_>>().join("L")), color, 1.5);
        out += &path(&format!("M{legend:.1} {:.1}h18", HEIGHT - 12.0), color, 3.0);
        out += &text(legend + 24.0, HEIGHT - 8.0, "start", &series.name);
        legend += 44.0 + 7.0 * series.name.chars().count() as f64;
    }
    out + "</svg>\n"
}

/// From values to places.
struct Axis {
    max: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// From zero to a round number above all values.
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let max = values.fold(0.0, f64::max);
        let max = if max > 0.0 { max } else { 1.0 };
        let power = 10f64.powf((max / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = step.into_iter().find(|step| step * 5.0 >= max).unwrap_or(10.0 * power);
        Axis { max: (max / step).ceil() * step, step, from, to }
    }
    fn at(&self, value: f64) -> f64 {
        self.from + value / self.max * (self.to - self.from)
    }
    fn ticks(&self) -> impl Iterator<Item = f64> {
        (0..=(self.max / self.step).round() as u32).map(|n| f64::from(n) * self.step)
    }
    fn show(&self, value: f64) -> String {
        grouped(value, (-self.step.log10()).ceil().max(0.0) as usize)
    }
}

fn thinned(series: &Series) -> Vec<(f64, f64)> {
    let stretch = series.points.len().div_ceil(POINTS_MAX).max(1);
    let highest = |points: &[(f64, f64)]| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    series.points.chunks(stretch).filter_map(highest).collect()
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

fn path(d: &str, color: &str, width: f64) -> String {
    format!("<path d=\"{d}\" stroke=\"{color}\" stroke-width=\"{width}\" fill=\"none\"/>\n")
}

/// A text inside SVG or HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
