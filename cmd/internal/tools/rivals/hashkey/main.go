// Command rivals measures package hashkey and the crates it has its ideas from on the same
// URLs in one run, turn and turn about. It prints the median of the processor time of each,
// and their ratio.
//
//	rivals [-rounds N] [-only TEXT] RUST-PROGRAM URL-FILE…
package main

import (
	"bufio"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 11, "how often each operation runs over all URLs")
	only := flag.String("only", "", "run only operations whose name holds this")
	flag.Parse()
	if flag.NArg() < 2 {
		log.Fatal("usage: rivals [-rounds N] RUST-PROGRAM URL-FILE…")
	}
	urls, err := readAll(flag.Args()[1:])
	if err != nil {
		log.Fatal(err)
	}
	rival, err := start(flag.Arg(0), urls)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d URLs, median of %d rounds, ns of processor time per URL or key\n\n", len(urls), *rounds)
	fmt.Print("| crate | ours | crate's ns | our ns | times as fast |\n|---|---|--:|--:|--:|\n")
	for _, op := range operations(urls) {
		if !strings.Contains(op.crate+" "+op.name, *only) {
			continue
		}
		if err := compare(rival, op, *rounds); err != nil {
			log.Fatal(err)
		}
	}
	if err := rival.stop(); err != nil {
		log.Fatal(err)
	}
}

// compare runs the crate's side and ours in turns and prints a row.
func compare(r *rival, op operation, rounds int) error {
	var theirs, ours []float64
	for range rounds {
		ns, err := r.run(op.crate)
		if err != nil {
			return fmt.Errorf("cannot run %s of the crate: %w", op.crate, err)
		}
		theirs, ours = append(theirs, ns), append(ours, op.run())
	}
	a, b := median(theirs), median(ours)
	fmt.Printf("| %s | %s | %.0f | %.0f | %.1f |\n", op.crate, op.name, a, b, a/b)
	return nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// rival is the Rust program, waiting for the name of an operation.
type rival struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	file string
}

func start(program string, urls []string) (*rival, error) {
	f, err := os.CreateTemp("", "rivals-*.txt")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(urls, "\n") + "\n"); err != nil {
		return nil, err
	}
	r := &rival{cmd: exec.Command(program, f.Name()), file: f.Name()}
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewScanner(out)
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return r, r.cmd.Start()
}

func (r *rival) run(op string) (ns float64, err error) {
	if _, err := fmt.Fprintln(r.in, op); err != nil {
		return 0, err
	}
	if !r.out.Scan() {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.ParseFloat(strings.Fields(r.out.Text())[0], 64)
}

func (r *rival) stop() error {
	r.in.Close()
	os.Remove(r.file)
	return r.cmd.Wait()
}

// readAll reads lines of plain or gzip files.
func readAll(names []string) (urls []string, err error) {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var in io.Reader = f
		if strings.HasSuffix(name, ".gz") {
			if in, err = gzip.NewReader(f); err != nil {
				return nil, err
			}
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			urls = append(urls, strings.ToValidUTF8(lines.Text(), "?"))
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
	}
	return urls, nil
}
