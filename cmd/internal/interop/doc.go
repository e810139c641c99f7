// Package interop holds our server to clients that others made: the Java stubs
// that crawler-commons publishes, which StormCrawler uses too, and Python stubs
// generated from our .proto. Its tests are its content; install.sh fetches what
// they need.
package interop
