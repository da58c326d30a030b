//! Scripts of packetdrill (Cardwell et al., USENIX ATC 2013): the parts of the language that concern a TCP sender.

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Shell commands that run before the first event.
    pub setup: String,
    /// The tolerance of times in nanoseconds.
    pub tolerance_ns: u64,
    pub events: Vec<Event>,
}

/// An event of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// The line in the file, from 1.
    pub line: usize,
    pub time: Time,
    pub action: Action,
}

/// The time of an event, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// At any time.
    Any,
    /// From the start of the script, from the first to the second value.
    Absolute(u64, u64),
    /// From the previous event.
    Relative(u64, u64),
}

#[derive(Clone, Debug)]
pub enum Action {
    /// A packet that the script sends.
    Inbound(Packet),
    /// A packet that the script expects.
    Outbound(Packet),
    Call(Call),
    /// A Python block.
    Code(String),
    Shell(String),
}

/// A system call: name and arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<String>,
}

/// A TCP packet, with sequence numbers relative to the initial ones.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    pub flags: String,
    pub first: u32,
    pub end: u32,
    pub ack: u32,
    pub window: Option<u32>,
    pub mss_bytes: Option<u32>,
    pub window_scale: Option<u32>,
    pub has_sack_permitted: bool,
    pub sacks: Vec<(u32, u32)>,
    /// Value and echo of the timestamps option.
    pub timestamps: Option<(u32, u32)>,
}

impl Packet {
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

/// The default of packetdrill's `--tolerance_usecs`.
const TOLERANCE_NS: u64 = 4_000_000;

/// The text of a script that has not been read yet.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    /// Skips blanks and comments.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |at| at + 2)
            } else {
                0
            };
            if blank + comment == 0 {
                return;
            }
            self.at += blank.max(comment);
        }
    }

    /// Returns the text until `mark`, and skips both.
    fn until(&mut self, mark: &str) -> Result<&'a str, String> {
        let rest = self.rest();
        let length = (rest.find(mark)).ok_or_else(|| format!("there is no closing `{mark}`"))?;
        self.at += length + mark.len();
        Ok(&rest[..length])
    }

    /// Returns the rest of the line without its comment, and skips it.
    fn rest_of_line(&mut self) -> &'a str {
        let line = self.rest().split('\n').next().unwrap_or_default();
        self.at += line.len();
        line.split("//").next().unwrap_or_default().trim()
    }

    /// Skips `token` if it is next.
    fn skip(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    /// Reads a number of seconds. Returns it in nanoseconds.
    fn seconds(&mut self) -> Result<u64, String> {
        let rest = self.rest();
        let is_part = |it: char| it.is_ascii_digit() || it == '.';
        let number = rest.split(|it| !is_part(it)).next().unwrap_or_default();
        // `0...0.004` is the time of a blocking call.
        let number = number.split("..").next().unwrap_or_default();
        let time_s: f64 = (number.parse()).map_err(|_| format!("`{number}` is not a time"))?;
        self.at += number.len();
        Ok((time_s * 1e9).round() as u64)
    }

    fn time(&mut self) -> Result<Time, String> {
        if self.skip("*") {
            return Ok(Time::Any);
        }
        let is_relative = self.skip("+");
        let first = self.seconds()?;
        let mut last = first;
        if self.skip("~") {
            self.skip("+");
            last = self.seconds()?;
        }
        self.skip_blanks();
        if self.skip("...") {
            // The end of a blocking call has no counterpart.
            self.skip_blanks();
            self.skip("+");
            self.seconds()?;
        }
        Ok(if is_relative {
            Time::Relative(first, last)
        } else {
            Time::Absolute(first, last)
        })
    }

    fn action(&mut self) -> Result<Action, String> {
        self.skip_blanks();
        Ok(if self.skip("<") {
            Action::Inbound(packet(self.rest_of_line())?)
        } else if self.skip(">") {
            Action::Outbound(packet(self.rest_of_line())?)
        } else if self.skip("%{") {
            Action::Code(self.until("}%")?.to_owned())
        } else if self.skip("`") {
            Action::Shell(self.until("`")?.to_owned())
        } else {
            let mut text = self.rest_of_line().to_owned();
            let is_open = |text: &str| text.matches('(').count() > text.matches(')').count();
            while is_open(&text) && !self.rest().is_empty() {
                self.at += 1;
                text += self.rest_of_line();
            }
            let broken = || format!("`{text}` is not a system call");
            let (name, rest) = text.split_once('(').ok_or_else(broken)?;
            let (arguments, _) = rest.rsplit_once(") =").ok_or_else(broken)?;
            Action::Call(Call {
                name: name.trim().to_owned(),
                arguments: (arguments.split(','))
                    .map(|it| it.trim().to_owned())
                    .collect(),
            })
        })
    }
}

/// Reads a packet without its direction.
fn packet(text: &str) -> Result<Packet, String> {
    let mut packet = Packet::default();
    let (fields, options) = match text.split_once('<') {
        Some((fields, options)) => (fields, options.trim_end().trim_end_matches('>')),
        None => (text, ""),
    };
    let mut words = fields.split_whitespace().peekable();
    words.next_if(|word| word.starts_with('['));
    packet.flags = words.next().unwrap_or_default().to_owned();
    if packet.flags.contains(|it| !"SFRPEWA.".contains(it)) {
        return Err(format!(
            "packets such as `{}` are not modelled",
            text.trim()
        ));
    }
    let number = |text: &str| -> Result<u32, String> {
        text.parse()
            .map_err(|_| format!("`{text}` is not a number"))
    };
    let range = |text: &str| -> Result<(u32, u32), String> {
        let (first, end) =
            (text.split_once(':')).ok_or_else(|| format!("`{text}` is not a range"))?;
        Ok((number(first)?, number(end)?))
    };
    let sequence = words.next().unwrap_or_default();
    let (numbers, _) =
        (sequence.split_once('(')).ok_or_else(|| format!("`{text}` has no length"))?;
    (packet.first, packet.end) = range(numbers)?;
    while let Some(word) = words.next() {
        let value = number(words.next().unwrap_or_default())?;
        match word {
            "ack" => packet.ack = value,
            "win" => packet.window = Some(value),
            _ => return Err(format!("`{word}` in packets is not modelled")),
        }
    }
    for option in options.split(',').map(str::trim) {
        let mut words = option.split_whitespace();
        match words.next() {
            None | Some("nop" | "..." | "eol") => {}
            Some("sackOK") => packet.has_sack_permitted = true,
            Some("mss") => packet.mss_bytes = Some(number(words.next().unwrap_or_default())?),
            Some("wscale") => packet.window_scale = Some(number(words.next().unwrap_or_default())?),
            Some("sack") => packet.sacks = words.map(range).collect::<Result<_, _>>()?,
            Some("TS") => {
                let values: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
                let &[value, echo] = values.as_slice() else {
                    return Err(format!("`{option}` needs two numbers"));
                };
                packet.timestamps = Some((value, echo));
            }
            Some(other) => return Err(format!("the TCP option `{other}` is not modelled")),
        }
    }
    Ok(packet)
}

/// Reads a script.
///
/// # Errors
/// The line and the first part of the script that is not TCP over a socket, or not known.
pub fn read(text: &str) -> Result<Script, String> {
    let mut reader = Reader { text, at: 0 };
    let mut script = Script {
        tolerance_ns: TOLERANCE_NS,
        ..Script::default()
    };
    loop {
        reader.skip_blanks();
        if reader.rest().is_empty() {
            return Ok(script);
        }
        let line = reader.line();
        let at_line = |message: String| format!("line {line}: {message}");
        if reader.skip("--tolerance_usecs=") {
            let number = reader.rest_of_line();
            let tolerance_us: u64 = number
                .parse()
                .map_err(|_| at_line(format!("`{number}` is not a number")))?;
            script.tolerance_ns = 1000 * tolerance_us;
        } else if reader.skip("--") {
            reader.rest_of_line();
        } else if reader.skip("`") {
            let commands = reader.until("`").map_err(at_line)?;
            script.setup += commands;
            script.setup.push('\n');
        } else {
            let time = reader.time().map_err(at_line)?;
            let action = reader.action().map_err(at_line)?;
            script.events.push(Event { line, time, action });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event of each kind, and the forms of times.
    #[test]
    fn language_is_read() {
        let script = read(
            "--tolerance_usecs=9000\n`./defaults.sh\nsysctl -q a=1`\n// comment\n 0 socket(..., SOCK_STREAM, 0) = 3\n\
             +.1 < S. 0:0(0) ack 1 win 5 <mss 1000,sackOK,TS val 7 ecr 8,nop,wscale 7>\n\
             +0~+.020 > P. 1:2001(2000) ack 1 // data\n\
             1.5 %{ assert a == 1\nassert b == 2 }%\n* > . 1:1(0) ack 1\n\
             +0 < [ect0] E. 1:1(0) ack 2001 win 9 <nop,nop,sack 3:4 5:6>\n\
             +.002 ... 0.004 connect(4, ..., ...) = 0\n+0 `tc qdisc`\n",
        )
        .unwrap();
        assert_eq!((script.tolerance_ns, script.events.len()), (9_000_000, 8));
        assert!(script.setup.contains("sysctl -q a=1"));
        let times: Vec<Time> = script.events.iter().map(|it| it.time).collect();
        assert_eq!(times[1], Time::Relative(100_000_000, 100_000_000));
        assert_eq!(times[2], Time::Relative(0, 20_000_000));
        assert_eq!(times[3], Time::Absolute(1_500_000_000, 1_500_000_000));
        assert_eq!((times[4], script.events[4].line), (Time::Any, 10));
        let Action::Inbound(syn) = &script.events[1].action else {
            panic!()
        };
        assert_eq!(
            (syn.mss_bytes, syn.window_scale, syn.timestamps),
            (Some(1000), Some(7), Some((7, 8)))
        );
        let Action::Inbound(ack) = &script.events[5].action else {
            panic!()
        };
        assert_eq!(
            (ack.ack, ack.sacks.as_slice(), ack.has('E')),
            (2001, &[(3, 4), (5, 6)][..], true)
        );
        assert!(
            read("0 < icmp unreachable\n")
                .unwrap_err()
                .starts_with("line 1: ")
        );
        assert!(read("0 < S 0:0(0) <FO aa>\n").unwrap_err().contains("`FO`"));
    }
}
