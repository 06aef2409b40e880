//! Names that the input line completes.

/// Names that complete the arguments of commands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Names {
    /// Models that can be used now.
    pub(crate) models: Vec<String>,
    /// The other models of the catalogue.
    pub(crate) other_models: Vec<String>,
    /// With a note at the one in use.
    pub(crate) profiles: Vec<(String, String)>,
    /// The skills, with their descriptions.
    pub(crate) skills: Vec<(String, String)>,
    /// Other sessions of the folder, once they were listed; with their first messages.
    pub(crate) sessions: Vec<(String, String)>,
    /// Skills, and commands by files, as `/name`; with their descriptions.
    pub(crate) named: Vec<(String, String)>,
}

impl Names {
    /// Returns whether a model of this name is listed, with its provider or without.
    pub(crate) fn has_model(&self, name: &str) -> bool {
        let is_it = |listed: &String| {
            let model = listed.split_once(':').map(|(_, model)| model);
            listed == name || model == Some(name)
        };
        self.models.iter().chain(&self.other_models).any(is_it)
    }
}
