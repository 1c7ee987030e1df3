//! A hub on this machine: HTTP/1.1 as far as hf-hub speaks it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The revision that the server has.
pub const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the server has, and how it behaves.
pub struct Hub {
    /// The files of repository `owner/name`, with their contents.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// The name of the content, sent as `etag`.
    pub etag: &'static str,
    /// The revision, sent as `x-repo-commit`.
    pub commit: &'static str,
    /// The size told in `content-range`, if not the content's.
    pub told_size: Option<usize>,
    /// Breaks the connection after so many bytes of a body that is longer.
    pub break_after: usize,
    /// Takes requests and never answers them.
    pub is_mute: bool,
}

impl Hub {
    /// A hub that behaves.
    pub fn with(files: Vec<(&'static str, Vec<u8>)>) -> Self {
        Self { files, etag: "0a1b", commit: REVISION, told_size: None, break_after: usize::MAX, is_mute: false }
    }

    /// Serves until the tests end; returns the endpoint and the requests so far, as "PATH FIRST-LAST".
    pub fn serve(self) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                if self.is_mute {
                    held.push(stream);
                    continue;
                }
                // A client that goes away in the middle is one of the cases under test.
                let _ = self.answer(&stream.unwrap(), &log);
            }
        });
        (endpoint, requests)
    }

    fn answer(&self, mut stream: &TcpStream, log: &Mutex<Vec<String>>) -> io::Result<()> {
        let Some((path, first, last)) = read_request(stream)? else {
            return Ok(());
        };
        log.lock().unwrap().push(format!("{path} {first}-{}", last.map(|last| last.to_string()).unwrap_or_default()));
        let name = path.strip_prefix(&format!("/owner/name/resolve/{REVISION}/"));
        let Some((_, content)) = self.files.iter().find(|(known, _)| Some(*known) == name) else {
            return refuse(stream, "404 Not Found");
        };
        if first >= content.len() {
            return refuse(stream, "416 Range Not Satisfiable");
        }
        let body = &content[first..last.map_or(content.len(), |last| last + 1)];
        let (n_bytes, last, size) = (body.len(), first + body.len() - 1, self.told_size.unwrap_or(content.len()));
        write!(
            stream,
            "HTTP/1.1 206 Partial Content\r\nconnection: close\r\ncontent-length: {n_bytes}\r\netag: \"{}\"\r\n\
             x-repo-commit: {}\r\ncontent-range: bytes {first}-{last}/{size}\r\n\r\n",
            self.etag, self.commit,
        )?;
        stream.write_all(&body[..n_bytes.min(self.break_after)])
    }
}

fn refuse(mut stream: &TcpStream, status: &str) -> io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// Reads a request's path and the first and last byte it wants; none if the client only knocked.
fn read_request(stream: &TcpStream) -> io::Result<Option<(String, usize, Option<usize>)>> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let Some(path) = request.split(' ').nth(1) else {
        return Ok(None);
    };
    let (mut first, mut last) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            return Ok(Some((path.to_owned(), first, last)));
        }
        if let Some((from, to)) = line.strip_prefix("range: bytes=").and_then(|range| range.split_once('-')) {
            (first, last) = (from.parse().unwrap(), to.parse().ok());
        }
    }
}
