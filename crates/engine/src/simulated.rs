//! Simulated machines by their names: `multipsi:16,reduction=41us`.

use distribution::{Depth, Model};
use std::fmt;
use std::str::FromStr;

/// A machine that is known, how many nodes it has, and what is different from what it is by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulate {
    family: Family,
    pub(crate) nodes: u32,
    /// Nanoseconds of a reduction.
    reduction: Option<u32>,
    depth: Option<Depth>,
    black: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    MultiPsi,
    Pim,
}

const DEPTHS: [(&str, Depth); 3] =
    [("off", Depth::Off), ("level", Depth::OneLevel), ("adaptive", Depth::Adaptive)];
const TABLES: [(&str, bool); 2] = [("white", false), ("black", true)];

impl Simulate {
    /// What the machine is like; there is none of a number of nodes that is no square.
    pub fn model(self) -> Option<Model> {
        let mut model = match self.family {
            Family::MultiPsi => Model::multi_psi(self.nodes),
            Family::Pim => Model::pim(self.nodes),
        }?;
        model.reduction = self.reduction.map_or(model.reduction, f64::from);
        model.depth = self.depth.unwrap_or(model.depth);
        model.black = self.black.unwrap_or(model.black);
        Some(model)
    }

    fn set(&mut self, setting: &str) -> Result<(), String> {
        let unknown = || {
            format!(
                "`{setting}` is no setting; write reduction=41us (1ns to 1000000us), depth=off, depth=level, \
                 depth=adaptive, tables=white or tables=black"
            )
        };
        let (name, value) = setting.split_once('=').ok_or_else(unknown)?;
        match name {
            "reduction" => self.reduction = Some(nanoseconds(value).ok_or_else(unknown)?),
            "depth" => self.depth = Some(named(&DEPTHS, value).ok_or_else(unknown)?),
            "tables" => self.black = Some(named(&TABLES, value).ok_or_else(unknown)?),
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// A time from 1 ns to 1 s.
fn nanoseconds(text: &str) -> Option<u32> {
    let (digits, unit) = match text.strip_suffix("us") {
        Some(digits) => (digits, 1000),
        None => (text.strip_suffix("ns")?, 1),
    };
    let time = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    (1..=1_000_000_000).contains(&time).then_some(time)
}

impl FromStr for Simulate {
    type Err = String;
    fn from_str(text: &str) -> Result<Simulate, String> {
        let mut parts = text.split(',');
        let machine = parts.next().unwrap_or_default();
        let unknown = || format!("`{machine}` is no machine; write multipsi:16 or pim:16");
        let (family, nodes) = machine.split_once(':').ok_or_else(unknown)?;
        let family = match family {
            "multipsi" => Family::MultiPsi,
            "pim" => Family::Pim,
            _ => return Err(unknown()),
        };
        let square =
            || format!("`{nodes}` nodes: they make a square, so 4, 9, 16, 25 or any other up to 1600");
        let count = nodes.parse().map_err(|_| square())?;
        let mut simulate = Simulate { family, nodes: count, reduction: None, depth: None, black: None };
        if simulate.model().is_none() {
            return Err(square());
        }
        parts.try_for_each(|setting| simulate.set(setting))?;
        Ok(simulate)
    }
}

impl fmt::Display for Simulate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::MultiPsi => "multipsi",
            Family::Pim => "pim",
        };
        write!(f, "{family}:{}", self.nodes)?;
        if let Some(time) = self.reduction {
            write!(f, ",reduction={time}ns")?;
        }
        if let Some((name, _)) = DEPTHS.iter().find(|(_, depth)| Some(*depth) == self.depth) {
            write!(f, ",depth={name}")?;
        }
        if let Some((name, _)) = TABLES.iter().find(|(_, black)| Some(*black) == self.black) {
            write!(f, ",tables={name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_names_and_sizes_and_settings() {
        for known in [
            "multipsi:4",
            "multipsi:1600",
            "pim:64",
            "multipsi:16,reduction=41000ns",
            "pim:9,depth=level",
            "pim:9,reduction=1ns,depth=adaptive,tables=black",
        ] {
            assert_eq!(known.parse::<Simulate>().map(|machine| machine.to_string()), Ok(known.into()));
        }
        for wrong in [
            "",
            "multipsi",
            "multipsi:1",
            "multipsi:8",
            "multipsi:1681",
            "multipsi:-4",
            "cm5:16",
            "pim:x",
            "pim:9,",
            "pim:9,reduction",
            "pim:9,reduction=41",
            "pim:9,reduction=0us",
            "pim:9,reduction=5000000us",
            "pim:9,depth=2",
            "pim:9,colour=black",
        ] {
            assert!(wrong.parse::<Simulate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_change_the_model() {
        let model = |text: &str| text.parse::<Simulate>().expect("known").model().expect("a square");
        let (plain, set) =
            (model("multipsi:16"), model("multipsi:16,reduction=41us,depth=adaptive,tables=black"));
        assert_eq!((plain.reduction, plain.depth, plain.black), (22_000.0, Depth::Off, false));
        assert_eq!((set.reduction, set.depth, set.black), (41_000.0, Depth::Adaptive, true));
    }
}
