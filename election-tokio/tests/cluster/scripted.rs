//! A server that speaks PostgreSQL's protocol and says what a script says.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

const BOOL: u32 = 16;
const INT8: u32 = 20;
const TEXT: u32 = 25;

/// A column of an answer.
#[derive(Clone)]
pub(crate) enum Cell {
    Null,
    Number(i64),
    Text(String),
    Is(bool),
}

/// What the server says to one statement, or to a login.
#[derive(Clone)]
pub(crate) enum Reply {
    /// One row, or none, and the command.
    Rows(Option<Vec<Cell>>),
    /// How many rows were changed.
    Changed(u64),
    /// A code and a message.
    Error(&'static str, &'static str),
}

/// What a server says: to a login, by its options, and to a statement.
pub(crate) trait Script: Send + 'static {
    /// The parameters that it reports once somebody is let in.
    fn parameters(&self) -> &'static [(&'static str, &'static str)];
    /// Whom it does not let in, and why.
    fn refuses(&mut self, options: &str) -> Option<Reply>;
    fn answers(&mut self, sql: &str) -> Reply;
}

/// Such a server, and what it has heard.
pub(crate) struct Scripted {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    pub(crate) fn start(port: u16, script: impl Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (script, told) = (Arc::new(Mutex::new(script)), heard.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, heard) = (script.clone(), told.clone());
                // A client that goes ends its conversation.
                thread::spawn(move || Conversation { stream, script, heard }.go_on());
            }
        });
        Self { port, heard }
    }

    pub(crate) fn url(&self, query: &str) -> String {
        Self::url_of(&[self], query)
    }

    /// The URL of a list of them.
    pub(crate) fn url_of(servers: &[&Self], query: &str) -> String {
        let hosts: Vec<_> = servers.iter().map(|it| format!("127.0.0.1:{}", it.port)).collect();
        format!("postgres://app@{}/app?sslmode=disable{query}", hosts.join(","))
    }

    /// Each login's options and each statement that was run, in order.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many of them begin like this.
    pub(crate) fn count(&self, beginning: &str) -> usize {
        self.heard().iter().filter(|text| text.starts_with(beginning)).count()
    }
}

struct Conversation<S> {
    stream: TcpStream,
    script: Arc<Mutex<S>>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl<S: Script> Conversation<S> {
    fn go_on(mut self) -> io::Result<()> {
        if !self.login()? {
            return Ok(());
        }
        let mut prepared = BTreeMap::new();
        let mut bound = String::new();
        // After an error the rest is skipped, until the client waits for an answer.
        let mut skips = false;
        loop {
            let (kind, body) = self.message()?;
            let mut words = Words(&body);
            match kind {
                b'X' => return Ok(()),
                b'S' => {
                    skips = false;
                    self.send(b'Z', b"I")?;
                }
                b'Q' => {
                    let sql = words.text();
                    self.run(&sql, 0, true)?;
                    self.send(b'Z', b"I")?;
                }
                _ if skips => {}
                b'P' => {
                    let (name, sql) = (words.text(), words.text());
                    prepared.insert(name, (sql, words.rest().to_vec()));
                    self.send(b'1', &[])?;
                }
                b'D' => {
                    let (sql, types) = &prepared[&words.skip(1).text()];
                    self.send(b't', types)?;
                    self.describe(sql, 0)?;
                }
                b'B' => {
                    words.text(); // the portal
                    bound = prepared[&words.text()].0.clone();
                    self.send(b'2', &[])?;
                }
                b'E' => skips = !self.run(&bound, 1, false)?,
                b'C' => self.send(b'3', &[])?,
                _ => {}
            }
        }
    }

    /// Whether the client was let in.
    fn login(&mut self) -> io::Result<bool> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.stream.read_exact(&mut body)?;
        let mut words = Words(&body[4..]);
        let mut options = String::new();
        while !words.0.is_empty() && words.0[0] != 0 {
            let (name, value) = (words.text(), words.text());
            if name == "options" {
                options = value;
            }
        }
        self.hear(format!("login {options}"));
        let refused = self.script().refuses(&options);
        if let Some(Reply::Error(code, message)) = refused {
            self.error("FATAL", code, message)?;
            return Ok(false);
        }
        self.send(b'R', &0_u32.to_be_bytes())?;
        let parameters = self.script().parameters();
        for (name, value) in parameters {
            self.send(b'S', format!("{name}\0{value}\0").as_bytes())?;
        }
        self.send(b'K', &[0; 8])?;
        self.send(b'Z', b"I")?;
        Ok(true)
    }

    /// Says what the script says to a statement. Whether that is no error.
    fn run(&mut self, sql: &str, format: i16, describes: bool) -> io::Result<bool> {
        self.hear(sql.to_owned());
        let reply = self.script().answers(sql);
        match reply {
            Reply::Error(code, message) => {
                self.error("ERROR", code, message)?;
                return Ok(false);
            }
            Reply::Changed(count) => self.done(&format!("UPDATE {count}"))?,
            Reply::Rows(row) => {
                if describes {
                    self.describe(sql, format)?;
                }
                if let Some(cells) = row {
                    self.row(&cells, format)?;
                }
                self.done("SELECT 1")?;
            }
        }
        Ok(true)
    }

    fn row(&mut self, cells: &[Cell], format: i16) -> io::Result<()> {
        let mut body = count(cells.len()).to_vec();
        for cell in cells {
            let value = match cell {
                Cell::Null => {
                    body.extend((-1_i32).to_be_bytes());
                    continue;
                }
                Cell::Number(number) if format == 1 => number.to_be_bytes().to_vec(),
                Cell::Number(number) => number.to_string().into_bytes(),
                Cell::Text(text) => text.clone().into_bytes(),
                Cell::Is(is) => vec![if *is { b't' } else { b'f' }],
            };
            body.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
            body.extend(value);
        }
        self.send(b'D', &body)
    }

    /// The columns that a statement returns.
    fn describe(&mut self, sql: &str, format: i16) -> io::Result<()> {
        let kinds: &[u32] = match sql {
            _ if sql.starts_with("SELECT version()") => &[TEXT],
            _ if sql.starts_with("SELECT n.nspname") => &[TEXT],
            _ if sql.starts_with("SELECT false, ") => &[BOOL, BOOL, BOOL],
            _ if sql.starts_with("SELECT epoch") => {
                &[INT8, TEXT, TEXT, TEXT, INT8, INT8, INT8, INT8, INT8]
            }
            _ if sql.starts_with("SELECT") => &[INT8],
            _ if sql.contains("RETURNING") => &[INT8, INT8],
            _ => return self.send(b'n', &[]),
        };
        let mut body = count(kinds.len()).to_vec();
        for kind in kinds {
            body.extend(b"c\0");
            body.extend([0; 6]);
            body.extend(kind.to_be_bytes());
            body.extend([0; 6]);
            body.extend(format.to_be_bytes());
        }
        self.send(b'T', &body)
    }

    fn done(&mut self, tag: &str) -> io::Result<()> {
        self.send(b'C', format!("{tag}\0").as_bytes())
    }

    fn error(&mut self, severity: &str, code: &str, message: &str) -> io::Result<()> {
        let body = format!("S{severity}\0V{severity}\0C{code}\0M{message}\0\0");
        self.send(b'E', body.as_bytes())
    }

    fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize - 4];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).unwrap() + 4;
        self.stream.write_all(&[&[kind], &length.to_be_bytes()[..], body].concat())
    }

    fn hear(&self, what: String) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn script(&self) -> std::sync::MutexGuard<'_, S> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(of: usize) -> [u8; 2] {
    u16::try_from(of).unwrap().to_be_bytes()
}

/// The strings in a message.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = &self.0[(end + 1).min(self.0.len())..];
        text
    }

    fn skip(&mut self, bytes: usize) -> &mut Self {
        self.0 = &self.0[bytes..];
        self
    }

    fn rest(&self) -> &'a [u8] {
        self.0
    }
}
