package server

import (
	"sync"
	"sync/atomic"
)

// service is the frontier as calls reach it over either interface: checked by token, counted, in turns, refused on a full
// disk, paused.
type service struct {
	*gate
	cfg   Config
	f     guard
	disk  *diskGate
	store *storeWatch
	local bool // for a command on a store: its user knows what it changes

	paused     atomic.Bool // nothing is handed out
	pausedHere localPause  // nothing is handed out by this one of several daemons

	addLists  sync.Pool // of *addList
	offerings sync.Pool // of *[]offered
}

func newService(cfg Config, f guard) *service {
	return &service{gate: newGate(cfg), cfg: cfg, f: f, disk: newDiskGate(cfg.Dir, cfg.MinFree, cfg.Logger), store: newStoreWatch()}
}
