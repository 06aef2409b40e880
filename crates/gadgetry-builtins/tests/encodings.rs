//! Text files in other encodings.

use std::fs;

use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn text_in_utf_16_keeps_its_encoding() {
    let stage = Stage::new();
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let check = async |name: &str, bytes: &dyn Fn(&str) -> Vec<u8>| {
        let path = stage.work().join("w.txt");
        fs::write(&path, bytes("\u{feff}one\r\ncafé 🦀\r\n")).unwrap();
        let read = json!({ "filePath": "w.txt" });
        let whole = format!("path=w.txt encoding={name}\n\none\r\ncafé 🦀\r\n");
        stage.check("ReadFile", read, Ok(&whole)).await;
        let read = json!({ "filePath": "w.txt", "startLine": 2, "endLine": 2 });
        let second = format!("path=w.txt encoding={name} lines=2-2\n\ncafé 🦀\r\n");
        stage.check("ReadFile", read, Ok(&second)).await;
        let edit = json!({ "filePath": "w.txt", "search": "café", "replace": "tea" });
        let diff = stage.call("EditFile", edit).await.unwrap();
        assert!(
            diff.ends_with("\n-café 🦀\r\n+tea 🦀\r\n"),
            "{name}: {diff:?}"
        );
        let expected = bytes("\u{feff}one\r\ntea 🦀\r\n");
        assert_eq!(fs::read(&path).unwrap(), expected, "{name}");
        fs::write(&path, bytes("\u{feff}")).unwrap();
        let empty = format!("path=w.txt encoding={name}\n\n");
        let read = json!({ "filePath": "w.txt" });
        stage.check("ReadFile", read, Ok(&empty)).await;
        // What only begins as text does: a NUL, a lone surrogate, half a unit.
        let wrong = [
            bytes("\u{feff}a\0"),
            [bytes("\u{feff}"), vec![0xd8, 0xd8]].concat(),
            [bytes("\u{feff}"), vec![1]].concat(),
        ];
        for bytes in wrong {
            fs::write(&path, &bytes).unwrap();
            let read = json!({ "filePath": "w.txt" });
            let words = format!("bytes, though it begins as text in {name} does");
            stage.check("ReadFile", read, Err(&words)).await;
            let edit = json!({ "filePath": "w.txt", "search": "a", "replace": "b" });
            let words = "w.txt is not text in UTF-8, or in UTF-16 with a byte order mark";
            stage.check("EditFile", edit, Err(words)).await;
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    };
    check("UTF-16LE", &little).await;
    check("UTF-16BE", &big).await;
}

/// A name that is not UTF-8 is read by the form in which it is listed, unless that has several meanings.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn names_that_are_not_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let stage = Stage::new();
    let path = |name: &[u8]| stage.work().join(OsStr::from_bytes(name));
    fs::create_dir(path(b"d\xe9")).unwrap();
    fs::write(path(b"d\xe9/caf\xe9.txt"), "one\n").unwrap();
    let shown = "d\u{fffd}/caf\u{fffd}.txt";
    let list = json!({ "directoryPath": ".", "maxDepth": 2 });
    let listed = stage.call("ListDirectory", list).await.unwrap();
    assert!(listed.contains(&format!("\nF|{shown}|4|")), "{listed}");
    let read = json!({ "filePath": shown });
    let content = format!("path={shown}\n\none\n");
    stage.check("ReadFile", read.clone(), Ok(&content)).await;
    let edit = json!({ "filePath": shown, "search": "one", "replace": "two" });
    stage.call("EditFile", edit).await.unwrap();
    assert_eq!(fs::read(path(b"d\xe9/caf\xe9.txt")).unwrap(), b"two\n");
    assert_eq!(fs::read_dir(path(b"d\xe9")).unwrap().count(), 1);
    let outside = json!({ "filePath": "../d\u{fffd}" });
    assert!(stage.call("ReadFile", outside).await.is_err());
    fs::write(path(b"d\xe9/caf\xe8.txt"), "other\n").unwrap();
    let words = "several names are shown like this";
    stage.check("ReadFile", read.clone(), Err(words)).await;
    // Nor is this a part of a line.
    fs::write(path(b"two\nlines|x.txt"), "three\n").unwrap();
    let shown = "two\u{fffd}lines\u{fffd}x.txt";
    let list = json!({ "directoryPath": "." });
    let listed = stage.call("ListDirectory", list).await.unwrap();
    assert!(listed.contains(&format!("\nF|{shown}|6|")), "{listed}");
    for written in [shown, "two\nlines|x.txt"] {
        let content = "path=two\u{fffd}lines|x.txt\n\nthree\n";
        let read = json!({ "filePath": written });
        stage.check("ReadFile", read, Ok(content)).await;
    }
    // A file of exactly this name is that file.
    fs::write(path("d\u{fffd}".as_bytes()), "a file").unwrap();
    let read = json!({ "filePath": "d\u{fffd}" });
    stage
        .check("ReadFile", read, Ok("path=d\u{fffd}\n\na file"))
        .await;
}
