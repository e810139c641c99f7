package redisstore

import (
	"context"

	"github.com/firstseen/firstseen/store"
)

// record makes unknown keys known that are to be created.
func (w *settling) record(ctx context.Context) (made []bool, recorded *batch, err error) {
	made = make([]bool, len(w.list))
	var list []placing
	var of []int
	for i := range w.list {
		if st := &w.list[i]; st.Create && w.known[i].was == unknown {
			_, h := w.s.layout.ofQueue(st.Queue)
			list = append(list, placing{st.Key, w.known[i], h, appendSettlement(nil, st, w.known[i], h, true)})
			of = append(of, i)
		}
	}
	if len(list) == 0 {
		return made, nil, nil
	}
	done, recorded, err := w.s.place(ctx, w.id, w.crawl, 'S', list)
	for j, i := range of {
		if err == nil {
			made[i] = done[j]
		}
	}
	return made, recorded, err
}

// tellUnknown tells keys that nothing is known of from stale leases.
func (w *settling) tellUnknown(ctx context.Context) error {
	if len(w.ask) == 0 {
		return nil
	}
	keys := make([]store.Key, len(w.ask))
	for j, i := range w.ask {
		keys[j] = w.list[i].Key
	}
	found, err := w.s.resolve(ctx, w.crawl, keys)
	for j, i := range w.ask {
		if err != nil {
			break
		}
		w.out[i] = store.Stale
		if found[j].was == unknown {
			w.out[i] = store.Unknown
		}
	}
	return err
}
