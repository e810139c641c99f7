package pebblestore

import (
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/flatrun"
)

// pipe reads a source in a goroutine of its own, so that reading rows and writing
// them as a run share two processors.
type pipe struct {
	full chan page
	free chan []store.Key
	quit chan struct{}
	last []store.Key
}

type page struct {
	keys []store.Key
	err  error
}

// pipePages is how many pages are on the way.
const pipePages = 4

func newPipe(from flatrun.Source) *pipe {
	p := &pipe{full: make(chan page), free: make(chan []store.Key, pipePages), quit: make(chan struct{})}
	for range pipePages {
		p.free <- nil
	}
	go p.read(from)
	return p
}

func (p *pipe) read(from flatrun.Source) {
	defer close(p.full)
	for buf := range p.free {
		keys, err := from.Next()
		buf = append(buf[:0], keys...)
		select {
		case p.full <- page{buf, err}:
		case <-p.quit:
			return
		}
		if len(keys) == 0 || err != nil {
			return
		}
	}
}

// Next implements flatrun.Source.
func (p *pipe) Next() ([]store.Key, error) {
	if p.last != nil {
		p.free <- p.last
	}
	next := <-p.full
	p.last = next.keys
	return next.keys, next.err
}

// stop ends the reading and waits for its end.
func (p *pipe) stop() {
	close(p.quit)
	close(p.free)
	for range p.full {
	}
}
