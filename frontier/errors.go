package frontier

import "errors"

// ErrStale is returned for a lease that is over: it ran out and the URL was
// handed out again, or the URL was settled, forgotten or overwritten. Nothing
// was changed. After Close, every method returns store.ErrClosed.
var ErrStale = errors.New("frontier: the lease is over")
