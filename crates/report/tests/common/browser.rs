//! Driver of a headless Chromium by the DevTools protocol over a pipe, without a port, a socket or another
//! program.
#![allow(dead_code)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Errors and requests of a page.
#[derive(Debug, Default)]
pub struct Offences {
    pub errors: Vec<String>,
    pub requests: Vec<String>,
}

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last_id: u64,
    pub offences: Offences,
    _profile: tempfile::TempDir,
}

/// Returns the path of Chromium, if it is installed.
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

impl Browser {
    /// Starts a browser with a window of this size.
    pub fn start(program: &Path, width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let mut directory = OsString::from("--user-data-dir=");
        directory.push(profile.path());
        // Chromium reads from descriptor 3 and writes to 4; the shell redirects the pipes.
        let mut child = Command::new("sh")
            .args([
                "-c",
                r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#,
            ])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args(["--hide-scrollbars", "--remote-debugging-pipe"])
            .args(["--disable-background-networking", "--no-first-run"])
            .arg(format!("--window-size={width},{height}"))
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut browser = Browser {
            child,
            to,
            from,
            session: None,
            last_id: 0,
            offences: Offences::default(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network", "Security"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command and waits for its reply, while recording other events.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        loop {
            let message = self.message();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "chromium ended");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.offences.errors.push(parameters.to_string());
            }
            Some("Runtime.consoleAPICalled") => {
                self.offences.errors.push(parameters.to_string());
            }
            Some("Log.entryAdded") => self.offences.errors.push(parameters.to_string()),
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.offences.requests.push(url.to_owned());
            }
            _ => {}
        }
        message
    }

    /// Opens a file and waits until it is ready. Returns the elapsed time.
    pub fn open(&mut self, file: &Path) -> Duration {
        let started = Instant::now();
        self.call(
            "Page.navigate",
            json!({"url": format!("file://{}", file.display())}),
        );
        self.until("document.documentElement?.dataset.ready === 'yes'");
        started.elapsed()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let started = Instant::now();
        while self.ask(expression) != json!(true) {
            let offences = &self.offences;
            assert!(
                started.elapsed() < Duration::from_secs(30),
                "never: {expression}: {offences:?}"
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Returns the value of an expression in the page.
    pub fn ask(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Returns the text of the element.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.ask(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks at the position `{x, y}` of an expression.
    pub fn click_at(&mut self, expression: &str) {
        let place = self.ask(expression);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Clicks at the centre of an element.
    pub fn click(&mut self, selector: &str) {
        self.click_at(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); return {{ x: r.x + r.width / 2, y: r.y + r.height / 2 }}; }})()"
        ));
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32) {
        self.press_while(0, key, code);
    }

    /// Presses a key while Shift is held.
    pub fn press_with_shift(&mut self, key: &str, code: u32) {
        self.press_while(8, key, code);
    }

    fn press_while(&mut self, modifiers: u32, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                "modifiers": modifiers
            });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Sets the size of the page and its colour scheme.
    pub fn look(&mut self, width: u32, height: u32, dark: bool) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", media);
        sleep(Duration::from_millis(300));
    }

    /// Returns a screenshot of the page, as PNG in base64.
    pub fn picture(&mut self) -> String {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        answer["data"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
