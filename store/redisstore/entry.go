package redisstore

import (
	"github.com/firstseen/firstseen/store"
	"github.com/firstseen/firstseen/store/internal/sched"
)

// appendEntry appends a URL as the outbox and its queue take it: key 16 | queue hash 6 | priority 1 | due 6 (0: at once) | created 6 (0:
// now) | length of queue 1 | queue | length of meta 4 | meta | URL.
func appendEntry(dst []byte, it *store.Item, h queueHash, created uint64) []byte {
	dst = append(dst, it.Key[:]...)
	dst = append(dst, h[:]...)
	dst = append(dst, it.Priority)
	dst = appendUint(dst, 6, uint64(sched.MsOr(it.Due, 0)))
	dst = appendUint(dst, 6, created)
	dst = appendShort(dst, it.Queue)
	dst = appendLong(dst, it.Meta)
	dst = append(dst, it.URL...)
	return dst
}

// setCreated sets since when the text of a URL is kept.
func setCreated(entry []byte, created uint64) { appendUint(entry[:16+6+1+6], 6, created) }

// appendSettlement appends a settlement likewise; see lua/judge.lua.
func appendSettlement(dst []byte, st *store.Settlement, k known, named queueHash, made bool) []byte {
	dst = append(dst, st.Key[:]...)
	dst = appendUint(dst, 6, st.Token&tokenMask)
	flags := uint64(flag(st.Create)) | uint64(flag(st.ResetAttempts))<<1 | uint64(flag(st.URL != ""))<<2 |
		uint64(flag(st.Meta != nil))<<3 | uint64(flag(st.Priority != nil))<<4 | uint64(flag(st.QueueChange != nil))<<5 |
		uint64(flag(made))<<6 | uint64(flag(st.After > 0))<<7
	due := sched.MsOr(st.Due, 0)
	if st.After > 0 {
		due = sched.DurMs(st.After)
	}
	dst = appendUint(dst, 2, flags)
	dst = append(dst, byte(st.Outcome))
	dst = appendUint(dst, 6, uint64(due))
	priority := byte(0)
	if st.Priority != nil {
		priority = *st.Priority
	}
	dst = append(dst, priority, byte(k.was))
	dst = append(dst, k.queue[:]...)
	dst = append(dst, named[:]...)
	dst = appendShort(dst, st.Queue)
	if st.QueueChange != nil {
		dst = appendChange(dst, st.QueueChange)
	}
	dst = appendLong(dst, st.Meta)
	dst = append(dst, st.URL...)
	return dst
}

// maxInt is the greatest number that scripts keep exactly.
const maxInt = 1<<53 - 1

// appendChange appends a change of a queue: mask 1 | delay 8 | in flight 8 |
// blocked until 6 | limit 8 | weight 1 | paused 1 | not before 6. Bit 7 of the mask is
// Later.
func appendChange(dst []byte, c *store.QueueChange) []byte {
	var mask byte
	var v struct {
		delay, inFlight, limit int64
		blocked, before        uint64
		weight, paused         byte
	}
	if c.Delay != nil {
		mask, v.delay = mask|1, sched.DurMs(*c.Delay)
	}
	if c.MaxInFlight != nil {
		mask, v.inFlight = mask|2, int64(*c.MaxInFlight)
	}
	if c.BlockedUntil != nil {
		mask, v.blocked = mask|4, uint64(sched.Ms(*c.BlockedUntil))
	}
	if c.Limit != nil {
		mask, v.limit = mask|8, min(*c.Limit, maxInt)
	}
	if c.Weight != nil {
		mask, v.weight = mask|16, *c.Weight
	}
	if c.Paused != nil {
		mask, v.paused = mask|32, flag(*c.Paused)
	}
	if c.NotBefore != nil {
		mask, v.before = mask|64, uint64(sched.Ms(*c.NotBefore))
	}
	mask |= flag(c.Later) << 7
	dst = append(dst, mask)
	dst = appendUint(dst, 8, uint64(v.delay))
	dst = appendUint(dst, 8, uint64(v.inFlight))
	dst = appendUint(dst, 6, v.blocked)
	dst = appendUint(dst, 8, uint64(v.limit))
	dst = append(dst, v.weight, v.paused)
	return appendUint(dst, 6, v.before)
}
