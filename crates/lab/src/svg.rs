//! Charts as SVG: axes, lines with markers, bars beside or on each other, whiskers, a legend. Each point says its
//! values when it is pointed at. Written by hand: no more than this is needed, and a chart's text is then the same
//! everywhere. Colours are attributes, for papers; a page may give the classes others.

use crate::axis::Axis;
use crate::report::{Chart, Series, Whisker, grouped};

const WIDTH: f64 = 720.0;
/// The plot's edges.
const LEFT: f64 = 88.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 54.0;
const BOTTOM: f64 = 318.0;
/// The first line of the legend, and how far the next one is below.
const LEGEND: f64 = BOTTOM + 50.0;
const LEGEND_STEP: f64 = 18.0;
/// About the width of a letter.
const LETTER: f64 = 7.0;
/// How much of a group's room its bars take, and how wide one is at most.
const GROUP_SHARE: f64 = 0.8;
const BAR_MAX: f64 = 56.0;
/// Points of a line, at most; of more, the highest of each stretch is drawn.
const POINTS_MAX: usize = 400;
/// Points of a line that have markers, at most.
const MARKERS_MAX: usize = 40;
/// Half the size of a marker.
const MARKER: f64 = 4.0;
/// Told apart also by readers that do not see all colours.
const COLORS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];
/// What would be without losses.
const IDEAL: &str = "#888";

/// One chart.
pub fn chart(chart: &Chart) -> String {
    let (legend, legend_lines) = legend(chart);
    let height = LEGEND + LEGEND_STEP * f64::from(legend_lines - 1) + 12.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{}\">\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        escaped(&chart.title)
    );
    out += &text(WIDTH / 2.0, 16.0, "middle", &chart.title);
    out += &text(8.0, TOP - 20.0, "start", &chart.y);
    out += &text((LEFT + RIGHT) / 2.0, BOTTOM + 32.0, "middle", &chart.x);
    let y = Axis::new(heights(chart).into_iter(), chart.look.log_y, BOTTOM, TOP);
    for (value, at) in y.ticks().filter_map(|value| Some((value, y.at(value)?))) {
        out += &grid(&format!("M{LEFT:.1} {at:.1}H{RIGHT:.1}"));
        out += &text(LEFT - 6.0, at + 4.0, "end", &y.show(value));
    }
    out += &if chart.groups.is_empty() { lines(chart, &y) } else { bars(chart, &y) };
    out + &legend + "</svg>\n"
}

/// All values that the y-axis must have room for.
fn heights(chart: &Chart) -> Vec<f64> {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    if chart.look.stacked && !chart.groups.is_empty() {
        let sum = |group| {
            points().filter(|point| point.0 as usize == group).map(|point| point.1.max(0.0)).sum::<f64>()
        };
        // Parts of a hundred may sum to a little more, by rounding.
        return (0..chart.groups.len()).map(|group| (1e6 * sum(group)).round() / 1e6).collect();
    }
    let whiskers = chart.look.whiskers.iter().flat_map(|whisker| [whisker.least, whisker.most]);
    points().map(|point| point.1).chain(whiskers).collect()
}

/// What a series shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Measured,
    Published,
    Ideal,
}

fn role(series: &Series) -> Role {
    let is = |name: &str| series.name.split(',').next().is_some_and(|first| first.trim() == name);
    match () {
        () if is("published") => Role::Published,
        () if is("ideal") => Role::Ideal,
        () => Role::Measured,
    }
}

/// The series, each with its number among all and its colour.
fn colored(chart: &Chart) -> impl Iterator<Item = (usize, &Series, &'static str)> {
    let colors = COLORS.iter().copied().cycle();
    chart.series.iter().zip(colors).enumerate().map(|(number, (series, color))| {
        (number, series, if role(series) == Role::Ideal { IDEAL } else { color })
    })
}

fn lines(chart: &Chart, y: &Axis) -> String {
    let all = chart.series.iter().flat_map(|series| &series.points);
    let x = Axis::new(all.map(|point| point.0), chart.look.log_x, LEFT, RIGHT);
    let mut out = String::new();
    for (value, at) in x.ticks().filter_map(|value| Some((value, x.at(value)?))) {
        out += &grid(&format!("M{at:.1} {TOP:.1}V{BOTTOM:.1}"));
        out += &text(at, BOTTOM + 16.0, "middle", &x.show(value));
    }
    if chart.look.joined {
        out += &joined(chart, &x, y);
    }
    let (mut over, place) = (String::new(), |point: &(f64, f64)| Some((x.at(point.0)?, y.at(point.1)?)));
    for (number, series, color) in colored(chart) {
        let points = thinned(series, chart.look.joined);
        let places: Vec<(f64, f64)> = points.iter().filter_map(place).collect();
        let d: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let d = format!("M{}", d.join("L"));
        match role(series) {
            Role::Ideal => {
                out += &format!(
                    "<path class=\"ideal\" d=\"{d}\" stroke=\"{color}\" stroke-dasharray=\"6 4\" fill=\"none\"/>\n"
                );
                continue;
            }
            Role::Measured if places.len() > 1 => out += &path(&d, color, 1.5, number),
            _ => {}
        }
        let few = points.len() <= MARKERS_MAX || role(series) == Role::Published;
        for point in points.iter().filter(|_| few) {
            let Some(at) = place(point) else { continue };
            let told = format!("{}: {}, {}", series.name, short(point.0), short(point.1));
            // What is published is seen over what is measured.
            let drawn = if role(series) == Role::Published { &mut over } else { &mut out };
            *drawn += &marker(at, (number, color), role(series), &told);
        }
    }
    for whisker in &chart.look.whiskers {
        let color = COLORS[whisker.series % COLORS.len()];
        out += &x.at(whisker.x).map_or(String::new(), |at| drawn_whisker(whisker, at, y, color));
    }
    out + &over
}

/// Lines through the points of the same number in all series.
fn joined(chart: &Chart, x: &Axis, y: &Axis) -> String {
    let most = chart.series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    let mut out = String::new();
    for number in 0..most.min(POINTS_MAX) {
        let points = chart.series.iter().filter_map(|series| series.points.get(number));
        let places = points.filter_map(|point| Some(format!("{:.1} {:.1}", x.at(point.0)?, y.at(point.1)?)));
        let places: Vec<String> = places.collect();
        if places.len() > 1 {
            out += &format!(
                "<path class=\"joined\" d=\"M{}\" stroke=\"#aaa\" stroke-dasharray=\"2 3\" fill=\"none\"/>\n",
                places.join("L")
            );
        }
    }
    out
}

/// Bars that show published values are hollow.
fn bars(chart: &Chart, y: &Axis) -> String {
    let room = (RIGHT - LEFT) / chart.groups.len() as f64;
    let beside = if chart.look.stacked { 1 } else { chart.series.len() };
    let width = (GROUP_SHARE * room / beside as f64).min(BAR_MAX);
    let start = |group: usize| LEFT + room * (group as f64 + 0.5) - width * beside as f64 / 2.0;
    let mut out = String::new();
    // Names that would run into each other are drawn at a slant.
    let longest = chart.groups.iter().map(|group| group.name.chars().count()).max().unwrap_or(0);
    let turned = longest as f64 * LETTER > room;
    for (n, group) in chart.groups.iter().enumerate() {
        let at = LEFT + room * (n as f64 + 0.5);
        let name = text(at, BOTTOM + 16.0, if turned { "end" } else { "middle" }, &group.name);
        let turn = format!("<text transform=\"rotate(-12 {at:.1} {:.1})\"", BOTTOM + 16.0);
        out += &if turned { name.replacen("<text", &turn, 1) } else { name };
    }
    let mut tops = vec![0.0; chart.groups.len()];
    for (place, series, color) in colored(chart) {
        for &(group, value) in &series.points {
            let number = group as usize;
            let (Some(group), Some(top)) = (chart.groups.get(number), tops.get_mut(number)) else { continue };
            let (below, above) = if chart.look.stacked { (*top, *top + value) } else { (0.0, value) };
            *top = above;
            let left = start(number) + if chart.look.stacked { 0.0 } else { width * place as f64 };
            let bottom = if below == 0.0 { y.floor() } else { y.at(below).unwrap_or(y.floor()) };
            let Some(upper) = y.at(above) else { continue };
            let fill = if group.published { "white" } else { color };
            let class = if group.published { "hollow" } else { "bar" };
            out += &format!(
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" \
                 stroke=\"{color}\"><title>{}</title></rect>\n",
                left + 1.0,
                upper.min(bottom),
                (width - 2.0).max(0.5),
                (bottom - upper).abs(),
                escaped(&format!("{}, {}: {}", group.name, series.name, short(value)))
            );
            let shown = grouped(value, if value < 10.0 { 2 } else { usize::from(value < 100.0) });
            let fits = shown.len() as f64 * LETTER <= width;
            if fits && !chart.look.stacked {
                out += &text(left + width / 2.0, upper - 4.0, "middle", &shown);
            }
            let whisker =
                chart.look.whiskers.iter().find(|one| one.series == place && one.x as usize == number);
            out += &whisker.map_or(String::new(), |one| drawn_whisker(one, left + width / 2.0, y, "#333"));
        }
    }
    out
}

fn drawn_whisker(whisker: &Whisker, x: f64, y: &Axis, color: &str) -> String {
    let Some((low, high)) = y.at(whisker.least).zip(y.at(whisker.most)) else { return String::new() };
    let (from, to) = (x - 4.0, x + 4.0);
    format!(
        "<path class=\"whisker\" d=\"M{x:.1} {low:.1}V{high:.1}M{from:.1} {low:.1}H{to:.1}M{from:.1} {high:.1}H{to:.1}\" \
         stroke=\"{color}\" fill=\"none\"><title>{} to {}</title></path>\n",
        short(whisker.least),
        short(whisker.most)
    )
}

/// A point. Each series has a shape of its own; what is published is hollow.
fn marker((x, y): (f64, f64), (number, color): (usize, &str), role: Role, told: &str) -> String {
    let m = if role == Role::Published { MARKER + 1.5 } else { MARKER - 0.5 };
    let fill = if role == Role::Published { "white" } else { color };
    let class = if role == Role::Published { "hollow" } else { "marker" };
    let look = format!("class=\"{class}\" fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"1.5\"");
    let told = format!("<title>{}</title>", escaped(told));
    match number % 4 {
        0 => format!("<circle {look} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{m:.1}\">{told}</circle>\n"),
        shape => {
            let d = match shape {
                1 => format!("M{:.1} {:.1}h{:.1}v{:.1}h{:.1}z", x - m, y - m, 2.0 * m, 2.0 * m, -2.0 * m),
                2 => format!("M{x:.1} {:.1}l{m:.1} {:.1}h{:.1}z", y - m, 2.0 * m, -2.0 * m),
                _ => format!("M{x:.1} {:.1}l{m:.1} {m:.1}l{:.1} {m:.1}l{:.1} {:.1}z", y - m, -m, -m, -m),
            };
            format!("<path {look} d=\"{d}\">{told}</path>\n")
        }
    }
}

/// The legend, and how many lines it has.
fn legend(chart: &Chart) -> (String, u32) {
    let (mut out, mut left, mut lines) = (String::new(), LEFT, 1);
    for (number, series, color) in colored(chart) {
        let width = 44.0 + LETTER * series.name.chars().count() as f64;
        if left > LEFT && left + width > WIDTH {
            (left, lines) = (LEFT, lines + 1);
        }
        let at = LEGEND + LEGEND_STEP * f64::from(lines - 1);
        let line = format!("M{left:.1} {at:.1}h18");
        out += &match role(series) {
            Role::Published => marker((left + 9.0, at), (number, color), Role::Published, &series.name),
            Role::Ideal => {
                format!("<path class=\"ideal\" d=\"{line}\" stroke=\"{color}\" stroke-dasharray=\"6 4\"/>\n")
            }
            Role::Measured if chart.groups.is_empty() => {
                let point = marker((left + 9.0, at), (number, color), Role::Measured, &series.name);
                path(&line, color, 1.5, number) + &point
            }
            Role::Measured => path(&line, color, 8.0, number),
        };
        out += &text(left + 24.0, at + 4.0, "start", &series.name);
        left += width;
    }
    (out, lines)
}

/// A value in few digits.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        _ if value.fract() == 0.0 => 0,
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 3,
        _ => 5,
    };
    grouped(value, decimals)
}

fn thinned(series: &Series, all: bool) -> Vec<(f64, f64)> {
    let stretch = if all { 1 } else { series.points.len().div_ceil(POINTS_MAX).max(1) };
    let highest = |points: &[(f64, f64)]| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    series.points.chunks(stretch).filter_map(highest).collect()
}

fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

fn grid(d: &str) -> String {
    format!("<path class=\"grid\" d=\"{d}\" stroke=\"#ddd\" fill=\"none\"/>\n")
}

fn path(d: &str, color: &str, width: f64, number: usize) -> String {
    let class = number % COLORS.len();
    format!(
        "<path class=\"s{class}\" d=\"{d}\" stroke=\"{color}\" stroke-width=\"{width}\" fill=\"none\"/>\n"
    )
}

/// A text inside SVG or HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Group, Look};

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.into(), points: points.to_vec() }
    }
    fn drawn(all: Vec<Series>, groups: &[&str], look: Look) -> String {
        let groups = groups.iter().map(|name| Group { name: (*name).into(), published: false }).collect();
        chart(&Chart { groups, look, ..Chart::lines("id", "title", "s", "words", all) })
    }
    fn count(text: &str, what: &str) -> usize {
        text.matches(what).count()
    }

    #[test]
    fn each_point_has_a_marker_that_tells_its_values() {
        let text = drawn(vec![series("run", &[(1.0, 2.0), (3.0, 1234.5)])], &[], Look::default());
        assert!(
            text.contains("<title>run: 3, 1,234</title>") || text.contains("<title>run: 3, 1,235</title>"),
            "{text}"
        );
        // Two points and the legend.
        assert_eq!(count(&text, "<circle"), 3);
        let many: Vec<(f64, f64)> = (0..100).map(|n| (f64::from(n), 1.0)).collect();
        assert_eq!(count(&drawn(vec![series("run", &many)], &[], Look::default()), "<circle"), 1);
    }

    #[test]
    fn what_is_published_lies_over_what_is_measured_and_what_is_ideal_is_dashed() {
        let points = [(1.0, 1.0), (2.0, 2.0)];
        let names = ["published, at least", "run", "ideal"];
        let text = drawn(names.map(|name| series(name, &points)).to_vec(), &[], Look::default());
        let last_measured = text.rfind("class=\"marker\"").expect("markers of the run, and its legend");
        let published = text.find("class=\"hollow\"").expect("published points");
        let measured = text.find("class=\"marker\"").expect("markers");
        assert!(measured < published && published < last_measured, "{text}");
        assert_eq!(count(&text, "class=\"ideal\""), 2);
    }

    #[test]
    fn parts_stand_on_each_other() {
        let look = Look { stacked: true, ..Look::default() };
        let parts = vec![series("a", &[(0.0, 60.0)]), series("b", &[(0.0, 40.0)])];
        let text = drawn(parts, &["one"], look);
        let height = |of: &str| -> (f64, f64) {
            let at = text.find(&format!("one, {of}: ")).expect("a bar");
            let tag = &text[text[..at].rfind("<rect").expect("its tag")..at];
            let number = |name: &str| {
                let from = tag.find(&format!(" {name}=\"")).expect("an attribute") + name.len() + 3;
                tag[from..].split('"').next().and_then(|text| text.parse().ok()).expect("a number")
            };
            (number("y"), number("height"))
        };
        let ((a_top, a_height), (b_top, b_height)) = (height("a"), height("b"));
        assert!(
            (b_top + b_height - a_top).abs() < 0.11 && (a_top + a_height - BOTTOM).abs() < 0.11,
            "{text}"
        );
        // Together they are a hundred: the axis ends there.
        assert!((b_top - TOP).abs() < 0.11, "{text}");
    }

    #[test]
    fn axes_of_factors_leave_out_what_has_no_place() {
        let look = Look { log_x: true, log_y: true, ..Look::default() };
        let text =
            drawn(vec![series("run", &[(0.0, 5.0), (1.0, 10.0), (8.0, -3.0), (16.0, 100.0)])], &[], look);
        assert_eq!(count(&text, "<circle"), 3, "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn whiskers_and_joined_points() {
        let whiskers = vec![Whisker { series: 0, x: 1.0, least: 1.0, most: 3.0 }];
        let look = Look { whiskers, joined: true, ..Look::default() };
        let text = drawn(["a", "b"].map(|name| series(name, &[(1.0, 2.0), (2.0, 4.0)])).to_vec(), &[], look);
        assert_eq!((count(&text, "class=\"whisker\""), count(&text, "class=\"joined\"")), (1, 2));
        assert!(text.contains("<title>1 to 3</title>"), "{text}");
    }
}
