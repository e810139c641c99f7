package main

import (
	"time"

	"github.com/firstseen/firstseen/frontier"
)

func (f *serveFlags) checkLimits() error {
	if _, err := f.chosenProfiles(); err != nil {
		return err
	}
	if err := refuse("serve", append(f.bounds.mistakes(),
		below("max-expired", min(f.maxExpired.http, f.maxExpired.grpc), 0),
		notIn("probe", f.probe, f.probe >= 0 && f.probe <= 1, "0 to 1"),
		notIn("queue-by", f.queueBy, queueFuncs[f.queueBy] != nil, "host or domain"),
		notIn("adaptive", f.adaptive, f.adaptive >= 0, "0 or more"))...); err != nil {
		return err
	}
	return f.trapModes.parse(f.traps)
}

var queueFuncs = map[string]frontier.QueueFunc{"host": frontier.ByHost, "domain": frontier.ByDomain}

// policy is what the flags say in the frontier's terms, where 0 stands for the default.
func (f *serveFlags) policy() frontier.Options {
	return frontier.Options{
		Lease: 30 * time.Second, QueueBy: queueFuncs[f.queueBy],
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
