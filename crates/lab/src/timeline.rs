//! A time line of workers as SVG: what each did when.

use crate::svg::escaped;

/// What a worker did.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Which worker.
    pub worker: u32,
    /// What it did.
    pub name: String,
    /// From when, in microseconds.
    pub at: f64,
    /// How long, in microseconds.
    pub lasted: f64,
}

const WIDTH: usize = 720;
const LEFT: usize = 76;
const TOP: usize = 40;
const TRACK: usize = 44;
const LEGEND_STEP: usize = 150;
/// What is drawn, and how; what comes later is drawn over what comes before.
const KINDS: [(&str, &str); 5] = [
    ("reducing", "#009e73"),
    ("resting", "#dddddd"),
    ("stopping", "#e69f00"),
    ("collecting", "#d55e00"),
    ("stopped", "#cc79a7"),
];

/// Which of them a span is.
fn kind(name: &str) -> Option<usize> {
    Some(match name {
        "reducing" => 0,
        "resting" | "waiting for events outside" => 1,
        "stopping the others" => 2,
        "minor collection" | "major collection" | "copying" => 3,
        "stopped" | "waiting for the others" => 4,
        _ => return None,
    })
}

/// The time line of a part of a run, from one time to another, in microseconds. Each stripe shows what the worker did
/// most of its time.
pub fn svg(title: &str, spans: &[Span], (from, to): (f64, f64)) -> String {
    let workers = spans.iter().map(|span| span.worker + 1).max().unwrap_or(0) as usize;
    let columns = WIDTH - LEFT - 36;
    let column = (to - from).max(1e-9) / columns as f64;
    let mut shares = vec![vec![[0.0; KINDS.len()]; columns]; workers];
    for (span, kind) in spans.iter().filter_map(|span| Some((span, kind(&span.name)?))) {
        let (begin, end) = ((span.at - from) / column, (span.at + span.lasted - from) / column);
        let last = (end.max(0.0) as usize).min(columns.saturating_sub(1));
        for at in (begin.max(0.0) as usize).min(columns)..=last {
            let covered = end.min(at as f64 + 1.0) - begin.max(at as f64);
            if let Some(share) = shares[span.worker as usize].get_mut(at) {
                share[kind] += covered.max(0.0);
            }
        }
    }
    let axis = TOP + TRACK * workers;
    let height = axis + 62;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"{0}\">\n<rect width=\"100%\" \
         height=\"100%\" fill=\"white\"/>\n<text x=\"{1}\" y=\"18\" text-anchor=\"middle\">{0}</text>\n",
        escaped(title),
        WIDTH / 2
    );
    for (worker, stripes) in shares.iter().enumerate() {
        let top = TOP + TRACK * worker;
        out += &format!("<text x=\"8\" y=\"{}\">worker {worker}</text>\n", top + 22);
        let most = |shares: &[f64; KINDS.len()]| {
            // A collection is short beside what it interrupts, and matters more.
            let best = (0..KINDS.len())
                .max_by(|a, b| (shares[*a] * weight(*a)).total_cmp(&(shares[*b] * weight(*b))));
            best.filter(|kind| shares[*kind] > 0.0)
        };
        let mut at = 0;
        while at < columns {
            let shown = most(&stripes[at]);
            let end = (at..columns).find(|next| most(&stripes[*next]) != shown).unwrap_or(columns);
            if let Some(kind) = shown {
                let (name, color) = KINDS[kind];
                out += &format!(
                    "<rect x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"{color}\"><title>{name}</title></rect>\n",
                    LEFT + at,
                    end - at,
                    TRACK - 12
                );
            }
            at = end;
        }
    }
    for tick in 0..=4 {
        let x = LEFT + columns * tick / 4;
        let millis = (to - from) * tick as f64 / 4.0 / 1e3;
        out += &format!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{millis:.1} ms</text>\n", axis + 12);
    }
    for (number, (name, color)) in KINDS.iter().enumerate() {
        let (x, y) = (LEFT + LEGEND_STEP * number * 4 / 5, axis + 34);
        out += &format!("<rect x=\"{x}\" y=\"{y}\" width=\"14\" height=\"14\" fill=\"{color}\"/>\n");
        out += &format!("<text x=\"{}\" y=\"{}\">{name}</text>\n", x + 20, y + 12);
    }
    out + "</svg>\n"
}

/// How much more a kind matters than its time.
fn weight(kind: usize) -> f64 {
    if kind >= 2 { 4.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_show_what_workers_did() {
        let span = |worker, name: &str, at, lasted| Span { worker, name: name.into(), at, lasted };
        let spans = [
            span(0, "reducing", 0.0, 500.0),
            span(0, "minor collection", 500.0, 500.0),
            span(1, "resting", 0.0, 1000.0),
            span(1, "gives goals", 3.0, 1.0),
        ];
        let text = svg("a <run>", &spans, (0.0, 1000.0));
        for what in
            ["a &lt;run&gt;", "worker 1", "<title>reducing</title>", "<title>collecting</title>", "1.0 ms"]
        {
            assert!(text.contains(what), "{what}: {text}");
        }
        assert_eq!(text.matches("<title>").count(), 3, "{text}");
        assert!(svg("nothing", &[], (0.0, 0.0)).ends_with("</svg>\n"));
        // What lies outside of the part is not drawn.
        assert!(!svg("later", &spans, (2000.0, 3000.0)).contains("<title>"));
    }
}
