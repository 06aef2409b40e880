//! What happens between a block of a reply and a gadget, without a run.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use gadgetry::proto::call::Outcome;
use gadgetry::proto::limits::Limits;
use gadgetry::proto::prompt::parameter_list;
use gadgetry::proto::schema::parameters;
use gadgetry::schemars::JsonSchema;
use gadgetry::serde::de::DeserializeOwned;
use gadgetry::{
    CancellationToken, ExecutionContext, Gadget, GadgetError, GadgetInfo, IntoGadget, Invocation,
    Toolbox,
};
use serde_json::Value;

/// Types that derive what parameters need, with nothing but gadgetry.
macro_rules! params {
    ($($item:item)*) => { $(
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(crate = "gadgetry::serde")]
        #[schemars(crate = "gadgetry::schemars")]
        #[allow(dead_code, reason = "the fields are read by their Debug")]
        $item
    )* };
}

pub(crate) use params;

/// A gadget that says what it was given, as Rust would write it.
pub(crate) struct Probe<P>(PhantomData<fn() -> P>);

impl<P> Default for Probe<P> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<P: DeserializeOwned + JsonSchema + Debug + Send + 'static> Gadget for Probe<P> {
    type Params = P;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new("Probe", "Says what it was given")
    }

    async fn execute(&self, params: P, _: ExecutionContext) -> Result<String, GadgetError> {
        Ok(format!("{params:?}"))
    }
}

/// What a refusal of serde begins with.
const REFUSED: &str = "Error: Invalid parameters for 'Probe':\n  - ";

/// Executes a gadget with parameters that nobody has checked.
pub(crate) async fn execute(gadget: impl IntoGadget, parameters: Value) -> Outcome {
    let gadget = gadget.into_gadget();
    let invocation = Invocation {
        gadget_name: gadget.spec().name.clone(),
        invocation_id: "t".into(),
        parameters,
        dependencies: BTreeMap::new(),
    };
    let context = ExecutionContext::new(&invocation, CancellationToken::new());
    invocation.execute(gadget.as_ref(), context).await
}

/// Checks parameters of type `P` on their whole way: the lines that the model reads about them, and for each call,
/// which are the arguments of a block, what the gadget got or what is wrong.
#[track_caller]
pub(crate) fn check<P>(catalog: &[&str], calls: &[(&[(&str, &str)], &str)])
where
    P: DeserializeOwned + JsonSchema + Debug + Send + 'static,
{
    let mut toolbox = Toolbox::default();
    toolbox.add(Probe::<P>::default()).unwrap();
    let registered = toolbox.registry().get("probe").unwrap();
    let told = parameter_list(&registered.spec().parameters);
    assert_eq!(
        told.lines().collect::<Vec<_>>(),
        catalog,
        "{}",
        registered.spec().parameters
    );
    for (arguments, expected) in calls {
        let schema = registered.schema();
        let arguments = arguments.iter().copied();
        let built = parameters(arguments, Some(schema), "!!!ARG:", &Limits::default());
        let mut built = built.unwrap();
        schema.apply_defaults(&mut built);
        let problems = schema.validate(&built);
        let got = if problems.is_empty() {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let outcome = runtime
                .unwrap()
                .block_on(execute(Probe::<P>::default(), built));
            outcome
                .result
                .unwrap_or_else(|error| error.replace(REFUSED, "serde: "))
        } else {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            problems.join("\n")
        };
        assert_eq!(got, *expected);
    }
}
