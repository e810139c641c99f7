package pebblestore

// rlock takes s.mu for reading. If the store is dead, it returns ErrFailed: a goroutine
// in Pebble may hold the lock for ever.
func (s *Store) rlock() error { return s.acquire(s.mu.TryRLock, s.mu.RLock, s.mu.RUnlock) }

// lock is rlock for writing, by others than the committer.
func (s *Store) lock() error { return s.acquire(s.mu.TryLock, s.mu.Lock, s.mu.Unlock) }
