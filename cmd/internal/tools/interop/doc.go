// Package interop tests the daemon with other clients: the Java stubs that crawler-commons
// publishes and StormCrawler uses, Python stubs generated from our .proto, and the examples in
// other languages. It has only tests. install.sh fetches their tools, and sets a variable for each
// tool that it could fetch; a test whose variable is not set is skipped.
package interop
