// Package interop holds our server to clients that others made: the Java stubs
// that crawler-commons publishes, which StormCrawler uses too, Python stubs
// generated from our .proto, and the examples in other languages. Its tests are its
// content; install.sh fetches what they need, and says by variables what it could
// fetch. A test whose variable is not set is skipped.
package interop
