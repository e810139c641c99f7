package redisstore

import (
	"context"
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
