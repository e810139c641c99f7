package uniq

// recentSlots bounds how many spellings a worker remembers: 4 MiB.
const recentSlots = 1 << 18

// recent remembers spellings that were accepted, each in the one slot it may take: a newer
// one replaces it. So a spelling may be forgotten, and is never made up.
type recent struct{ slots []sum }

func newRecent() *recent { return &recent{make([]sum, recentSlots)} }

// slot returns the place of a spelling whose first hash is hi.
func (r *recent) slot(hi uint64) *sum { return &r.slots[hi&(recentSlots-1)] }
