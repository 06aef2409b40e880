//! Tests of `packaging/install.sh` with releases of files, in folders of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{answers, capture, command, root};

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        // It is in a folder for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Place {
    /// Makes a release whose program is this script.
    fn new(name: &str, program: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gadgetry-{name}-{}", std::process::id()));
        let place = Self(folder);
        let make = "set -eu; mkdir -p release bin/folder/gadgetry bin/link; echo kept >kept; ln -s ../../kept bin/link/.gadgetry.new
            name=gadgetry-0.1.0-$(uname -m | sed s/arm64/aarch64/)-$(uname -s | sed 's/Linux/unknown-linux-gnu/;s/Darwin/apple-darwin/')
            mkdir $name; printf '%s' \"$1\" >$name/gadgetry; chmod 755 $name/gadgetry; tar -czf release/$name.tar.gz $name
            cd release; sha256sum $name.tar.gz >SHA256SUMS";
        fs::create_dir_all(&place.0).expect("a folder");
        let mut make = command("sh", &["-c", make, "sh", program]);
        capture(make.current_dir(&place.0)).expect("a release");
        place
    }

    fn installer(&self, script: &Path, bin: &str) -> Command {
        let mut install = command("sh", &[]);
        install.arg(script).current_dir(&self.0);
        install.env(
            "GADGETRY_URL",
            format!("file://{}/release", self.0.display()),
        );
        install.env("GADGETRY_BIN", bin);
        install
    }

    /// Installs to a folder. Returns whether the script says that it has.
    fn install(&self, bin: &str) -> bool {
        answers(&mut self.installer(&root().join("packaging/install.sh"), bin))
    }

    fn has(&self, file: &str) -> bool {
        self.0.join(file).is_file()
    }
}

const WORKS: &str = "#!/bin/sh\necho gadgetry 0.1.0\n";

#[test]
fn what_is_installed_works_and_nothing_else_is_changed() {
    let place = Place::new("works", WORKS);
    for bin in ["new", "with spaces/and more", "bin/link"] {
        assert!(place.install(bin), "{bin}");
        assert!(place.has(&format!("{bin}/gadgetry")), "{bin}");
    }
    let kept = fs::read_to_string(place.0.join("kept")).expect("a file");
    assert_eq!(kept, "kept\n", "a link led to another file");
    assert!(!place.install("bin/folder"));
}

#[test]
fn what_does_not_run_is_not_installed() {
    let place = Place::new("broken", "#!/bin/sh\nexit 1\n");
    assert!(!place.install("new"));
    let left = fs::read_dir(place.0.join("new")).expect("a folder");
    assert_eq!(left.count(), 0);
}

#[test]
fn without_a_checksum_nothing_is_installed() {
    for change in [
        "for f in release/*.gz; do echo >>$f; done",
        "sed -i.bak 's/^[0-9a-f]*//' release/SHA256SUMS",
        "sed -i.bak 's/^[0-9a-f]*/00/' release/SHA256SUMS",
        ": >release/SHA256SUMS",
        "rm release/SHA256SUMS",
    ] {
        let place = Place::new("changed", WORKS);
        capture(command("sh", &["-c", change]).current_dir(&place.0)).expect("a change");
        assert!(!place.install("new"), "{change}");
        assert!(!place.has("new/gadgetry"), "{change}");
    }
}

#[test]
fn a_script_that_is_cut_off_does_nothing() {
    let place = Place::new("cut", WORKS);
    let whole = fs::read(root().join("packaging/install.sh")).expect("the script");
    let script = place.0.join("part.sh");
    for end in (0..whole.len() - "main\n".len()).step_by(97) {
        fs::write(&script, &whole[..end]).expect("a file");
        // An error, or nothing at all.
        let _ = answers(&mut place.installer(&script, "new"));
        assert!(!place.0.join("new").exists(), "{end} bytes");
    }
}

/// Serves `release` over HTTP, and over HTTPS redirects to there or to itself. Prints both addresses.
const REDIRECTS: &str = r#"
import functools, http.server, ssl, sys, threading
files = functools.partial(http.server.SimpleHTTPRequestHandler, directory=".")
plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), files)
class Redirects(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        kind, _, rest = self.path[1:].partition("/")
        if kind == "release":
            return super().do_GET()
        self.send_response(302)
        base = {"up": f"https://127.0.0.1:{port}", "down": f"http://127.0.0.1:{plain.server_port}", "here": ""}[kind]
        self.send_header("LOCATION", f"{base}/release/{rest}")
        self.send_header("Content-Length", "0")
        self.end_headers()
safe = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirects)
port = safe.server_port
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
# Those of BusyBox are among them.
context.set_ciphers("ALL:@SECLEVEL=0")
context.load_cert_chain("cert", "key")
safe.socket = context.wrap_socket(safe.socket, server_side=True)
threading.Thread(target=plain.serve_forever, daemon=True).start()
print(f"https://127.0.0.1:{port}", flush=True)
threading.Thread(target=safe.serve_forever, daemon=True).start()
sys.stdin.read()
"#;

/// What begins with HTTPS stays there, whichever program fetches it.
#[test]
fn no_redirect_leaves_https() {
    let needed = "command -v curl && command -v wget && command -v openssl && command -v python3";
    if !answers(&mut command("sh", &["-c", needed])) {
        // macOS has no wget of its own.
        return;
    }
    let place = Place::new("redirects", WORKS);
    let tools = "set -eu; mkdir curl wget busybox; for tool in cat chmod cp grep gzip mkdir mktemp mv rm sed sh sha256sum tar uname; do
            for fetcher in curl wget busybox; do ln -s \"$(command -v $tool)\" $fetcher/; done; done
        for fetcher in curl wget; do ln -s \"$(command -v $fetcher)\" $fetcher/; done
        ! command -v busybox || ln -s \"$(command -v busybox)\" busybox/wget
        openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1
        echo \"ca_certificate=$PWD/cert\" >wgetrc";
    let mut tools = command("sh", &["-c", tools]);
    capture(tools.current_dir(&place.0)).expect("curl, wget and openssl");
    let mut server = command("python3", &["-c", REDIRECTS]);
    server.current_dir(&place.0).stderr(Stdio::null());
    server.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().expect("Python");
    let mut address = String::new();
    let said = server.stdout.take().expect("a pipe");
    BufReader::new(said)
        .read_line(&mut address)
        .expect("an address");
    let check = |fetcher: &str, path: &str, works: bool| {
        let bin = format!("{fetcher}-{path}");
        let mut install = place.installer(&root().join("packaging/install.sh"), &bin);
        install
            .env("GADGETRY_URL", format!("{}/{path}", address.trim()))
            .env("PATH", place.0.join(fetcher))
            .env("CURL_CA_BUNDLE", place.0.join("cert"))
            .env("WGETRC", place.0.join("wgetrc"));
        assert_eq!(answers(&mut install), works, "{bin}");
        assert_eq!(place.has(&format!("{bin}/gadgetry")), works, "{bin}");
    };
    for fetcher in ["curl", "wget"] {
        for (path, works) in [
            ("release", true),
            ("up", true),
            ("here", true),
            ("down", false),
        ] {
            check(fetcher, path, works);
        }
    }
    // The wget of BusyBox does not check certificates, and without it there is nothing to fetch with.
    for path in ["release", "down"] {
        check("busybox", path, false);
    }
    // The end of its input ends it.
    drop(server.stdin.take());
    server.wait().expect("it ends");
}
