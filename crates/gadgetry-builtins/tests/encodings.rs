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
