package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	asSBOM := flag.Bool("sbom", false, "write a bill of materials, CycloneDX in JSON, instead")
	version := flag.String("version", "(devel)", "version of firstseen that it names")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	mods, err := modules("./cmd/firstseen")
	switch {
	case err != nil:
	case *asSBOM:
		err = writeSBOM(out, mods, *version)
	default:
		err = write(out, mods)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(3)
	}
}

// note is what no licence file of a module says.
const note = `golang.org/x/net/publicsuffix holds Mozilla's Public Suffix List, which is under MPL-2.0:
https://publicsuffix.org. Its source form is that of the module.
`

func write(w io.Writer, mods []mod) error {
	fmt.Fprint(w, "What is linked into firstseen, and under which licences. The texts follow.\n\n")
	mods = slices.DeleteFunc(mods, func(m mod) bool { return m.path == own })
	for _, m := range mods {
		fmt.Fprintf(w, "%-52s %-24s %s\n", m.path, m.version, strings.Join(m.names(), " AND "))
	}
	fmt.Fprint(w, "\n", note)
	for _, m := range mods {
		if err := m.check(); err != nil {
			return err
		}
		for _, f := range m.files {
			fmt.Fprintf(w, "\n%s\n%s %s: %s\n%s\n\n%s\n", rule, m.path, m.version, f.name, rule, strings.TrimSpace(f.text))
		}
	}
	return nil
}

var rule = strings.Repeat("=", 78)
