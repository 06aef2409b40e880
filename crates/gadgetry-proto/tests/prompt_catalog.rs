//! What the model is told of gadgets: exact texts.

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::prompt::{
    CallStyle, CatalogEntry, CatalogExample, MAX_EXAMPLES, PromptTemplate, WorkedTurns,
};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use serde_json::{Value, json};

fn style(markers: &Markers, anchoring: Anchoring) -> CallStyle<'_> {
    CallStyle {
        form: CallForm::Block,
        markers,
        anchoring,
    }
}

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 1, "description": "City name" },
            "units": { "type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius" },
        },
        "required": ["city"],
    })
}

fn entry<'a>(schema: &'a Value, examples: &'a [CatalogExample<'a>]) -> CatalogEntry<'a> {
    CatalogEntry {
        name: "weather",
        description: "Get weather for a city",
        schema,
        examples,
    }
}

#[test]
fn one_gadget_with_the_default_text() {
    let schema = weather();
    let examples = [CatalogExample {
        comment: Some("In Fahrenheit"),
        block: "!!!GADGET_START:weather\n!!!ARG:city\nOslo\n!!!ARG:units\nfahrenheit\n!!!GADGET_END\n",
        output: Some("Oslo: 41°F"),
    }];
    let text = PromptTemplate::default()
        .render(
            &[entry(&schema, &examples)],
            style(&Markers::default(), Anchoring::Anywhere),
        )
        .unwrap();
    assert_eq!(text, include_str!("prompt/one_gadget.txt").trim_end());
    // Four characters a token is a cautious estimate for English text.
    assert!(text.len() / 4 < 300, "{} characters", text.len());
}

#[test]
fn two_gadgets_with_custom_markers_at_line_starts() {
    let markers = Markers::new("<<<CALL:", "<<<DONE", "@").unwrap();
    let schema = weather();
    let ping = json!({ "type": "object" });
    let gadgets = [
        entry(&schema, &[]),
        CatalogEntry {
            name: "ping",
            description: "Says pong.\nAt once.",
            schema: &ping,
            examples: &[],
        },
    ];
    let text = PromptTemplate::default()
        .render(&gadgets, style(&markers, Anchoring::LineStart))
        .unwrap();
    assert_eq!(text, include_str!("prompt/custom_markers.txt").trim_end());
    assert!(!text.contains("!!!"), "a default marker shows");
}

#[test]
fn a_registry_gives_the_same_text() {
    let spec: GadgetSpec = serde_json::from_value(json!({
        "name": "weather",
        "description": "Get weather for a city",
        "parameters": weather(),
        "examples": [{
            "comment": "In Fahrenheit",
            "params": { "city": "Oslo", "units": "fahrenheit" },
            "output": "Oslo: 41°F",
        }],
    }))
    .unwrap();
    let registry = Registry::new([spec]).unwrap();
    let template = PromptTemplate::default();
    let text = template.render_registry(&registry, style(&Markers::default(), Anchoring::Anywhere));
    assert_eq!(
        text.as_deref(),
        Some(include_str!("prompt/one_gadget.txt").trim_end())
    );
    let none = Registry::default();
    assert_eq!(
        template.render_registry(&none, style(&Markers::default(), Anchoring::Anywhere)),
        None
    );
}

#[test]
fn without_gadgets_the_catalog_is_empty() {
    let template = PromptTemplate {
        intro: Some("Hello".to_owned()),
        ..PromptTemplate::default()
    };
    assert_eq!(
        template.render(&[], style(&Markers::default(), Anchoring::Anywhere)),
        None
    );
}

#[test]
fn every_part_can_be_replaced_and_unknown_braces_stay() {
    let template: PromptTemplate = serde_json::from_value(json!({
        "intro": "{count} gadget: {names}",
        "catalog": "<g>{gadgets}</g>",
        "format": "{start}N {arg}p {end} {x} ${id} {",
        "rules": "",
        "escape": "E",
    }))
    .unwrap();
    let schema = json!({});
    let gadget = CatalogEntry {
        name: "{start}",
        description: "{end}",
        schema: &schema,
        examples: &[],
    };
    let text = template
        .render(&[gadget], style(&Markers::default(), Anchoring::LineStart))
        .unwrap();
    assert_eq!(
        text,
        "1 gadget: {start}\n\n<g>## {start}\n{end}\nParameters: none</g>\n\n\
         !!!GADGET_START:N !!!ARG:p !!!GADGET_END {x} ${id} {\n\nE"
    );
    let again: PromptTemplate =
        serde_json::from_value(serde_json::to_value(&template).unwrap()).unwrap();
    assert_eq!(again, template);
    assert_eq!(
        serde_json::to_value(PromptTemplate::default()).unwrap(),
        json!({})
    );
}

#[test]
fn examples_without_comment_and_with_long_output() {
    let schema = json!({});
    let examples = [CatalogExample {
        comment: None,
        block: "B\n",
        output: Some("1\n2\n"),
    }];
    let text = gadgetry_proto::prompt::catalog(&[entry(&schema, &examples)]);
    assert_eq!(
        text,
        "## weather\nGet weather for a city\nParameters: none\nExample:\nB\nOutput:\n1\n2"
    );
}

/// The whole conversation as text, a line with the role before each message.
fn shown(form: CallForm, count: usize, messages: &[Message]) -> String {
    let schema = weather();
    let style = CallStyle {
        form,
        markers: &Markers::default(),
        anchoring: Anchoring::LineStart,
    };
    let turns = WorkedTurns::new(count, &[entry(&schema, &[])], style);
    let messages = turns.shown(messages);
    let texts = messages.iter().map(|message| {
        let texts = message.content.iter().filter_map(|content| {
            let Content::Text { text } = content else {
                return None;
            };
            Some(text.as_str())
        });
        format!(
            "[{:?}]\n{}\n",
            message.role,
            texts.collect::<Vec<_>>().join("|")
        )
    });
    texts.collect()
}

#[test]
fn worked_turns_have_the_shape_of_the_conversation() {
    let said = [
        Message::text(Role::System, "Be brief."),
        Message::text(Role::User, "Is it cold in Rome?"),
        Message::text(Role::Assistant, "No."),
        Message::text(Role::User, "And here?"),
    ];
    let block = shown(CallForm::Block, MAX_EXAMPLES, &said);
    assert_eq!(block, include_str!("prompt/worked_blocks.txt"));
    let json = shown(CallForm::Json, 1, &said);
    assert_eq!(json, include_str!("prompt/worked_json.txt"));
    assert!(shown(CallForm::Json, 0, &said).starts_with("[System]\nBe brief.\n[User]\nIs it cold"));
    // Whoever begins, the tools are there, and a prompt grows at its end only.
    let check = |messages: &[Message]| {
        let whole = shown(CallForm::Json, 2, messages);
        assert_eq!(whole.matches("## weather").count(), 1, "{messages:?}");
        for count in 1..messages.len() {
            let begun = shown(CallForm::Json, 2, &messages[..count]);
            let grows = whole.starts_with(&begun);
            let is_begun = messages[..count].iter().any(|it| it.role == Role::User);
            assert!(grows || !is_begun, "{messages:?}");
        }
    };
    check(&said);
    check(&said[1..]);
    check(&said[2..]);
    check(&said[..1]);
    check(&[]);
}
