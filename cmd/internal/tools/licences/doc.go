// Licences writes the licences of everything that is linked into firstseen: a
// table, and then each text as its owners want it passed on. A release has it
// beside the binaries. It fails where a dependency has no licence that it knows,
// or one that can't be given on together with Apache-2.0, and so does its test.
// With -sbom it writes the same for programs to read: a bill of materials in the
// form of CycloneDX, with the hashes of go.sum and what depends on what.
//
//	go run ./cmd/internal/tools/licences >THIRD-PARTY.txt
//	go run ./cmd/internal/tools/licences -sbom -version v1.0.0 >firstseen.cdx.json
//
// It reads texts only: whoever adds a dependency reads its licence.
//
// cyclonedx-gomod and go-licenses do parts of this. Neither covers the three platforms of a
// release in one bill, and both would be one more download for make test.
package main
