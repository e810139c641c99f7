package pebblestore

import "sync"

// runDamage is the damage of run files, and of Pebble's tables, that was met since Open. A look-up that meets some refuses the keys
// that it cannot look up, and those alone; for the rest of the store life goes on, so it is told here.
type runDamage struct {
	tell func(error) // Options.OnDamage

	mu   sync.Mutex
	err  error // the first
	told map[string]bool
}

// mostDamage bounds how many files are told of.
const mostDamage = 100

// note notes damage of a file.
func (d *runDamage) note(path string, err error) {
	d.mu.Lock()
	if d.err == nil {
		d.err = err
	}
	isNew := !d.told[path] && len(d.told) < mostDamage
	if isNew {
		if d.told == nil {
			d.told = map[string]bool{}
		}
		d.told[path] = true
	}
	d.mu.Unlock()
	if isNew && d.tell != nil {
		d.tell(err)
	}
}

// first returns the first damage, nil if there was none.
func (d *runDamage) first() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
