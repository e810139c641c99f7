package frontier

import "errors"

// ErrStale is returned for a lease that is over: it expired and the URL was
// leased again, or the URL was settled, forgotten or overwritten. The lease
// was not changed. After Close, every method returns store.ErrClosed.
var ErrStale = errors.New("the lease is over")
