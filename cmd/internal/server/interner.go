package server

// interner gives equal names one string that holds no message in memory:
// queues keep their names for as long as they live.
type interner struct {
	young, old map[string]string
}

// internedNames bounds each generation.
const internedNames = 4096

func (in *interner) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := in.young[string(b)]; ok {
		return s
	}
	s, ok := in.old[string(b)]
	if !ok {
		s = string(b)
	}
	if len(in.young) >= internedNames || in.young == nil {
		in.old, in.young = in.young, make(map[string]string)
	}
	in.young[s] = s
	return s
}
