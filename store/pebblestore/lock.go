package pebblestore

// rlock takes s.mu for reading. It returns ErrFailed when the store is dead: then
// nobody may have the lock any more.
func (s *Store) rlock() error { return s.acquire(s.mu.TryRLock, s.mu.RLock, s.mu.RUnlock) }

// lock is rlock for writing, by others than the committer.
func (s *Store) lock() error { return s.acquire(s.mu.TryLock, s.mu.Lock, s.mu.Unlock) }
