package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/firstseen/firstseen/frontier"
)

type collector = *colly.Collector

// attach adds callbacks to a collector that settle requests. It turns off colly's own check for
// revisits, which would refuse requests that a killed process had in flight.
func (q *Queue) attach(c collector) {
	c.AllowURLRevisit = true
	c.OnRequestHeaders(q.start) // after the filters and OnRequest, before the network
	c.OnScraped(func(r *colly.Response) { q.end(r, nil) })
	c.OnError(q.end)
	c.SetRedirectHandler(q.redirect)
}

// start notes that a request is being fetched. A request that a callback makes
// by Visit has the same context and is another one: the first counts.
func (q *Queue) start(r *colly.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if h := q.out[r.Ctx.Get(leaseName)]; h != nil && !h.started {
		h.started, h.id, h.made = true, r.ID, r.Method+" "+r.URL.String()
	}
}

// end settles the lease of a request. If the lease has expired, another crawler may have it; on an
// error of the frontier, the lease expires later.
func (q *Queue) end(r *colly.Response, err error) {
	name := r.Request.Ctx.Get(leaseName)
	q.mu.Lock()
	h := q.out[name]
	if h == nil || h.id != r.Request.ID {
		q.mu.Unlock()
		return
	}
	delete(q.out, name)
	s := frontier.Settlement{Lease: h.lease, Outcome: frontier.Done}
	if err != nil {
		s = settlementOf(h.lease, r, err)
	}
	s.Fetched = fetchedOf(r)
	over := []frontier.Settlement{s}
	if q.next != nil && !s.BlockQueue.IsZero() && q.next.Queue == h.lease.Queue { // it was leased before the host asked to be left alone
		over, q.next = append(over, frontier.Settlement{Lease: q.next, Outcome: frontier.Release}), nil
	}
	q.mu.Unlock()
	_, _ = q.f.Settle(context.Background(), over)
}

// redirect asks the frontier about a redirect: a page under another spelling is
// followed, any other page is queued like a link, and the request is over.
func (q *Queue) redirect(to *http.Request, via []*http.Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, h := range q.out {
		if !h.started || h.made != via[0].Method+" "+via[0].URL.String() {
			continue
		}
		var r frontier.Redirection
		var err error
		if to.Method == via[0].Method {
			r, err = q.f.Redirect(to.Context(), h.lease, to.URL.String())
		} else {
			err = q.afterForm(to, h.lease)
		}
		if err != nil {
			return err // the request fails, and is tried again
		}
		if r.Follow != nil {
			h.lease = r.Follow
			return nil
		}
		delete(q.out, name)
	}
	return http.ErrUseLastResponse
}

// afterForm queues the page that the answer to a form leads to, a GET (302, 303), and settles the
// form. The frontier's own Redirect would queue the form once more, at the target: it keeps the
// metadata of the source, and the method and body are in it.
func (q *Queue) afterForm(to *http.Request, form *frontier.Lease) error {
	fields, err := fieldsOf(form)
	if err != nil {
		return err
	}
	delete(fields, "Body")
	fields["URL"], fields["Method"] = to.URL.String(), to.Method
	b, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	l, err := linkOf(b)
	if err != nil {
		return err
	}
	if _, err := q.f.AddBatch(to.Context(), []frontier.Link{l}); err != nil {
		return err
	}
	_, err = q.f.Settle(to.Context(), []frontier.Settlement{{Lease: form, Outcome: frontier.Redirected}})
	return err
}
