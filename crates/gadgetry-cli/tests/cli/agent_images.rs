//! Images in the messages of `gadgetry agent`.

use super::server::{Reply, Server};
use super::workshop::{Ended, Workshop};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nxyz";
/// The bytes of this image in a request.
const SENT: &str = "data:image/png;base64,iVBORw0KGgp4eXo=";

/// Runs the agent with a model that is in no table.
fn agent(workshop: &Workshop, server: &Server, args: &[&str]) -> Ended {
    let usual = [
        "agent",
        "-p",
        "--model",
        "openai:sees",
        "--base-url",
        server.url(),
    ];
    let mut command = workshop.command(&[&usual, args].concat());
    Ended::of(command.env("OPENAI_API_KEY", "k"))
}

/// Each later turn sends the image again.
#[test]
fn images_are_sent_and_stay_in_the_conversation() {
    let workshop = Workshop::new("");
    std::fs::write(workshop.path("cat.png"), PNG).expect("an image");
    std::fs::write(workshop.path("dog.png"), [PNG, b"!"].concat()).expect("an image");
    let server = Server::start(["A cat.", "Grey.", "A dog."].map(Reply::says));
    let check = |args: &[&str], answer: &str, images: usize| {
        agent(&workshop, &server, args).check(answer, "", 0);
        let asked = server.asked();
        let body = asked.last().expect("a request").body.to_string();
        assert!(body.contains(SENT), "{body}");
        assert_eq!(body.matches("\"image_url\":{").count(), images, "{body}");
    };
    let first = ["What is it?", "--image", "cat.png", "--session", "s"];
    check(&first, "A cat.\n", 1);
    check(&["--continue", "s", "Its colour?"], "Grey.\n", 1);
    let other = ["--continue", "s", "And this?", "--image", "dog.png"];
    check(&other, "A dog.\n", 2);
}

#[test]
fn an_image_that_cannot_be_sent_is_an_error() {
    let workshop = Workshop::new("");
    std::fs::write(workshop.path("cat.png"), PNG).expect("an image");
    workshop.write("note.txt", "text");
    let server = Server::start([Reply::says("Hi.")]);
    let check = |args: &[&str], problem: &str| {
        agent(&workshop, &server, args).check("", &format!("error: {problem}\n"), 2);
    };
    check(
        &["Go!", "--image", "none.png"],
        "cannot read none.png: No such file or directory (os error 2)",
    );
    check(
        &["Go!", "--image", "note.txt"],
        "note.txt: not a PNG, JPEG, GIF or WebP picture",
    );
    check(&["Go!", "--image", "http://"], "http:// is not a URL");
    assert!(server.asked().is_empty());
    agent(&workshop, &server, &["Go!", "--session", "s"]).check("Hi.\n", "", 0);
    let alone = ["agent", "--continue", "s", "--image", "cat.png"];
    let ended = Ended::of(&mut workshop.command(&alone));
    let words = "error: an image needs a prompt: write one after the name of the session\n";
    ended.check("", words, 2);
    let deaf = [
        "agent",
        "Go!",
        "--model",
        "openai:gpt-3.5-turbo",
        "--image",
        "cat.png",
    ];
    let mut command = workshop.command(&deaf);
    let ended = Ended::of(command.env("OPENAI_API_KEY", "k"));
    assert!(
        ended.stderr.contains("does not accept images") && ended.code == Some(2),
        "{ended:?}"
    );
}
