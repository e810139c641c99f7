//! Times the url crate over a list of URLs: `canon-rivals FILE ROUNDS`.
//! Prints "name TAB nanoseconds of CPU time per URL TAB URLs refused", the median of the rounds.

use std::{env, fs, hint::black_box};
use url::Url;

fn cpu_nanos() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safe: t is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn time(name: &str, urls: &[&str], rounds: usize, work: impl Fn(&str) -> bool) {
    let mut refused = 0;
    let mut times: Vec<u64> = (0..rounds)
        .map(|_| {
            let start = cpu_nanos();
            refused = urls.iter().filter(|u| !work(u)).count();
            cpu_nanos() - start
        })
        .collect();
    times.sort();
    println!("{name}\t{}\t{refused}", times[rounds / 2] as f64 / urls.len() as f64);
}

/// The same work as the qiita profile's, as far as the crate goes: parameters sorted, fragment dropped.
fn sorted(raw: &str) -> Option<String> {
    let mut url = Url::parse(raw).ok()?;
    if url.query().is_some() {
        let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        pairs.sort();
        url.query_pairs_mut().clear().extend_pairs(&pairs);
    }
    url.set_fragment(None);
    Some(url.into())
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let text = fs::read_to_string(&args[1]).expect("cannot read the list of URLs");
    let rounds: usize = args[2].parse().expect("cannot read the number of rounds");
    let urls: Vec<&str> = text.lines().collect();
    time("Rust url: parse", &urls, rounds, |u| black_box(Url::parse(u)).is_ok());
    time("Rust url: parse, sort, no fragment", &urls, rounds, |u| black_box(sorted(u)).is_some());
}
