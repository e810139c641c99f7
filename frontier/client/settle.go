package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/firstseen/firstseen/frontier"
	"github.com/firstseen/firstseen/internal/wire"
)

// Settle settles many leases and returns an answer for each, in order. On an
// error there are no answers, and some may be settled. If an answer was lost, a settlement that is
// stale when it is sent again is OK: see the package comment.
func (c *Client) Settle(ctx context.Context, settlements []frontier.Settlement) ([]frontier.Settled, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	return c.settle(ctx, settlements)
}

func (c *Client) settle(ctx context.Context, settlements []frontier.Settlement) ([]frontier.Settled, error) {
	answers := make([]frontier.Settled, 0, len(settlements))
	for len(settlements) > 0 {
		asks := make([]ask, min(len(settlements), asksAtOnce))
		for i := range asks {
			s := settlements[i]
			if s.Outcome == frontier.Extend && s.At.IsZero() {
				s.At = time.Now().Add(c.opt.Lease)
			}
			var err error
			if asks[i].line, err = appendSettlement(nil, &s); err != nil {
				return nil, err
			}
		}
		if err := c.settles.call(ctx, asks); err != nil {
			return nil, err
		}
		for i := range asks {
			answers = append(answers, settledOf(&asks[i], settlements[i].Outcome))
		}
		settlements = settlements[len(asks):]
	}
	return answers, nil
}

func settledOf(a *ask, outcome frontier.Outcome) frontier.Settled {
	switch {
	case a.settled == "gave-up":
		return frontier.GaveUp
	case a.settled == "already-done" && !a.sent:
		return frontier.AlreadyDone
	case a.settled == "stale" && (!a.sent || outcome == frontier.Extend):
		return frontier.Stale
	}
	return frontier.OK
}

// sendLeases sends a request of settlements, answered all or not at all.
func (c *Client) sendLeases(ctx context.Context, asks []*ask) (sent bool, err error) {
	body := []byte(`{"leases":[`)
	for i, a := range asks {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, a.line...)
	}
	return c.try(ctx, &request{method: http.MethodPost, path: "/v1/done", body: append(body, "]}"...), read: func(r io.Reader) error { return readSettled(r, asks) }})
}

func readSettled(body io.Reader, asks []*ask) error {
	var answer wire.Answers
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return fmt.Errorf("cannot read answers: %w", err)
	}
	if len(answer.Answers) != len(asks) {
		return fmt.Errorf("got %d answers; want %d: %w", len(answer.Answers), len(asks), errIncomplete)
	}
	for i, a := range asks {
		a.settled, a.answered = answer.Answers[i], true
	}
	return nil
}

// fetchedOf is the JSON of what the fetch of a lease gave, nil for nothing. It serves
// to judge rules by, and must not keep a lease from being settled: what the wire
// can't carry of it is left out.
func fetchedOf(s *frontier.Settlement) []byte {
	if s.Fetched == nil {
		return nil
	}
	f := wire.Fetched(*s.Fetched)
	f.URL, f.Time = cmp.Or(f.URL, s.Lease.URL), f.Time.UTC()
	if f.URL == "" || !utf8.ValidString(f.URL+f.Digest+f.Redirect+f.Canonical+f.NoVarySearch+f.CleanParam+f.Masked) {
		return nil
	}
	if f.Status < 0 || f.Status > 999 {
		f.Status = 0
	}
	if f.Time.Year() < 1 || f.Time.Year() > 9999 {
		f.Time = time.Time{}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	return text
}
