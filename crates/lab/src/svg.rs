//! Charts as SVG: axes from zero, lines or bars, a legend. Written by hand: no more than this is needed, and a
//! chart's text is then the same everywhere.

use crate::report::{Chart, Series, grouped};

const WIDTH: f64 = 720.0;
/// The plot's edges.
const LEFT: f64 = 88.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 54.0;
const BOTTOM: f64 = 258.0;
/// The first line of the legend, and how far the next one is below.
const LEGEND: f64 = 308.0;
const LEGEND_STEP: f64 = 18.0;
/// About the width of a letter.
const LETTER: f64 = 7.0;
/// How much of a group's room its bars take, and how wide one is at most.
const GROUP_SHARE: f64 = 0.8;
const BAR_MAX: f64 = 56.0;
/// Points of a line, at most; of more, the highest of each stretch is drawn.
const POINTS_MAX: usize = 400;
/// Told apart also by readers that do not see all colours.
const COLORS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];

/// One chart.
pub fn chart(chart: &Chart) -> String {
    let (legend, legend_lines) = legend(chart);
    let height = LEGEND + LEGEND_STEP * f64::from(legend_lines - 1) + 12.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<rect width=\"100%\" \
         height=\"100%\" fill=\"white\"/>\n"
    );
    out += &text(WIDTH / 2.0, 16.0, "middle", &chart.title);
    out += &text(8.0, TOP - 20.0, "start", &chart.y);
    out += &text((LEFT + RIGHT) / 2.0, BOTTOM + 32.0, "middle", &chart.x);
    let y = Axis::new(points(chart).map(|point| point.1), BOTTOM, TOP);
    for value in y.ticks() {
        out += &path(&format!("M{LEFT:.1} {:.1}H{RIGHT:.1}", y.at(value)), "#ddd", 1.0);
        out += &text(LEFT - 6.0, y.at(value) + 4.0, "end", &y.show(value));
    }
    out += &if chart.groups.is_empty() { lines(chart, &y) } else { bars(chart, &y) };
    out + &legend + "</svg>\n"
}

fn points(chart: &Chart) -> impl Iterator<Item = &(f64, f64)> {
    chart.series.iter().flat_map(|series| &series.points)
}
fn colored(chart: &Chart) -> impl Iterator<Item = (&Series, &'static str)> {
    chart.series.iter().zip(COLORS.iter().copied().cycle())
}

fn lines(chart: &Chart, y: &Axis) -> String {
    let x = Axis::new(points(chart).map(|point| point.0), LEFT, RIGHT);
    let mut out = String::new();
    for value in x.ticks() {
        out += &path(&format!("M{:.1} {TOP:.1}V{BOTTOM:.1}", x.at(value)), "#ddd", 1.0);
        out += &text(x.at(value), BOTTOM + 16.0, "middle", &x.show(value));
    }
    for (series, color) in colored(chart) {
        let points = thinned(series);
        if let [(at, value)] = points[..] {
            // A line of one point would not be seen.
            out += &format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{color}\"/>\n",
                x.at(at),
                y.at(value)
            );
            continue;
        }
        let points = points.iter().map(|point| format!("{:.1} {:.1}", x.at(point.0), y.at(point.1)));
        out += &path(&format!("M{}", points.collect::<Vec<_>>().join("L")), color, 1.5);
    }
    out
}

/// Bars that show published values are hollow.
fn bars(chart: &Chart, y: &Axis) -> String {
    let room = (RIGHT - LEFT) / chart.groups.len() as f64;
    let width = (GROUP_SHARE * room / chart.series.len() as f64).min(BAR_MAX);
    let start = |group: usize| LEFT + room * (group as f64 + 0.5) - width * chart.series.len() as f64 / 2.0;
    let mut out = String::new();
    for (n, group) in chart.groups.iter().enumerate() {
        out += &text(LEFT + room * (n as f64 + 0.5), BOTTOM + 16.0, "middle", &group.name);
    }
    for (place, (series, color)) in colored(chart).enumerate() {
        for &(group, value) in &series.points {
            let group = group as usize;
            let (left, top) = (start(group) + width * place as f64, y.at(value));
            let fill = if chart.groups[group].published { "white" } else { color };
            out += &format!(
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" \
                 stroke=\"{color}\"/>\n",
                left + 1.0,
                (width - 2.0).max(0.5),
                BOTTOM - top
            );
            let shown = grouped(value, if value < 10.0 { 2 } else { usize::from(value < 100.0) });
            if shown.len() as f64 * LETTER <= width {
                out += &text(left + width / 2.0, top - 4.0, "middle", &shown);
            }
        }
    }
    out
}

/// The legend, and how many lines it has.
fn legend(chart: &Chart) -> (String, u32) {
    let (mut out, mut left, mut lines) = (String::new(), LEFT, 1);
    for (series, color) in colored(chart) {
        let width = 44.0 + LETTER * series.name.chars().count() as f64;
        if left > LEFT && left + width > WIDTH {
            (left, lines) = (LEFT, lines + 1);
        }
        let at = LEGEND + LEGEND_STEP * f64::from(lines - 1);
        out += &path(&format!("M{left:.1} {at:.1}h18"), color, 3.0);
        out += &text(left + 24.0, at + 4.0, "start", &series.name);
        left += width;
    }
    (out, lines)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_one_point_is_seen() {
        let series = |points: &[(f64, f64)]| Series { name: "run".into(), points: points.to_vec() };
        let drawn = |points: &[(f64, f64)]| {
            chart(&Chart {
                id: "id".into(),
                title: "title".into(),
                x: "s".into(),
                y: "words".into(),
                groups: Vec::new(),
                series: vec![series(points)],
            })
        };
        assert!(drawn(&[(1.0, 2.0)]).contains("<circle"));
        assert!(!drawn(&[(1.0, 2.0), (2.0, 2.0)]).contains("<circle"));
    }
}
