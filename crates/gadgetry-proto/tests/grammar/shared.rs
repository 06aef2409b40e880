//! What the tests of grammars share: a set of tools, its grammar, and how a reply is read.

use std::sync::Arc;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::call::Parameters;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::dialect::{Dialect, find};
use gadgetry_proto::grammar::{GrammarError, GrammarLimits, GrammarSpec, GrammarTool};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::message::ToolChoice;
use gadgetry_proto::reply::{Format, Reader, Verdict};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use serde_json::Value;

use crate::support::gbnf::Grammar;

/// Tools with their compiled schemas.
#[derive(Clone)]
pub(super) struct Tools {
    named: Vec<(String, Value)>,
    registry: Arc<Registry>,
    pub(super) markers: Markers,
    pub(super) limits: GrammarLimits,
}

impl Tools {
    pub(super) fn new(named: Vec<(String, Value)>, markers: Markers) -> Self {
        let specs = named.iter().map(|(name, schema)| GadgetSpec {
            name: name.clone(),
            parameters: schema.clone(),
            ..GadgetSpec::default()
        });
        let registry = Registry::new(specs).expect("valid tools");
        Self {
            registry: Arc::new(registry),
            named,
            markers,
            limits: GrammarLimits::default(),
        }
    }

    /// One tool `T`.
    pub(super) fn one(schema: &Value) -> Self {
        Self::new(vec![("T".to_owned(), schema.clone())], Markers::default())
    }

    pub(super) fn text(&self, form: CallForm, choice: &ToolChoice, is_single: bool) -> String {
        self.with_spec(form, choice, is_single, |spec| {
            spec.gbnf().expect("a grammar")
        })
    }

    /// The grammar of one call.
    pub(super) fn try_text(
        &self,
        form: CallForm,
        choice: &ToolChoice,
    ) -> Result<String, GrammarError> {
        self.with_spec(form, choice, true, |spec| spec.gbnf())
    }

    pub(super) fn tag(&self, form: CallForm, choice: &ToolChoice) -> Value {
        self.with_spec(form, choice, false, |spec| {
            spec.structural_tag().expect("a tag")
        })
    }

    fn with_spec<T>(
        &self,
        form: CallForm,
        choice: &ToolChoice,
        is_single: bool,
        use_it: impl FnOnce(GrammarSpec<'_>) -> T,
    ) -> T {
        let tools = self.named.iter().map(|(name, schema)| GrammarTool {
            name,
            schema,
            multiline: &[],
        });
        use_it(GrammarSpec {
            tools: &tools.collect::<Vec<_>>(),
            form,
            markers: &self.markers,
            choice,
            is_single,
            limits: self.limits,
        })
    }

    pub(super) fn grammar(&self, form: CallForm, choice: &ToolChoice, is_single: bool) -> Grammar {
        Grammar::new(&self.text(form, choice, is_single))
    }

    /// Parameters of the first tool as the check of its schema returns them.
    pub(super) fn check(&self, parameters: Value) -> Result<Value, String> {
        let gadget = self.registry.get(&self.named[0].0).expect("it is there");
        gadget.check(parameters)
    }

    /// The calls in a reply: each valid, or what is wrong with it.
    pub(super) fn calls(&self, form: CallForm, text: &str) -> Vec<Result<Value, String>> {
        if form == CallForm::Block {
            self.blocks(text)
        } else {
            self.json_calls(text)
        }
    }

    fn blocks(&self, text: &str) -> Vec<Result<Value, String>> {
        let format = Format {
            markers: Some(self.markers.clone()),
            anchoring: Anchoring::LineStart,
            ..Format::default()
        };
        let registry = Arc::clone(&self.registry);
        let mut reader = Reader::new(format, Vec::new(), registry).expect("a format");
        let mut out = Vec::new();
        reader.push(Delta::text(text), &mut out);
        let _ = reader.finish(&mut out);
        let calls = out.iter().filter_map(|delta| {
            let Delta::GadgetCall(call) = delta else {
                return None;
            };
            Some(match reader.check(call) {
                Verdict::Valid(parameters) => Ok(parameters),
                other @ (Verdict::NeedsResults | Verdict::Invalid(_)) => Err(format!("{other:?}")),
            })
        });
        calls.collect()
    }

    fn json_calls(&self, text: &str) -> Vec<Result<Value, String>> {
        let calls = find(text, &self.registry, &Limits::default());
        let calls = calls
            .into_iter()
            .filter(|call| call.dialect == Dialect::Hermes);
        let calls = calls.map(|call| match call.parameters {
            Parameters::Parsed(parameters) => {
                if !call.is_whole {
                    return Err("it is cut".to_owned());
                }
                let gadget = self.registry.get(&call.gadget_name).ok_or("no such tool")?;
                gadget.check(parameters)
            }
            Parameters::Malformed(error) => Err(error),
        });
        calls.collect()
    }
}

/// Numbers below an argument, the same ones for a seed.
pub(super) fn random(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    }
}

/// Runs a check whose reader of grammars recurses as deep as its texts are long.
pub(super) fn with_deep_stack(check: fn()) {
    let thread = std::thread::Builder::new().stack_size(1 << 30);
    let done = thread.spawn(check).expect("a thread").join();
    if let Err(problem) = done {
        std::panic::resume_unwind(problem);
    }
}
