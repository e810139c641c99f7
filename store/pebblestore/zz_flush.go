package pebblestore

func (s *Store) SpeedFlush() error { return s.db.Flush() }
