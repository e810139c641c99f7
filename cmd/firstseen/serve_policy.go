package main

import (
	"fmt"
	"time"

	"github.com/firstseen/firstseen/frontier"
)

func (f *serveFlags) checkLimits() error {
	if _, err := f.chosenProfiles(); err != nil {
		return err
	}
	for _, flag := range []struct {
		name  string
		value int64
	}{
		{"max-per-queue", f.maxPerQueue}, {"max-held", f.maxHeld}, {"seen-for", int64(f.seenFor)}, {"delay", int64(f.delay)},
		{"index-memory", f.indexMiB}, {"retry-after", int64(f.retryAfter)}, {"max-depth", int64(f.maxDepth)},
		{"max-in-flight", int64(f.maxInFlight)}, {"max-expired", int64(min(f.maxExpired.http, f.maxExpired.grpc))},
	} {
		if flag.value < 0 {
			return fmt.Errorf("cannot serve; got --%s %d; want none below 0", flag.name, flag.value)
		}
	}
	if f.captures < 0 || !(f.probe >= 0 && f.probe <= 1) {
		return fmt.Errorf("cannot serve; got --captures %d, --probe %v; want 0 or more, 0 to 1", f.captures, f.probe)
	}
	if !(f.adaptive >= 0) {
		return fmt.Errorf("cannot serve; got --adaptive %v; want 0 or more", f.adaptive)
	}
	if err := f.trapModes.parse(f.traps); err != nil {
		return err
	}
	if f.cache < 16 {
		return fmt.Errorf("cannot serve; got --cache %d; want at least 16 MiB", f.cache)
	}
	return nil
}

// policy is what the flags say in the frontier's terms, where 0 stands for the default.
func (f *serveFlags) policy() frontier.Options {
	return frontier.Options{
		Lease: 30 * time.Second,
		Delay: noneIfZero(f.delay), MaxInFlight: noneIfZero(f.maxInFlight), Adaptive: f.adaptive, Attempts: f.attempts, RetryAfter: f.retryAfter,
		MaxPerQueue: f.maxPerQueue, MaxHeld: f.maxHeld, MaxDepth: f.maxDepth,
		MaxExpired: noneIfZero(f.maxExpired.http),
		Traps:      frontier.Traps{Off: f.trapModes.links == "off"}, Probe: f.probe, SeenFor: f.seenFor,
	}
}

// noneIfZero distinguishes a flag that is 0 from the default.
func noneIfZero[T int | int64 | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}
