package main

import (
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/cmd/internal/audit"
	"github.com/firstseen/firstseen/cmd/internal/durable"
	"github.com/firstseen/firstseen/cmd/internal/report"
)

// judgeReport is the HTML report of audit and learn.
type judgeReport struct {
	path, title string
	file        *durable.File
	began       time.Time
}

func (r *judgeReport) add(flags *pflag.FlagSet) {
	flags.StringVar(&r.path, "report", "", "HTML report to write")
	flags.StringVar(&r.title, "title", "", "of the report; default: the names of the inputs")
}

// begin opens the report, so that a bad path shows before the work is done.
func (r *judgeReport) begin(names []string) (err error) {
	r.began = time.Now()
	if r.title == "" {
		r.title = titleOf(names)
	}
	r.file, err = durable.Create(r.path)
	return err
}

// wanted reports whether to write a report.
func (r *judgeReport) wanted() bool { return r.file != nil }

func (r *judgeReport) write(judged *audit.Report, learned *audit.Learned) error {
	return r.file.Write(func(w io.Writer) error {
		return report.WriteJudged(w, report.Judged{Title: r.title, Made: time.Now(), Seconds: time.Since(r.began).Seconds(), Audit: judged, Learned: learned})
	})
}
