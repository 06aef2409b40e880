//! Names of gadgets as the tools of a provider.

use std::collections::BTreeMap;

use gadgetry_proto::schema::GadgetSpec;

/// The maximum length of a tool's name, at the providers that have one.
const LENGTH: usize = 64;

/// Maps names of gadgets to names of tools, which have only letters, digits, `_` and `-`, and back.
///
/// ```
/// use gadgetry::proto::schema::GadgetSpec;
/// use gadgetry::provider::tools::ToolNames;
/// let spec = GadgetSpec { name: "math.add".into(), ..GadgetSpec::default() };
/// let names = ToolNames::of(&[spec]);
/// assert_eq!(names.sent("math.add"), "math_add");
/// assert_eq!(names.meant("math_add"), "math.add");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    sent: BTreeMap<String, String>,
    meant: BTreeMap<String, String>,
}

impl ToolNames {
    /// The names of `gadgets`. Tool names that would be equal get a number.
    pub fn of(gadgets: &[GadgetSpec]) -> Self {
        let mut names = Self::default();
        for gadget in gadgets {
            let plain = plain(&gadget.name);
            let mut sent = plain.clone();
            for number in 2.. {
                if !names.meant.contains_key(&sent) {
                    break;
                }
                let suffix = format!("_{number}");
                let kept = plain.len().min(LENGTH - suffix.len());
                sent = format!("{}{suffix}", &plain[..kept]);
            }
            names.meant.insert(sent.clone(), gadget.name.clone());
            names.sent.insert(gadget.name.clone(), sent);
        }
        names
    }

    /// The tool name of a gadget, also of one that is no longer offered.
    pub fn sent(&self, name: &str) -> String {
        self.sent.get(name).cloned().unwrap_or_else(|| plain(name))
    }

    /// The gadget that a tool's name means; an unknown name is unchanged.
    pub fn meant<'n>(&'n self, name: &'n str) -> &'n str {
        self.meant.get(name).map_or(name, String::as_str)
    }
}

fn plain(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(LENGTH).collect();
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}
