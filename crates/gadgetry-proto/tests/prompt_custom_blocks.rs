//! The listing of custom blocks: the layout of the specification, to the character.

use gadgetry_proto::message::{Content, Message, Role};
use gadgetry_proto::prompt::{append_to_system, custom_block_listing};
use gadgetry_proto::tags::BlockConfig;

fn doc(tag: &str, description: &str, instructions: &str) -> BlockConfig {
    let text = |text: &str| Some(text.to_owned());
    BlockConfig {
        description: text(description),
        instructions: text(instructions),
        ..BlockConfig::new(tag)
    }
}

#[test]
fn the_example_of_the_specification() {
    let listing = custom_block_listing(&[
        doc(
            "interpretation",
            "Analytical insight derived from evidence.",
            "Use when synthesizing information or drawing conclusions. Do not use for direct observations.",
        ),
        BlockConfig {
            instructions: None,
            ..doc("done", "Signals task completion.", "")
        },
        BlockConfig {
            description: None,
            ..doc(
                "citation",
                "",
                "Quote relevant passages from sources using <citation url=\"...\">text</citation>.",
            )
        },
        BlockConfig::new("silent"),
    ]);
    let expected = "\
You can use the following XML tags in your output:
- <interpretation>: Analytical insight derived from evidence.
  Use when synthesizing information or drawing conclusions. Do not use for direct observations.
- <done>: Signals task completion.
- <citation>: Quote relevant passages from sources using <citation url=\"...\">text</citation>.";
    assert_eq!(listing.as_deref(), Some(expected));
}

#[test]
fn every_line_of_the_instructions_is_indented() {
    let listing = custom_block_listing(&[doc("debug-info", "D.", "one\n\n  two\r\nthree\n")]);
    let expected = "\
You can use the following XML tags in your output:
- <debug-info>: D.
  one
  
    two
  three";
    assert_eq!(listing.as_deref(), Some(expected));
    let listing = custom_block_listing(&[doc("x", "", "one\ntwo")]);
    assert!(listing.is_some_and(|listing| listing.ends_with("- <x>: one\n  two")));
}

#[test]
fn empty_fields_are_absent_fields() {
    assert_eq!(custom_block_listing(&[doc("a", "", "")]), None);
    assert_eq!(custom_block_listing(&[]), None);
    let listing = custom_block_listing(&[doc("a", "", ""), doc("b", "B.", "")]);
    assert_eq!(
        listing.as_deref(),
        Some("You can use the following XML tags in your output:\n- <b>: B.")
    );
}

#[test]
fn appended_to_the_last_system_message() {
    let mut messages = vec![
        Message::text(Role::System, "first"),
        Message::text(Role::User, "hello"),
        Message::text(Role::System, "last"),
        Message::text(Role::User, "again"),
    ];
    append_to_system(&mut messages, "listing");
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[0], Message::text(Role::System, "first"));
    let text = |text: &str| Content::Text {
        text: text.to_owned(),
    };
    assert_eq!(messages[2].content, [text("last"), text("listing")]);
}

#[test]
fn a_missing_system_message_is_created() {
    let mut messages = vec![Message::text(Role::User, "hello")];
    append_to_system(&mut messages, "");
    assert_eq!(messages.len(), 1);
    append_to_system(&mut messages, "listing");
    assert_eq!(
        messages,
        [
            Message::text(Role::System, "listing"),
            Message::text(Role::User, "hello")
        ]
    );
}
