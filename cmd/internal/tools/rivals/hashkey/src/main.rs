//! Measures the crates. It reads the name of an operation per line, runs it over all URLs of
//! the file given, and answers with nanoseconds of processor time per URL and a checksum of
//! the results.

use std::hint::black_box;
use std::io::{self, BufRead, Write};

fn main() {
    let path = std::env::args().nth(1).expect("usage: rivals FILE");
    let text = std::fs::read_to_string(path).expect("cannot read the file");
    let urls: Vec<&str> = text.lines().collect();
    let keys0 = keys(&urls, |u| sxurl::encode_url_to_hex(u).ok());
    let keys1 = keys(&urls, |u| sxurl1::encode_url_to_hex(u).ok());
    for op in io::stdin().lock().lines() {
        let op = op.unwrap();
        let (n, took, sum) = match op.as_str() {
            "sxurl encode" => time(&urls, |u| sxurl::encode_url(u).map_or(0, |k| k[31])),
            "sxurl-1.1 encode" => time(&urls, |u| sxurl1::encode_url(u).map_or(0, |k| k[31])),
            "sxurl decode" => time(&keys0, |k| sxurl::decode_hex(k).map_or(0, |d| d.path_hash as u8)),
            "sxurl-1.1 decode" => time(&keys1, |k| sxurl1::decode_hex(k).map_or(0, |d| d.path_hash as u8)),
            "sxurl match" => time(&keys0, |k| sxurl::matches_component(k, "domain", "google").unwrap() as u8),
            "sxurl-1.1 match" => time(&keys1, |k| sxurl1::matches_component(k, "domain", "google").unwrap() as u8),
            "url-hash" => time(&urls, |u| {
                url::Url::parse(u).map_or(0, |u| short(url_hash::UrlHash::from(u)))
            }),
            other => panic!("unknown operation {other}"),
        };
        println!("{}\t{}", took as f64 / n as f64, sum);
        io::stdout().flush().unwrap();
    }
}

fn keys(urls: &[&str], encode: impl Fn(&str) -> Option<String>) -> Vec<String> {
    urls.iter().filter_map(|u| encode(u)).collect()
}

/// Runs f over all items, again and again for a tenth of a second at least; the sum keeps the
/// compiler from leaving work out.
fn time<T: AsRef<str>>(items: &[T], f: impl Fn(&str) -> u8) -> (usize, u128, u64) {
    let (start, mut done, mut sum) = (processor_time(), 0, 0u64);
    loop {
        for i in items {
            sum += f(black_box(i.as_ref())) as u64;
        }
        done += items.len();
        let took = processor_time() - start;
        if took >= 100_000_000 {
            return (done, took, sum);
        }
    }
}

/// Nanoseconds this thread has had, which other work on the machine does not lengthen much.
fn processor_time() -> u128 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t outlives the call, which writes nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u128 * 1_000_000_000 + t.tv_nsec as u128
}

/// The hash has no accessor; its equality test is the cheapest use of all of it.
fn short(h: url_hash::UrlHash) -> u8 {
    h.starts_with_just(black_box(&h.very_short())) as u8
}
