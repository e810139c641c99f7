// Command licences writes the licences of all modules that are linked into firstseen: a table, then
// the text of each licence. A release has the file beside the binaries. The command, and its test,
// fail if a dependency has no licence that it knows, or one that is not compatible with
// Apache-2.0. With -sbom it writes a bill of materials in the CycloneDX format, with the
// hashes of go.sum and the dependencies of each module.
//
//	go run ./cmd/internal/tools/licences >THIRD-PARTY.txt
//	go run ./cmd/internal/tools/licences -sbom -version v1.0.0 >firstseen.cdx.json
//
// It only compares texts: if you add a dependency, read its licence.
//
// cyclonedx-gomod and go-licenses do parts of this. Neither covers the three platforms of a
// release in one bill, and both would be one more download for make test.
package main
