//! Best settings of a model: tables `[models."NAME"]`, which `gadgetry eval --save` writes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use gadgetry::proto::call_form::CallForm;
use gadgetry::proto::prompt::MAX_EXAMPLES;
use gadgetry::proto::schema::closest;
use gadgetry::provider::Resolver;
use serde::Serialize;
use toml_edit::{DocumentMut, Item as TomlItem, Table, value};

use super::end_of_file::EndOfFile;
use super::rewrite::rewrite;
use super::value::{Entry, Item, Value};
use crate::error::Error;
use crate::options::Value as Given;
use crate::options::{Definitions, MODEL, Origin, Place, Setting, Settings, Source};

/// Settings of one model. What is absent is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ModelSettings {
    /// The form of calls that the prompt demands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) form: Option<CallForm>,
    /// Number of worked turns before a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) examples: Option<usize>,
    /// Use of a grammar with servers that take one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) constrain: Option<Constrain>,
    /// The markers of blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) markers: Option<ModelMarkers>,
    /// Form of calls: text or native tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<ModelTools>,
}

/// A word of a fixed list.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub(crate) enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }
    };
}

words!(
    /// Use of a grammar to constrain replies.
    Constrain {
        /// Only where the server takes one.
        Auto = "auto",
        /// No reply is constrained.
        Off = "off"
    }
);
words!(
    /// The markers of blocks.
    ModelMarkers {
        /// Different in each run.
        Random = "random",
        /// Markers of the specification.
        Plain = "plain"
    }
);
words!(
    /// Form of calls.
    ModelTools {
        /// As text, which any model can write.
        Text = "text",
        /// As native tool calls.
        Native = "native"
    }
);

const KEYS: [&str; 5] = ["form", "examples", "constrain", "markers", "tools"];

impl ModelSettings {
    /// The keys that are set, with their values as options of the command line have them.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let [form, examples, constrain, markers, tools] = KEYS;
        let pairs = [
            (form, self.form.map(|it| it.to_string())),
            (examples, self.examples.map(|it| it.to_string())),
            (constrain, self.constrain.map(|it| it.to_string())),
            (markers, self.markers.map(|it| it.to_string())),
            (tools, self.tools.map(|it| it.to_string())),
        ];
        let pairs = pairs.into_iter();
        pairs
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

/// The tables of the models, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelTables(BTreeMap<String, (ModelSettings, Place)>);

impl ModelTables {
    /// Adds the tables of a stronger file, which replace those of the same name.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Iterates over the models, with the position of each table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ModelSettings, &Place)> {
        let all = self.0.iter();
        all.map(|(name, (settings, place))| (name.as_str(), settings, place))
    }

    /// The settings by the names of models without their provider. Of two tables for one model, the last one has no provider.
    pub(crate) fn by_model(&self) -> impl Iterator<Item = (&str, &ModelSettings)> {
        let all = self
            .iter()
            .map(|(name, settings, _)| (parts(name), settings));
        let (own, of_provider): (Vec<_>, Vec<_>) = all.partition(|((it, _), _)| it.is_none());
        let all = of_provider.into_iter().chain(own);
        all.map(|((_, model), settings)| (model, settings))
    }

    /// The settings of a model, by a name as `--model` takes it. A table whose name has no provider counts for the model of every
    /// provider, and a name without provider finds the table of any, unless there is one of exactly that name.
    pub(crate) fn model_settings(&self, name: &str) -> ModelSettings {
        let found = self.found(name);
        found.map(|(settings, _)| *settings).unwrap_or_default()
    }

    /// Adds what the table of the chosen model says to the settings of an agent, where nothing else says it.
    pub(crate) fn add_to(&self, settings: &mut Settings, options: &Definitions) {
        let found = settings.text(MODEL).and_then(|name| self.found(name));
        let Some((of_model, place)) = found else {
            return;
        };
        for (key, value) in of_model.pairs() {
            let is_other_way = key == "markers"
                && ["start", "end", "arg"]
                    .into_iter()
                    .any(|it| settings.has(it));
            if settings.has(key) || is_other_way || options.get(key).is_none() {
                continue;
            }
            let source = Source::File(Origin::User, place.clone());
            settings.insert(key, Setting::new(Given::text(value), source));
        }
    }

    fn found(&self, name: &str) -> Option<&(ModelSettings, Place)> {
        let exact = self.0.get(name);
        exact.or_else(|| {
            let (provider, model) = parts(name);
            let is_it = |table: &&String| {
                let (of_table, model_of_table) = parts(table);
                let is_one = match (provider, of_table) {
                    (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
                    _ => true,
                };
                model == model_of_table && is_one
            };
            let table = self.0.keys().find(is_it)?;
            self.0.get(table)
        })
    }
}

/// The provider before the colon, if it is one, and the rest. A shortcut is the name that it abbreviates.
fn parts(name: &str) -> (Option<&str>, &str) {
    let mut shortcuts = Resolver::shortcuts();
    let full = shortcuts.find(|(short, _)| *short == name);
    let name = full.map_or(name, |(_, full)| full);
    let Some((prefix, model)) = name.split_once(':') else {
        return (None, name);
    };
    let mut known = Resolver::providers();
    if known.any(|it| it.eq_ignore_ascii_case(prefix)) {
        (Some(prefix), model)
    } else {
        (None, name)
    }
}

/// Reads `[models]`.
pub(super) fn models(item: &Item) -> Result<ModelTables, Error> {
    let mut tables = BTreeMap::new();
    for Entry { key, place, item } in item.table("models")? {
        let settings = settings(item.table(&format!("models.{key:?}"))?)?;
        tables.insert(key.clone(), (settings, place.clone()));
    }
    Ok(ModelTables(tables))
}

fn settings(entries: &[Entry]) -> Result<ModelSettings, Error> {
    let mut settings = ModelSettings::default();
    for entry in entries {
        let item = &entry.item;
        match entry.key.as_str() {
            "form" => {
                let form = item.text("form")?.parse();
                settings.form = Some(form.map_err(|problem| item.place.error(problem))?);
            }
            "examples" => settings.examples = Some(examples(item)?),
            "constrain" => settings.constrain = Some(word(entry, Constrain::ALL)?),
            "markers" => settings.markers = Some(word(entry, ModelMarkers::ALL)?),
            "tools" => settings.tools = Some(word(entry, ModelTools::ALL)?),
            key => {
                let hint = match closest(key, KEYS).first() {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("a model has {}", KEYS.join(", ")),
                };
                let problem = format_args!("unknown key {key}; {hint}");
                return Err(entry.place.error(problem));
            }
        }
    }
    Ok(settings)
}

fn examples(item: &Item) -> Result<usize, Error> {
    let Value::Number(digits) = &item.value else {
        return Err(item.wrong_type("examples", "a number"));
    };
    let count = digits.parse().ok().filter(|it| *it <= MAX_EXAMPLES);
    count.ok_or_else(|| {
        let problem = format_args!("examples is {digits}; expected 0 to {MAX_EXAMPLES}");
        item.place.error(problem)
    })
}

fn word<T: Copy>(entry: &Entry, all: &[(&str, T)]) -> Result<T, Error> {
    let text = entry.item.text(&entry.key)?;
    let found = all.iter().find(|(word, _)| *word == text);
    found.map(|(_, it)| *it).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(|(word, _)| format!("{word:?}")).collect();
        let problem = format_args!("{} is {text:?}; expected {}", entry.key, words.join(" or "));
        entry.item.place.error(problem)
    })
}

/// Writes the settings of a model to its table in a file, which is created if it is not there. Keys that are not set are removed;
/// everything else in the file stays as it is.
///
/// `Err` is what is wrong, in one line.
pub(crate) fn save_model(path: &Path, name: &str, settings: &ModelSettings) -> Result<(), String> {
    rewrite(path, |text| Ok((with_model(text, name, settings)?, ())))
}

fn with_model(text: &str, name: &str, settings: &ModelSettings) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let mut end = EndOfFile::of(&document);
    let models = document.entry("models").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        TomlItem::Table(table)
    });
    let models = models.as_table_like_mut();
    let models = models.ok_or("models is not a table")?;
    if !models.contains_key(name) {
        models.insert(name, TomlItem::Table(Table::new()));
        // In an inline table it is inline.
        if let Some(table) = models.get_mut(name).and_then(TomlItem::as_table_mut) {
            end.append(table);
        }
    }
    let table = models.get_mut(name).and_then(TomlItem::as_table_like_mut);
    let table = table.ok_or_else(|| format!("models.{name:?} is not a table"))?;
    let pairs = settings.pairs();
    for key in KEYS {
        let Some((_, word)) = pairs.iter().find(|(it, _)| *it == key) else {
            table.remove(key);
            continue;
        };
        let new = match settings.examples.filter(|_| key == "examples") {
            Some(count) => value(i64::try_from(count).unwrap_or_default()),
            None => value(word),
        };
        match table.get_mut(key).and_then(TomlItem::as_value_mut) {
            // Its comment stays.
            Some(old) => {
                let decor = old.decor().clone();
                if let Ok(mut new) = new.into_value() {
                    *new.decor_mut() = decor;
                    *old = new;
                }
            }
            None => drop(table.insert(key, new)),
        }
    }
    Ok(end.written(document))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn read(text: &str) -> Result<ModelTables, String> {
        let file: Arc<str> = "c.toml".into();
        let entries = super::super::value::parse(text, &file).map_err(|it| it.to_string())?;
        models(&entries[0].item).map_err(|it| it.to_string())
    }

    #[test]
    fn tables_of_models() {
        let check = |line: &str, expected: Result<&str, &str>| {
            let found = read(&format!("[models.\"m\"]\n{line}\n"));
            let pairs = found.map(|it| {
                let pairs = it.model_settings("m").pairs();
                let pairs = pairs.iter().map(|(key, value)| format!("{key}={value}"));
                pairs.collect::<Vec<_>>().join(" ")
            });
            let pairs = pairs.as_deref().map_err(String::as_str);
            assert_eq!(pairs, expected, "{line}");
        };
        check("", Ok(""));
        check("form = 'json'\nexamples = 2", Ok("form=json examples=2"));
        check(
            "constrain = 'off'\nmarkers = 'plain'\ntools = 'native'",
            Ok("constrain=off markers=plain tools=native"),
        );
        check(
            "form = 'yaml'",
            Err("c.toml:2:8: unknown form of calls \"yaml\"; available: block and json"),
        );
        check(
            "form = 1",
            Err("c.toml:2:8: form is a number; expected a text"),
        );
        check(
            "examples = 3",
            Err("c.toml:2:12: examples is 3; expected 0 to 2"),
        );
        check(
            "examples = -1",
            Err("c.toml:2:12: examples is -1; expected 0 to 2"),
        );
        check(
            "examples = 'two'",
            Err("c.toml:2:12: examples is a text; expected a number"),
        );
        check(
            "constrain = 'always'",
            Err("c.toml:2:13: constrain is \"always\"; expected \"auto\" or \"off\""),
        );
        check(
            "marker = 'plain'",
            Err("c.toml:2:1: unknown key marker; did you mean markers?"),
        );
        check(
            "temperature = 1",
            Err(
                "c.toml:2:1: unknown key temperature; a model has form, examples, constrain, markers, tools",
            ),
        );
        let error = read("[models]\nm = 1\n").expect_err("it is no table");
        assert_eq!(
            error,
            "c.toml:2:5: models.\"m\" is a number; expected a table"
        );
    }

    #[test]
    fn a_model_by_its_names() {
        let tables = read(
            "[models.smollm2]\nexamples = 1\n[models.'ollama:llama3:8b']\nexamples = 2\n[models.'vllm:llama3:8b']\nexamples = 0\n\
             [models.haiku]\nform = 'json'\n",
        );
        let tables = tables.expect("tables");
        let check = |name: &str, examples: Option<usize>| {
            assert_eq!(tables.model_settings(name).examples, examples, "{name}");
        };
        check("smollm2", Some(1));
        check("llamacpp:smollm2", Some(1));
        check("other", None);
        check("ollama:llama3:8b", Some(2));
        check("vllm:llama3:8b", Some(0));
        check("llama3:8b", Some(2));
        check("groq:llama3:8b", None);
        check("Ollama:llama3:8b", Some(2));
        check("llama3", None);
        let full = Resolver::shortcuts().find(|(short, _)| *short == "haiku");
        let (_, full) = full.expect("a shortcut");
        assert_eq!(tables.model_settings(full).form, Some(CallForm::Json));
    }

    #[test]
    fn a_model_is_saved() {
        let settings = ModelSettings {
            form: Some(CallForm::Json),
            examples: Some(2),
            constrain: Some(Constrain::Auto),
            markers: None,
            tools: Some(ModelTools::Text),
        };
        let check = |before: &str, expected: Result<&str, &str>| {
            let changed = with_model(before, "ollama:llama3:8b", &settings);
            let changed = changed.as_deref().map_err(String::as_str);
            assert_eq!(changed, expected, "{before}");
        };
        let table = "[models.\"ollama:llama3:8b\"]\nform = \"json\"\nexamples = 2\nconstrain = \"auto\"\ntools = \"text\"\n";
        check("", Ok(table));
        // What was written is read again.
        let read = read(table).expect("a table");
        assert_eq!(read.model_settings("ollama:llama3:8b"), settings);
        for before in [
            "# Mine.\nmodel = 'x' # fast\n",
            "model = 'x'\n\n# quiet = true\n",
            "[models.other]\nform = 'block' # good\n",
        ] {
            check(before, Ok(&format!("{before}\n{table}")));
        }
        check(
            "[models.\"ollama:llama3:8b\"] # mine\n# why\nexamples = 0 # none\nmarkers = 'plain'\n\n[agent]\nquiet = true\n",
            Ok(
                "[models.\"ollama:llama3:8b\"] # mine\n# why\nexamples = 2 # none\nform = \"json\"\nconstrain = \"auto\"\n\
                 tools = \"text\"\n\n[agent]\nquiet = true\n",
            ),
        );
        check("models = 1", Err("models is not a table"));
        check(
            "[models]\n'ollama:llama3:8b' = 1",
            Err("models.\"ollama:llama3:8b\" is not a table"),
        );
        assert!(with_model("[", "m", &settings).is_err());
    }
}
