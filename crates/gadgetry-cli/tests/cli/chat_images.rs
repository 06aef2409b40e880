//! Images in the messages of `gadgetry chat`.

use std::os::unix::fs::PermissionsExt as _;

use super::screen::Screen;
use super::server::{Reply, Server};
use super::workshop::Workshop;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nxyz";
/// The bytes of this image in a request.
const SENT: &str = "data:image/png;base64,iVBORw0KGgp4eXo=";

fn chat(workshop: &Workshop, server: &Server, model: &str) -> Screen {
    chat_with(workshop, server, model, &[])
}

fn chat_with(
    workshop: &Workshop,
    server: &Server,
    model: &str,
    variables: &[(&str, &str)],
) -> Screen {
    let args = ["chat", "--model", model, "--base-url", server.url()];
    let variables = [&[("OPENAI_API_KEY", "k")], variables].concat();
    let screen = Screen::start(workshop, (80, 30), &args, &variables);
    screen.shows("Message, /help");
    screen.shows(&format!("the model is at {}", server.url()));
    screen
}

/// The last message of the latest request.
fn last_message(server: &Server) -> String {
    let asked = server.asked();
    let messages = &asked.last().expect("a request").body["messages"];
    let last = messages.as_array().and_then(|it| it.last());
    last.expect("a message").to_string()
}

/// What a terminal sends for a pasted or dragged text.
fn pasted(text: &str) -> String {
    format!("\x1b[200~{text}\x1b[201~")
}

#[test]
fn an_image_is_dragged_pasted_or_mentioned() {
    let workshop = Workshop::new("");
    std::fs::write(workshop.path("a cat.png"), PNG).expect("an image");
    std::fs::write(workshop.path("cat.png"), PNG).expect("an image");
    let server = Server::start(["One.", "Two.", "Three.", "Four."].map(Reply::says));
    let mut screen = chat(&workshop, &server, "openai:gpt-4o");
    let path = workshop.path("a cat.png").display().to_string();
    let sent = |screen: &mut Screen, keys: &str, shown: &str, answer: &str| {
        screen.keys(keys);
        screen.shows(shown);
        screen.say("What is it?");
        screen.shows(answer);
        screen.rests();
        last_message(&server)
    };
    let escaped = path.replace(' ', "\\ ");
    let label = "[image a cat.png]";
    let message = sent(&mut screen, &pasted(&escaped), label, "One.");
    assert!(
        message.contains(SENT) && message.contains(label),
        "{message}"
    );
    let message = sent(&mut screen, &pasted(&format!("'{path}'")), label, "Two.");
    assert!(message.contains(SENT), "{message}");
    let message = sent(&mut screen, "@cat.png ", "@cat.png", "Three.");
    assert!(message.contains(SENT), "{message}");
    // Without its label, it is not sent.
    screen.keys(pasted(&path));
    screen.shows(&format!("{label} "));
    let back = "\x7f".repeat(label.len() + 1);
    let message = sent(&mut screen, &back, "Message, /help", "Four.");
    assert!(!message.contains("data:"), "{message}");
    screen.leave();
}

/// Its server decides.
#[test]
fn a_model_that_is_in_no_table_gets_images() {
    let workshop = Workshop::new("");
    std::fs::write(workshop.path("cat.png"), PNG).expect("an image");
    let server = Server::start(["One.", "Two."].map(Reply::says));
    let mut screen = chat(&workshop, &server, "own-vl-7b");
    screen.say("Hi");
    screen.shows("One.");
    screen.rests();
    screen.keys("@cat.png ");
    screen.say("What is it?");
    screen.shows("Two.");
    screen.rests();
    let message = last_message(&server);
    assert!(message.contains(SENT), "{message}");
    screen.leave();
}

#[test]
fn what_cannot_be_sent_is_said() {
    let workshop = Workshop::new("");
    std::fs::write(workshop.path("cat.png"), PNG).expect("an image");
    std::fs::write(workshop.path("text.png"), "text").expect("a file");
    let large = std::fs::File::create(workshop.path("large.png")).expect("a file");
    large.set_len((10 << 20) + 1).expect("a large file");
    let server = Server::start([Reply::says("One.")]);
    let mut screen = chat(&workshop, &server, "openai:gpt-3.5-turbo");
    screen.keys(pasted("cat.png"));
    screen.shows("openai:gpt-3.5-turbo reads no images");
    // Then it is text.
    screen.shows("> cat.png");
    screen.say("");
    screen.shows("One.");
    screen.leave();
    let mut screen = chat(&workshop, &server, "openai:gpt-4o");
    screen.keys(pasted("text.png"));
    screen.shows("not a PNG, JPEG, GIF or WebP picture");
    screen.keys(pasted("large.png"));
    screen.shows("larger than 10 MiB");
    screen.keys("\x15");
    screen.shows("Message, /help");
    screen.leave();
}

/// The program that reads the clipboard of the desktop is one of ours here: it prints the file `clipboard`, or hangs.
#[test]
fn the_image_in_the_clipboard_is_attached() {
    let workshop = Workshop::new("");
    std::fs::create_dir(workshop.path("bin")).expect("a folder");
    workshop.write(
        "bin/xclip",
        "#!/bin/sh\n[ \"$*\" = '-selection clipboard -target image/png -out' ] || exit 1\n\
         [ -e hang ] && exec sleep 60\ncat clipboard\n",
    );
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(workshop.path("bin/xclip"), executable).expect("a mode");
    let bin = workshop.path("bin").display().to_string();
    let path = std::env::var("PATH").expect("programs");
    let desktop = [("DISPLAY", ":0"), ("PATH", &*format!("{bin}:{path}"))];
    let server = Server::start(["One.", "Two."].map(Reply::says));
    let mut screen = chat_with(&workshop, &server, "openai:gpt-4o", &desktop);
    let ctrl_v = "\x16";
    screen.keys(ctrl_v);
    screen.shows("there is no image in the clipboard");
    let large = std::fs::File::create(workshop.path("clipboard")).expect("a file");
    large.set_len((10 << 20) + 1).expect("a large file");
    screen.keys(ctrl_v);
    screen.shows("clipboard.png: larger than 10 MiB");
    workshop.write("clipboard", "text");
    screen.keys(ctrl_v);
    screen.until("a second note", |shown| {
        shown.matches("there is no image in the clipboard").count() == 2
    });
    std::fs::write(workshop.path("clipboard"), PNG).expect("an image");
    // Terminals paste an empty text if the clipboard has none.
    for (keys, answer) in [(ctrl_v, "One."), (&*pasted(""), "Two.")] {
        screen.keys(keys);
        // At the end of a line only in the input: messages have words after it.
        let is_input = |line: &str| line.trim_end().ends_with("[image clipboard.png]");
        screen.until("the label", |shown| shown.lines().any(is_input));
        screen.say("What is it?");
        screen.shows(answer);
        screen.rests();
        let last = last_message(&server);
        assert!(last.contains(SENT), "{last}");
    }
    workshop.write("hang", "");
    screen.keys(ctrl_v);
    screen.shows("the clipboard gave no image within 2 s");
    screen.leave();
    let mut screen = chat(&workshop, &server, "openai:gpt-4o");
    screen.keys(ctrl_v);
    screen.shows("there is no clipboard here");
    screen.leave();
}
